/* dsajit cache diff: two entries beside each other. */
#include "cache_entry.h"
#include "entry_lookup.h"
#include "failure.h"
#include "key_fields.h"
#include "operands.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const struct argp_child children[] = COMMON_CHILDREN;

const struct argp cache_diff_argp = {
    .parser = operands_parse,
    .args_doc = "VARIANT|FILE VARIANT|FILE",
    .doc = "Compare two entries: their keys field by field, and what they hold. The exit code is 0 "
           "when they hold the same under the same key, else 1, and 4 when one is missing or "
           "damaged.",
    .children = children,
};

/* One comparison: the left entry is shown first, and while it is there, the right one. */
struct diff {
    const char *right_path;
    const dsajit_cache_entry *left;
    json_t *fields, *sections;
    bool same;
    dsajit_status status;
    dsajit_error *error;
};

static const dsajit_cache_section *find_section(const dsajit_cache_entry *entry, const char *name)
{
    for (size_t i = 0; i < entry->section_count; i++)
        if (strcmp(entry->sections[i].name, name) == 0)
            return &entry->sections[i];
    return NULL;
}

static json_t *size_or_null(const dsajit_cache_section *section)
{
    return section ? json_integer((json_int_t)section->size) : json_null();
}

static void compare_section(struct diff *diff, const dsajit_cache_section *left,
                            const dsajit_cache_section *right)
{
    const bool equal = left && right && left->size == right->size &&
                       memcmp(left->data, right->data, left->size) == 0;
    diff->same = diff->same && equal;
    json_array_append_new(diff->sections,
                          json_pack("{s:s, s:o, s:o, s:b}", "name", (left ? left : right)->name,
                                    "left_bytes", size_or_null(left), "right_bytes",
                                    size_or_null(right), "equal", equal));
}

static dsajit_status compare_keys(struct diff *diff, const dsajit_cache_entry *right)
{
    char *left_key = NULL, *right_key = NULL;
    dsajit_status status = DSAJIT_OK;
    const bool complete =
        asprintf(&left_key, "%s%s", diff->left->key_base, diff->left->key_toolchain) >= 0 &&
        asprintf(&right_key, "%s%s", right->key_base, right->key_toolchain) >= 0;
    if (!complete) {
        status = failure_set(diff->error, DSAJIT_ERROR_OUT_OF_MEMORY, "no memory for a key");
    } else {
        diff->same = strcmp(left_key, right_key) == 0;
        diff->fields = key_fields_compare(left_key, right_key, diff->error);
        status = diff->fields ? DSAJIT_OK : diff->error->status;
    }
    free(left_key);
    free(right_key);
    return status;
}

static dsajit_status require_good(const dsajit_cache_entry *entry, dsajit_error *error)
{
    return entry->state == DSAJIT_ENTRY_CORRUPT
               ? failure_set(error, DSAJIT_ERROR_CORRUPT, "%s: %s", entry->path, entry->problem)
               : DSAJIT_OK;
}

static bool show_right(void *user, const dsajit_cache_entry *right)
{
    struct diff *diff = user;
    diff->status = require_good(right, diff->error);
    if (!diff->status)
        diff->status = compare_keys(diff, right);
    if (diff->status)
        return false;
    const dsajit_cache_entry *left = diff->left;
    for (size_t i = 0; i < left->section_count; i++)
        compare_section(diff, &left->sections[i], find_section(right, left->sections[i].name));
    for (size_t i = 0; i < right->section_count; i++)
        if (!find_section(left, right->sections[i].name))
            compare_section(diff, NULL, &right->sections[i]);
    return true;
}

static bool show_left(void *user, const dsajit_cache_entry *left)
{
    struct diff *diff = user;
    dsajit_error error;
    diff->left = left;
    diff->status = require_good(left, diff->error);
    if (!diff->status && dsajit_cache_inspect(diff->right_path, show_right, diff, &error)) {
        diff->status = error.status;
        *diff->error = error;
    }
    return true;
}

static void print_text(const struct diff *diff, const char *left)
{
    size_t i;
    json_t *section;
    printf("- %s\n+ %s\n", left, diff->right_path);
    key_fields_print(diff->fields);
    json_array_foreach(diff->sections, i, section)
    {
        const char *name = json_string_value(json_object_get(section, "name"));
        if (!json_is_true(json_object_get(section, "equal")))
            printf("  section %s differs: %jd and %jd bytes\n", name,
                   (intmax_t)json_integer_value(json_object_get(section, "left_bytes")),
                   (intmax_t)json_integer_value(json_object_get(section, "right_bytes")));
    }
    puts(diff->same ? "the same" : "different");
}

static void print_json(const struct diff *diff, const char *left)
{
    json_t *object = command_json("cache diff");
    json_object_set_new(object, "left", json_string(left));
    json_object_set_new(object, "right", json_string(diff->right_path));
    json_object_set_new(object, "same", json_boolean(diff->same));
    json_object_set(object, "fields", diff->fields);
    json_object_set(object, "sections", diff->sections);
    command_print_json(object);
}

static dsajit_status compare_paths(const struct operands *options, const char *left,
                                   const char *right, int *code, dsajit_error *error)
{
    struct diff diff = {.right_path = right, .sections = json_array(), .error = error};
    dsajit_status status = dsajit_cache_inspect(left, show_left, &diff, error);
    if (!status)
        status = diff.status;
    if (!status && options->common.json)
        print_json(&diff, left);
    else if (!status)
        print_text(&diff, left);
    if (!status && !diff.same)
        *code = EXIT_PROBLEM;
    json_decref(diff.sections);
    json_decref(diff.fields);
    return status;
}

static dsajit_status diff_entries(dsajit_context *context, void *user, int *code,
                                  dsajit_error *error)
{
    const struct operands *options = user;
    char *left = NULL, *right = NULL;
    dsajit_status status = entry_lookup(context, options->items[0], &left, error);
    if (!status)
        status = entry_lookup(context, options->items[1], &right, error);
    if (!status)
        status = compare_paths(options, left, right, code, error);
    if (status == DSAJIT_ERROR_NOT_FOUND || status == DSAJIT_ERROR_CORRUPT)
        *code = EXIT_NOT_WARM;
    free(left);
    free(right);
    return status;
}

int run_cache_diff(int argc, char **argv)
{
    struct operands options = {.least = 2, .most = 2, .question = "which two entries?"};
    if (argp_parse(&cache_diff_argp, argc, argv, 0, NULL, &options))
        return EXIT_PROBLEM;
    return command_run_body(&options.common, "cache diff", diff_entries, &options);
}
