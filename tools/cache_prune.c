/* dsajit cache prune and clear: removing entries of the writable layer. */
#include "operands.h"
#include "quantity.h"

#include <dsajit/cache.h>

#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* ---- What was removed ---- */

static void print_pruning(const dsajit_cache_pruning *pruning, const char *verb)
{
    printf("%ju entries with %s %s, %ju with %s kept, %ju leftovers\n", (uintmax_t)pruning->removed,
           size_format(pruning->removed_bytes).text, verb, (uintmax_t)pruning->kept,
           size_format(pruning->kept_bytes).text, (uintmax_t)pruning->leftovers);
}

static json_t *describe_pruning(const char *command, const dsajit_cache_pruning *pruning)
{
    json_t *object = command_json(command);
    json_object_set_new(object, "removed", json_integer((json_int_t)pruning->removed));
    json_object_set_new(object, "removed_bytes", json_integer((json_int_t)pruning->removed_bytes));
    json_object_set_new(object, "kept", json_integer((json_int_t)pruning->kept));
    json_object_set_new(object, "kept_bytes", json_integer((json_int_t)pruning->kept_bytes));
    json_object_set_new(object, "leftovers", json_integer((json_int_t)pruning->leftovers));
    return object;
}

/* ---- prune ---- */

struct prune_options {
    struct operands operands;
    dsajit_cache_prune_options what;
};

enum { OPTION_MAX_SIZE = 256, OPTION_OLDER_THAN, OPTION_STALE, OPTION_DRY_RUN };

static const struct argp_option prune_table[] = {
    {"max-size", OPTION_MAX_SIZE, "SIZE", 0,
     "Remove least recently used entries until the others have no more than that: bytes, or with "
     "K, M, G or T",
     0},
    {"older-than", OPTION_OLDER_THAN, "AGE", 0,
     "Remove what was not used for that long: a number with s, m, h or d", 0},
    {"stale", OPTION_STALE, NULL, 0, "Remove what another toolchain than the present one made", 0},
    {"dry-run", OPTION_DRY_RUN, NULL, 0, "Only tell what would be removed", 0},
    {0},
};

/* NOLINTNEXTLINE(readability-non-const-parameter): argp gives the type */
static error_t parse_prune(int key, char *argument, struct argp_state *state)
{
    struct prune_options *options = state->input;
    switch (key) {
    case OPTION_MAX_SIZE:
        if (!size_parse(argument, &options->what.max_bytes))
            argp_error(state, "--max-size is '%s'; bytes are allowed, or a number with K, M, G, T",
                       argument);
        return 0;
    case OPTION_OLDER_THAN:
        if (!age_parse(argument, &options->what.unused_seconds))
            argp_error(state, "--older-than is '%s'; a number with s, m, h or d is allowed",
                       argument);
        return 0;
    case OPTION_STALE:
        options->what.stale = true;
        return 0;
    case OPTION_DRY_RUN:
        options->what.dry_run = true;
        return 0;
    default:
        return operands_parse(key, argument, state);
    }
}

static const struct argp_child children[] = COMMON_CHILDREN;

const struct argp cache_prune_argp = {
    .options = prune_table,
    .parser = parse_prune,
    .doc = "Remove entries from the writable layer: those that any of the options covers, and "
           "always what killed writers left. Safe while other processes use the cache.",
    .children = children,
};

static void keep_path(void *user, const char *path, uint64_t bytes)
{
    json_array_append_new(user, json_pack("{s:s, s:I}", "path", path, "bytes", (json_int_t)bytes));
}

static void report_pruning(const struct prune_options *options, const dsajit_cache_pruning *pruning,
                           json_t *paths)
{
    if (options->operands.common.json) {
        json_t *object = describe_pruning("cache prune", pruning);
        json_object_set_new(object, "dry_run", json_boolean(options->what.dry_run));
        json_object_set(object, "entries", paths);
        command_print_json(object);
        return;
    }
    size_t i;
    json_t *entry;
    json_array_foreach(paths, i, entry)
    {
        puts(json_string_value(json_object_get(entry, "path")));
    }
    print_pruning(pruning, options->what.dry_run ? "would be removed" : "removed");
}

static dsajit_status prune(dsajit_context *context, void *user, int *code, dsajit_error *error)
{
    struct prune_options *options = user;
    dsajit_cache_pruning pruning;
    json_t *paths = json_array();
    (void)code;
    options->what.removed = keep_path;
    options->what.removed_user = paths;
    dsajit_status status = dsajit_cache_prune(context, &options->what, &pruning, error);
    if (!status)
        report_pruning(options, &pruning, paths);
    json_decref(paths);
    return status;
}

int run_cache_prune(int argc, char **argv)
{
    struct prune_options options = {.what = DSAJIT_CACHE_PRUNE_OPTIONS_DEFAULT};
    if (argp_parse(&cache_prune_argp, argc, argv, 0, NULL, &options))
        return EXIT_PROBLEM;
    return command_run_body(&options.operands.common, "cache prune", prune, &options);
}

/* ---- clear ---- */

struct clear_options {
    struct operands operands;
    bool agreed;
};

enum { OPTION_YES = 256 };

static const struct argp_option clear_table[] = {
    {"yes", OPTION_YES, NULL, 0, "Don't ask", 0},
    {0},
};

/* NOLINTNEXTLINE(readability-non-const-parameter): argp gives the type */
static error_t parse_clear(int key, char *argument, struct argp_state *state)
{
    struct clear_options *options = state->input;
    switch (key) {
    case OPTION_YES:
        options->agreed = true;
        return 0;
    case ARGP_KEY_END:
        if (!options->agreed && !isatty(STDIN_FILENO))
            argp_error(state, "nobody to ask: --yes agrees beforehand");
        return 0;
    default:
        return operands_parse(key, argument, state);
    }
}

const struct argp cache_clear_argp = {
    .options = clear_table,
    .parser = parse_clear,
    .doc = "Remove everything that dsajit has put into the writable layer.",
    .children = children,
};

static bool ask(void)
{
    char answer[16];
    fputs("Remove everything from the cache directory? [y/N] ", stderr);
    return fgets(answer, sizeof answer, stdin) && (answer[0] == 'y' || answer[0] == 'Y');
}

static dsajit_status clear(dsajit_context *context, void *user, int *code, dsajit_error *error)
{
    const struct clear_options *options = user;
    dsajit_cache_pruning pruning;
    (void)code;
    dsajit_status status = dsajit_cache_clear(context, &pruning, error);
    if (status)
        return status;
    if (options->operands.common.json)
        command_print_json(describe_pruning("cache clear", &pruning));
    else
        print_pruning(&pruning, "removed");
    return DSAJIT_OK;
}

int run_cache_clear(int argc, char **argv)
{
    struct clear_options options = {0};
    if (argp_parse(&cache_clear_argp, argc, argv, 0, NULL, &options))
        return EXIT_PROBLEM;
    if (!options.agreed && !ask())
        return EXIT_PROBLEM;
    return command_run_body(&options.operands.common, "cache clear", clear, &options);
}
