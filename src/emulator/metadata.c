#include "emulator/metadata.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

static const struct kind_row {
    const char *name;
    uint8_t kind;
    uint8_t size; /* what the kind must have; 0: any */
} kinds[] = {
    {"by_value", ARGUMENT_VALUE, 0},
    {"global_buffer", ARGUMENT_VALUE, 8},
    {"hidden_none", ARGUMENT_NOTHING, 0},
    {"hidden_block_count_x", ARGUMENT_BLOCK_COUNT_X, 4},
    {"hidden_block_count_y", ARGUMENT_BLOCK_COUNT_Y, 4},
    {"hidden_block_count_z", ARGUMENT_BLOCK_COUNT_Z, 4},
    {"hidden_group_size_x", ARGUMENT_GROUP_SIZE_X, 2},
    {"hidden_group_size_y", ARGUMENT_GROUP_SIZE_Y, 2},
    {"hidden_group_size_z", ARGUMENT_GROUP_SIZE_Z, 2},
    /* HIP launches whole workgroups from offset 0, always. */
    {"hidden_remainder_x", ARGUMENT_NOTHING, 2},
    {"hidden_remainder_y", ARGUMENT_NOTHING, 2},
    {"hidden_remainder_z", ARGUMENT_NOTHING, 2},
    {"hidden_global_offset_x", ARGUMENT_NOTHING, 8},
    {"hidden_global_offset_y", ARGUMENT_NOTHING, 8},
    {"hidden_global_offset_z", ARGUMENT_NOTHING, 8},
    {"hidden_grid_dims", ARGUMENT_GRID_DIMENSIONS, 2},
    {"hidden_dynamic_lds_size", ARGUMENT_DYNAMIC_LDS_SIZE, 4},
    /* Null pointers: a kernel that really calls the host (printf, assert, malloc) or launches
       kernels faults at address 0, with a message that says so. */
    {"hidden_hostcall_buffer", ARGUMENT_NOTHING, 8},
    {"hidden_printf_buffer", ARGUMENT_NOTHING, 8},
    {"hidden_heap_v1", ARGUMENT_NOTHING, 8},
    {"hidden_multigrid_sync_arg", ARGUMENT_NOTHING, 8},
    {"hidden_default_queue", ARGUMENT_NOTHING, 8},
    {"hidden_completion_action", ARGUMENT_NOTHING, 8},
    {"hidden_queue_ptr", ARGUMENT_NOTHING, 8},
};

enum { ARGUMENTS_MAX = 4096, KERNELS_MAX = 65536 };

static dsajit_status malformed(const char *line, dsajit_error *error)
{
    return error_set(error, DSAJIT_ERROR_CORRUPT, "kernel metadata: malformed line \"%.*s\"",
                     (int)strcspn(line, "\n"), line);
}

static dsajit_status out_of_memory(dsajit_error *error)
{
    return error_set(error, DSAJIT_ERROR_OUT_OF_MEMORY, "kernel metadata: out of memory");
}

/* Parses a decimal number that ends at a blank or the end of the line; advances `*text`. */
static bool read_number(const char **text, uint32_t *number)
{
    uint64_t value = 0;
    const char *digit = *text;
    for (; *digit >= '0' && *digit <= '9'; digit++) {
        value = value * 10 + (uint64_t)(*digit - '0');
        if (value > UINT32_MAX)
            return false;
    }
    if (digit == *text || (*digit != ' ' && *digit != '\n' && *digit != '\0'))
        return false;
    *number = (uint32_t)value;
    *text = *digit == ' ' ? digit + 1 : digit;
    return true;
}

