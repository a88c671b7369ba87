#include "compiler/metadata.h"

#include <ctype.h>
#include <errno.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const struct {
    const char *name; /* in the text */
    size_t offset;    /* in struct kernel_resources */
} resource_fields[] = {
    {"vgprs", offsetof(struct kernel_resources, vgprs)},
    {"agprs", offsetof(struct kernel_resources, agprs)},
    {"sgprs", offsetof(struct kernel_resources, sgprs)},
    {"lds", offsetof(struct kernel_resources, lds_bytes)},
    {"scratch", offsetof(struct kernel_resources, scratch_bytes)},
    {"vgpr_spills", offsetof(struct kernel_resources, vgpr_spills)},
    {"sgpr_spills", offsetof(struct kernel_resources, sgpr_spills)},
    {"kernarg", offsetof(struct kernel_resources, kernarg_bytes)},
    {"workgroup", offsetof(struct kernel_resources, workgroup_size)},
};

/* " NAME=number" within a line of `size` bytes. */
static bool find_number(const char *line, size_t size, const char *name, uint32_t *value)
{
    char pattern[32];
    int length = snprintf(pattern, sizeof pattern, " %s=", name);
    const char *found = memmem(line, size, pattern, (size_t)length);
    if (!found || !isdigit((unsigned char)found[length]))
        return false;
    errno = 0;
    unsigned long number = strtoul(found + length, NULL, 10);
    *value = (uint32_t)number;
    return !errno && number <= UINT32_MAX;
}

dsajit_status compiler_metadata_first_kernel(const char *text, char **symbol,
                                             struct kernel_resources *resources,
                                             dsajit_error *error)
{
    static const char start[] = "kernel ";
    if (strncmp(text, start, sizeof start - 1) != 0)
        return error_set(error, DSAJIT_ERROR_COMPILER_CRASHED,
                         "the compiler made a code object without a kernel");
    const char *name = text + sizeof start - 1;
    size_t line_size = strcspn(text, "\n");
    for (size_t i = 0; i < sizeof resource_fields / sizeof *resource_fields; i++) {
        uint32_t value;
        if (!find_number(text, line_size, resource_fields[i].name, &value))
            return error_set(error, DSAJIT_ERROR_COMPILER_CRASHED,
                             "the code object's metadata lack %s", resource_fields[i].name);
        memcpy((char *)resources + resource_fields[i].offset, &value, sizeof value);
    }
    *symbol = strndup(name, strcspn(name, " \n"));
    return *symbol ? DSAJIT_OK
                   : error_set(error, DSAJIT_ERROR_OUT_OF_MEMORY, "no memory for a kernel's name");
}
