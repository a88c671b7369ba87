/* dsajit cache list: the entries of every layer. */
#include "cache_entry.h"
#include "operands.h"
#include "quantity.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

struct list_options {
    struct operands operands;
    const char *sort; /* a member to sort by; NULL: as the layers have them */
    const char **filters;
    size_t filter_count;
};

enum { OPTION_SORT = 256, OPTION_FILTER };

static const struct argp_option option_table[] = {
    {"sort", OPTION_SORT, "name|used|size|compile", 0,
     "name, used (least recently used first), size or compile (time, both smallest first) (by "
     "layer)",
     0},
    {"filter", OPTION_FILTER, "NAME=VALUE", 0,
     "Only entries with this line in their key, or this field in their variant: kind=kernel or "
     "heads=8, for instance. May be given several times",
     0},
    {0},
};

static const char *parse_order(const char *text, const struct argp_state *state)
{
    static const char *const orders[][2] = {
        {"name", "variant"},
        {"used", "used"},
        {"size", "file_bytes"},
        {"compile", "compile_ms"},
    };
    for (size_t i = 0; i < sizeof orders / sizeof *orders; i++)
        if (strcmp(text, orders[i][0]) == 0)
            return orders[i][1];
    argp_error(state, "--sort is '%s'; name, used, size and compile are allowed", text);
    return NULL;
}

static error_t add_filter(struct list_options *options, const char *filter,
                          const struct argp_state *state)
{
    if (!strchr(filter, '='))
        argp_error(state, "--filter is '%s'; NAME=VALUE is allowed", filter);
    const char **filters =
        reallocarray(options->filters, options->filter_count + 1, sizeof *filters);
    if (!filters)
        return ENOMEM;
    options->filters = filters;
    filters[options->filter_count++] = filter;
    return 0;
}

/* NOLINTNEXTLINE(readability-non-const-parameter): argp gives the type */
static error_t parse_list(int key, char *argument, struct argp_state *state)
{
    struct list_options *options = state->input;
    switch (key) {
    case OPTION_SORT:
        options->sort = parse_order(argument, state);
        return 0;
    case OPTION_FILTER:
        return add_filter(options, argument, state);
    default:
        return operands_parse(key, argument, state);
    }
}

static const struct argp_child children[] = COMMON_CHILDREN;

const struct argp cache_list_argp = {
    .options = option_table,
    .parser = parse_list,
    .doc = "List the entries of every layer of the cache, good and bad ones.",
    .children = children,
};

/* ---- Choosing ---- */

/* True when `part` stands in `text` between two of `separators` (or the ends). */
static bool has_part(const char *text, const char *separators, const char *part)
{
    const size_t wanted = strlen(part);
    while (*text) {
        const size_t size = strcspn(text, separators);
        if (size == wanted && strncmp(text, part, size) == 0)
            return true;
        text += size + (text[size] != '\0');
    }
    return false;
}

static bool passes(const struct list_options *options, const dsajit_cache_entry *entry)
{
    for (size_t i = 0; i < options->filter_count; i++)
        if (!has_part(entry->key_base, "\n", options->filters[i]) &&
            !has_part(entry->key_toolchain, "\n", options->filters[i]) &&
            !has_part(entry->variant, "/,", options->filters[i]))
            return false;
    return true;
}

struct listing {
    const struct list_options *options;
    json_t *entries;
};

static bool collect(void *user, const dsajit_cache_entry *entry)
{
    struct listing *listing = user;
    return !passes(listing->options, entry) ||
           json_array_append_new(listing->entries, cache_entry_json(entry)) == 0;
}

/* ---- Order ---- */

struct sorted {
    json_t *entry;
    const json_t *value;
};

/* What is missing comes last. */
static int compare(const void *left, const void *right)
{
    const json_t *a = ((const struct sorted *)left)->value;
    const json_t *b = ((const struct sorted *)right)->value;
    if (json_is_string(a) && json_is_string(b))
        return strcmp(json_string_value(a), json_string_value(b));
    if (json_is_number(a) && json_is_number(b)) {
        const double x = json_number_value(a), y = json_number_value(b);
        return (x > y) - (x < y);
    }
    const bool a_known = a && !json_is_null(a), b_known = b && !json_is_null(b);
    return b_known - a_known;
}

/* A sorted copy; as it is without memory. Gives up the caller's reference to `entries`. */
static json_t *sort(json_t *entries, const char *member)
{
    const size_t count = json_array_size(entries);
    struct sorted *sorted = calloc(count + 1, sizeof *sorted);
    if (!member || !sorted) {
        free(sorted);
        return entries;
    }
    for (size_t i = 0; i < count; i++) {
        sorted[i].entry = json_array_get(entries, i);
        sorted[i].value = json_object_get(sorted[i].entry, member);
    }
    qsort(sorted, count, sizeof *sorted, compare);
    json_t *result = json_array();
    for (size_t i = 0; i < count; i++)
        json_array_append(result, sorted[i].entry);
    free(sorted);
    json_decref(entries);
    return result;
}

/* ---- Output ---- */

static void print_entry(json_t *entry, int64_t now)
{
    const json_int_t used = json_integer_value(json_object_get(entry, "used"));
    const json_int_t bytes = json_integer_value(json_object_get(entry, "file_bytes"));
    const json_t *compile_ms = json_object_get(entry, "compile_ms");
    const char *kind = json_string_value(json_object_get(entry, "kind"));
    printf("%-8s %-10s %-8s %9s %8s %8s  %s\n", json_string_value(json_object_get(entry, "state")),
           kind ? kind : "-", json_string_value(json_object_get(entry, "layer_kind")),
           size_format((uint64_t)bytes).text, age_format(now - used).text,
           compile_ms ? duration_format(json_number_value(compile_ms)).text : "-",
           cache_entry_title(entry));
}

static void print_entries(json_t *entries)
{
    size_t i;
    json_t *entry;
    const int64_t now = time(NULL);
    printf("%-8s %-10s %-8s %9s %8s %8s  %s\n", "STATE", "KIND", "LAYER", "SIZE", "USED", "COMPILE",
           "VARIANT OR FILE");
    json_array_foreach(entries, i, entry)
    {
        print_entry(entry, now);
    }
}

static dsajit_status list(dsajit_context *context, void *user, int *code, dsajit_error *error)
{
    const struct list_options *options = user;
    struct listing listing = {options, json_array()};
    (void)code;
    dsajit_status status = dsajit_cache_visit(context, collect, &listing, error);
    listing.entries = sort(listing.entries, options->sort);
    if (!status && options->operands.common.json) {
        json_t *object = command_json("cache list");
        json_object_set(object, "entries", listing.entries);
        command_print_json(object);
    } else if (!status) {
        print_entries(listing.entries);
    }
    json_decref(listing.entries);
    return status;
}

int run_cache_list(int argc, char **argv)
{
    struct list_options options = {0};
    if (argp_parse(&cache_list_argp, argc, argv, 0, NULL, &options))
        return EXIT_PROBLEM;
    const int code = command_run_body(&options.operands.common, "cache list", list, &options);
    free(options.filters);
    return code;
}
