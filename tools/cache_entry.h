/* Cache entries as JSON objects, which text output is made from as well. */
#ifndef TOOLS_CACHE_ENTRY_H
#define TOOLS_CACHE_ENTRY_H

#include <dsajit/cache.h>
#include <jansson.h>

/* Members: path, layer, layer_kind, state, problem, file_bytes, used and created (seconds since
   1970), kind, variant, and those of kernel_json.h for a kernel. What isn't known is null. */
json_t *cache_entry_json(const dsajit_cache_entry *entry);

/* "kernel" or what else it is, and of which variant or file: for a line of text. */
const char *cache_entry_title(json_t *entry);

#endif
