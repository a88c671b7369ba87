#include "base/hip_table.h"

#include <dlfcn.h>
#include <string.h>

static const struct entry {
    const char *name;
    size_t offset;
} entries[] = {
#define HIP_FUNCTION(result, name, parameters) {#name, offsetof(struct hip_table, name)},
#include "base/hip_functions.def"
};

bool hip_table_fill(void *library, struct hip_table *table, const char **missing)
{
    for (size_t i = 0; i < sizeof entries / sizeof *entries; i++) {
        void *symbol = dlsym(library, entries[i].name);
        if (!symbol) {
            *missing = entries[i].name;
            return false;
        }
        /* C has no conversion from object to function pointer; POSIX promises the same bytes. */
        memcpy((unsigned char *)table + entries[i].offset, &symbol, sizeof symbol);
    }
    return true;
}
