/* dsajit cache verify: is every entry what was written? */
#include "cache_entry.h"
#include "operands.h"

#include <stdio.h>

struct verify_options {
    struct operands operands;
    bool repair;
};

enum { OPTION_REPAIR = 256 };

static const struct argp_option option_table[] = {
    {"repair", OPTION_REPAIR, NULL, 0,
     "Move damaged entries of the writable layer aside, remove those that no look-up finds and "
     "what "
     "killed writers left",
     0},
    {0},
};

/* NOLINTNEXTLINE(readability-non-const-parameter): argp gives the type */
static error_t parse_verify(int key, char *argument, struct argp_state *state)
{
    struct verify_options *options = state->input;
    if (key != OPTION_REPAIR)
        return operands_parse(key, argument, state);
    options->repair = true;
    return 0;
}

static const struct argp_child children[] = COMMON_CHILDREN;

const struct argp cache_verify_argp = {
    .options = option_table,
    .parser = parse_verify,
    .doc = "Read every entry of every layer, compare it with its digest and its name with its key, "
           "and list the bad ones. The exit code is 4 when bad ones are left.",
    .children = children,
};

static bool keep_bad(void *user, const dsajit_cache_entry *entry)
{
    return entry->state == DSAJIT_ENTRY_OK ||
           json_array_append_new(user, cache_entry_json(entry)) == 0;
}

static void print_json(const dsajit_cache_verification *result, json_t *bad, bool ok)
{
    json_t *object = command_json("cache verify");
    json_object_set_new(object, "ok", json_boolean(ok));
    json_object_set_new(object, "good", json_integer((json_int_t)result->good));
    json_object_set_new(object, "corrupt", json_integer((json_int_t)result->corrupt));
    json_object_set_new(object, "foreign", json_integer((json_int_t)result->foreign));
    json_object_set_new(object, "repaired", json_integer((json_int_t)result->repaired));
    json_object_set_new(object, "leftovers", json_integer((json_int_t)result->leftovers));
    json_object_set(object, "bad", bad);
    command_print_json(object);
}

static void print_text(const dsajit_cache_verification *result, json_t *bad)
{
    size_t i;
    json_t *entry;
    json_array_foreach(bad, i, entry)
    {
        printf("%-8s %s: %s\n", json_string_value(json_object_get(entry, "state")),
               json_string_value(json_object_get(entry, "path")),
               json_string_value(json_object_get(entry, "problem")));
    }
    printf("%ju good, %ju corrupt, %ju foreign; %ju repaired, %ju leftovers\n",
           (uintmax_t)result->good, (uintmax_t)result->corrupt, (uintmax_t)result->foreign,
           (uintmax_t)result->repaired, (uintmax_t)result->leftovers);
}

static dsajit_status verify(dsajit_context *context, void *user, int *code, dsajit_error *error)
{
    const struct verify_options *options = user;
    dsajit_cache_verification result = {0};
    json_t *bad = json_array();
    dsajit_status status =
        dsajit_cache_verify(context, options->repair, keep_bad, bad, &result, error);
    if (!status || status == DSAJIT_ERROR_CORRUPT) {
        if (options->operands.common.json)
            print_json(&result, bad, status == DSAJIT_OK);
        else
            print_text(&result, bad);
        *code = status ? EXIT_NOT_WARM : EXIT_DONE;
        status = DSAJIT_OK; /* bad entries are a result, and have been told */
    }
    json_decref(bad);
    return status;
}

int run_cache_verify(int argc, char **argv)
{
    struct verify_options options = {0};
    if (argp_parse(&cache_verify_argp, argc, argv, 0, NULL, &options))
        return EXIT_PROBLEM;
    return command_run_body(&options.operands.common, "cache verify", verify, &options);
}
