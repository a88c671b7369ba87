/* Two cache keys beside each other. */
#ifndef TOOLS_KEY_FIELDS_H
#define TOOLS_KEY_FIELDS_H

#include <dsajit/status.h>
#include <jansson.h>

/* A list of {"name", "wanted", "found", "equal"}; a value is null where the line is missing. NULL,
   and `error`, when a text is no key. */
json_t *key_fields_compare(const char *wanted, const char *found, dsajit_error *error);

/* Standard output: a line for what both have, two for what differs. */
void key_fields_print(json_t *fields);

#endif
