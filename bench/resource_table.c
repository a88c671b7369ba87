/* Prints README's table of kernels: a row for each group of variants that differ only in fields
   that hardly matter to resources, with the range over the group. Compiles what isn't cached; needs
   no device.

       resource_table [SELECTION] */
#include "dsajit/warmup.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *const collapsed_fields[] = {"heads", "index", "page_tokens", "capacity"};

struct range {
    uint32_t least, most;
};

struct group {
    char *name; /* the variants' common text */
    size_t variants;
    struct range vgprs, agprs, sgprs, lds, code;
    uint32_t scratch, spills; /* most */
};

static void add(struct range *range, uint32_t value, int first)
{
    if (first || value < range->least)
        range->least = value;
    if (first || value > range->most)
        range->most = value;
}

static void print(const struct range *range)
{
    if (range->least == range->most)
        printf(" %u |", range->most);
    else
        printf(" %u–%u |", range->least, range->most);
}

static int is_collapsed(const char *field, size_t size)
{
    for (size_t i = 0; i < sizeof collapsed_fields / sizeof *collapsed_fields; i++)
        if (strlen(collapsed_fields[i]) == size && memcmp(collapsed_fields[i], field, size) == 0)
            return 1;
    return 0;
}

/* "FAMILY | FIELD=VALUE, …" without the architecture and the collapsed fields. */
static char *group_name(const char *variant)
{
    size_t family = strcspn(variant, "/");
    char *name = malloc(2 * strlen(variant) + 8);
    if (!name)
        exit(1);
    char *end = name + sprintf(name, "`%.*s` | ", (int)family, variant);
    const char *field = strrchr(variant, '/') + 1;
    int count = 0;
    while (*field) {
        size_t size = strcspn(field, ","), name_size = strcspn(field, "=");
        if (!is_collapsed(field, name_size))
            end += sprintf(end, "%s%.*s", count++ ? ", " : "", (int)size, field);
        field += size + (field[size] == ',');
    }
    return name;
}

static struct group *find_group(struct group *groups, size_t *count, char *name)
{
    for (size_t i = 0; i < *count; i++) {
        if (strcmp(groups[i].name, name) == 0) {
            free(name);
            return &groups[i];
        }
    }
    groups[*count] = (struct group){.name = name};
    return &groups[(*count)++];
}

static int fail(const char *message)
{
    fprintf(stderr, "resource_table: %s\n", message);
    return 1;
}

static bool show_progress(void *user, const dsajit_warm_progress *progress)
{
    (void)user;
    fprintf(stderr, "\r%zu of %zu", progress->done, progress->total);
    return true;
}

int main(int argc, char **argv)
{
    dsajit_error error;
    dsajit_context *context;
    dsajit_plan *plan;
    dsajit_options options = DSAJIT_OPTIONS_DEFAULT;
    dsajit_warm_options warm = DSAJIT_WARM_OPTIONS_DEFAULT;
    options.device = DSAJIT_DEVICE_NONE;
    warm.progress = show_progress;
    if (dsajit_open(&options, &context, &error) || dsajit_plan_create(&plan, &error) ||
        dsajit_plan_add(plan, argc > 1 ? argv[1] : "", &error) ||
        dsajit_warmup(context, plan, &warm, NULL, &error))
        return fail(error.message);
    fputc('\n', stderr);
    size_t count = dsajit_plan_size(plan), group_count = 0;
    struct group *groups = calloc(count ? count : 1, sizeof *groups);
    if (!groups)
        return fail("no memory");
    for (size_t i = 0; i < count; i++) {
        dsajit_kernel_info info;
        const char *variant = dsajit_plan_variant(plan, i);
        if (dsajit_prepare(context, variant, &info, &error))
            return fail(error.message);
        struct group *group = find_group(groups, &group_count, group_name(variant));
        int first = group->variants++ == 0;
        add(&group->vgprs, info.vgprs, first);
        add(&group->agprs, info.agprs, first);
        add(&group->sgprs, info.sgprs, first);
        add(&group->lds, info.lds_bytes, first);
        add(&group->code, info.code_bytes, first);
        uint32_t spills = info.vgpr_spills + info.sgpr_spills;
        group->scratch = info.scratch_bytes > group->scratch ? info.scratch_bytes : group->scratch;
        group->spills = spills > group->spills ? spills : group->spills;
    }
    printf("| kernel | fields | variants | VGPR | of these AGPR | SGPR | LDS bytes | scratch | "
           "spills | code object bytes |\n|---|---|---|---|---|---|---|---|---|---|\n");
    for (size_t i = 0; i < group_count; i++) {
        printf("| %s | %zu |", groups[i].name, groups[i].variants);
        print(&groups[i].vgprs);
        print(&groups[i].agprs);
        print(&groups[i].sgprs);
        print(&groups[i].lds);
        printf(" %u | %u |", groups[i].scratch, groups[i].spills);
        print(&groups[i].code);
        putchar('\n');
        free(groups[i].name);
    }
    free(groups);
    dsajit_plan_free(plan);
    dsajit_close(context);
    return 0;
}
