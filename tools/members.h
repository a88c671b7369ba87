/* A JSON object for people: what a command prints without --json. */
#ifndef TOOLS_MEMBERS_H
#define TOOLS_MEMBERS_H

#include <jansson.h>

/* A line for each member, its name in a column of `width` and its value, if it is no list or
   object; the lines of a text stand below each other. */
void members_print(json_t *object, int width);

#endif
