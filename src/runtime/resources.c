#include "runtime/resources.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>

static const struct resource {
    const char *name;
    size_t offset; /* of a uint32_t in dsajit_kernel_info */
} resources[] = {
    {"vgprs", offsetof(dsajit_kernel_info, vgprs)},
    {"agprs", offsetof(dsajit_kernel_info, agprs)},
    {"sgprs", offsetof(dsajit_kernel_info, sgprs)},
    {"lds_bytes", offsetof(dsajit_kernel_info, lds_bytes)},
    {"scratch_bytes", offsetof(dsajit_kernel_info, scratch_bytes)},
    {"vgpr_spills", offsetof(dsajit_kernel_info, vgpr_spills)},
    {"sgpr_spills", offsetof(dsajit_kernel_info, sgpr_spills)},
};
enum { RESOURCE_COUNT = sizeof resources / sizeof *resources };

static const char compile_time[] = "compile_us";

void resources_from_compiler(const struct compile_result *result, dsajit_kernel_info *info)
{
    const struct kernel_resources *from = &result->resources;
    *info = (dsajit_kernel_info){
        .compile_ms = result->milliseconds,
        .vgprs = from->vgprs,
        .agprs = from->agprs,
        .sgprs = from->sgprs,
        .lds_bytes = from->lds_bytes,
        .scratch_bytes = from->scratch_bytes,
        .vgpr_spills = from->vgpr_spills,
        .sgpr_spills = from->sgpr_spills,
    };
}

void resources_format(const dsajit_kernel_info *info, struct bytes *text)
{
    for (size_t i = 0; i < RESOURCE_COUNT; i++) {
        uint32_t value;
        memcpy(&value, (const char *)info + resources[i].offset, sizeof value);
        bytes_append_format(text, "%s=%u\n", resources[i].name, value);
    }
    bytes_append_format(text, "%s=%.0f\n", compile_time, info->compile_ms * 1000);
}

/* Reads "123\n" that ends at `end`; false when it isn't a number below 2^32. */
static bool parse_number(const char *text, const char *end, uint32_t *value)
{
    uint64_t number = 0;
    if (text == end)
        return false;
    for (; text < end; text++) {
        if (*text < '0' || *text > '9')
            return false;
        number = number * 10 + (uint64_t)(*text - '0');
        if (number > UINT32_MAX)
            return false;
    }
    *value = (uint32_t)number;
    return true;
}

bool resources_parse(const char *text, size_t size, dsajit_kernel_info *info)
{
    const char *end = text + size;
    unsigned found = 0;
    while (text < end) {
        const char *newline = memchr(text, '\n', (size_t)(end - text));
        const char *equals = newline ? memchr(text, '=', (size_t)(newline - text)) : NULL;
        uint32_t value;
        if (!equals || !parse_number(equals + 1, newline, &value))
            return false;
        size_t name_size = (size_t)(equals - text);
        for (unsigned i = 0; i < RESOURCE_COUNT; i++) {
            if (strlen(resources[i].name) == name_size &&
                memcmp(resources[i].name, text, name_size) == 0) {
                memcpy((char *)info + resources[i].offset, &value, sizeof value);
                found |= 1u << i;
            }
        }
        if (name_size == sizeof compile_time - 1 && memcmp(compile_time, text, name_size) == 0) {
            info->compile_ms = value / 1000.0;
            found |= 1u << RESOURCE_COUNT;
        }
        text = newline + 1;
    }
    return found == (2u << RESOURCE_COUNT) - 1;
}