/* "NAME vgprs=… agprs=… …" */
static dsajit_status read_kernel(const char *line, struct metadata *metadata, dsajit_error *error)
{
    const char *text = line + strlen("kernel ");
    size_t length = strcspn(text, " \n");
    if (!length || metadata->count == KERNELS_MAX)
        return malformed(line, error);
    /* One more at a time is quadratic, but for the few kernels that a code object has. */
    struct kernel_metadata *grown =
        realloc(metadata->kernels, (metadata->count + 1) * sizeof *grown);
    if (!grown)
        return out_of_memory(error);
    metadata->kernels = grown;
    struct kernel_metadata *kernel = &grown[metadata->count];
    *kernel = (struct kernel_metadata){.name = strndup(text, length)};
    if (!kernel->name)
        return out_of_memory(error);
    metadata->count++;

    const struct {
        const char *name;
        uint32_t *value;
    } wanted[] = {
        {"kernarg=", &kernel->kernarg_size},
        {"workgroup=", &kernel->workgroup_limit},
        {"vgprs=", &kernel->vgprs},
        {"agprs=", &kernel->agprs},
    };
    size_t found = 0;
    for (text += length; *text == ' '; text += strcspn(text, " \n")) {
        text++;
        for (size_t i = 0; i < sizeof wanted / sizeof *wanted; i++) {
            if (strncmp(text, wanted[i].name, strlen(wanted[i].name)) != 0)
                continue;
            const char *number = text + strlen(wanted[i].name);
            if (!read_number(&number, wanted[i].value))
                return malformed(line, error);
            found++;
        }
    }
    return found == sizeof wanted / sizeof *wanted ? DSAJIT_OK : malformed(line, error);
}

static const struct kind_row *find_kind(const char *name, size_t length)
{
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
        if (strlen(kinds[i].name) == length && !memcmp(kinds[i].name, name, length))
            return &kinds[i];
    return NULL;
}

/* "OFFSET SIZE VALUE_KIND" */
static dsajit_status read_argument(const char *line, struct metadata *metadata, dsajit_error *error)
{
    const char *text = line + strlen("argument ");
    struct kernel_argument argument = {0};
    if (!metadata->count || !read_number(&text, &argument.offset) ||
        !read_number(&text, &argument.size))
        return malformed(line, error);
    struct kernel_metadata *kernel = &metadata->kernels[metadata->count - 1];
    size_t length = strcspn(text, " \n");
    if (!length)
        return malformed(line, error);
    const struct kind_row *row = find_kind(text, length);
    if (!row)
        return error_set(error, DSAJIT_ERROR_UNSUPPORTED,
                         "kernel %s: the emulator can't fill in an argument of kind %.*s",
                         kernel->name, (int)length, text);
    argument.kind = row->kind;
    if ((row->size && argument.size != row->size) || argument.offset > kernel->kernarg_size ||
        argument.size > kernel->kernarg_size - argument.offset ||
        kernel->argument_count == ARGUMENTS_MAX)
        return malformed(line, error);
    struct kernel_argument *grown =
        realloc(kernel->arguments, (kernel->argument_count + 1) * sizeof *grown);
    if (!grown)
        return out_of_memory(error);
    kernel->arguments = grown;
    grown[kernel->argument_count++] = argument;
    return DSAJIT_OK;
}

dsajit_status metadata_parse(const char *text, struct metadata *metadata, dsajit_error *error)
{
    *metadata = (struct metadata){0};
    dsajit_status status = DSAJIT_OK;
    while (*text && !status) {
        if (!strncmp(text, "kernel ", strlen("kernel ")))
            status = read_kernel(text, metadata, error);
        else if (!strncmp(text, "argument ", strlen("argument ")))
            status = read_argument(text, metadata, error);
        else
            status = malformed(text, error);
        text += strcspn(text, "\n");
        text += *text == '\n';
    }
    if (status)
        metadata_free(metadata);
    return status;
}

void metadata_free(struct metadata *metadata)
{
    for (size_t i = 0; i < metadata->count; i++) {
        free(metadata->kernels[i].name);
        free(metadata->kernels[i].arguments);
    }
    free(metadata->kernels);
    *metadata = (struct metadata){0};
}

const struct kernel_metadata *metadata_find(const struct metadata *metadata, const char *name)
{
    for (size_t i = 0; i < metadata->count; i++)
        if (!strcmp(metadata->kernels[i].name, name))
            return &metadata->kernels[i];
    return NULL;
}
