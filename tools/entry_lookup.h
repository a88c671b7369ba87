/* Finding the entry that a command line means. */
#ifndef TOOLS_ENTRY_LOOKUP_H
#define TOOLS_ENTRY_LOOKUP_H

#include <dsajit/cache.h>

/* The path `name`, where there is such a file, else that of the entry that a look-up of the variant
   `name` finds; the caller frees it. NOT_FOUND says why a variant has none. */
dsajit_status entry_lookup(dsajit_context *context, const char *name, char **path,
                           dsajit_error *error);

#endif
