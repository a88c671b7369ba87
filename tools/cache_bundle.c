/* dsajit cache export, import and keygen: bundles of entries. */
#include "operands.h"
#include "quantity.h"
#include "selection.h"

#include <dsajit/cache.h>

#include <stdio.h>
#include <stdlib.h>

/* ---- What was moved ---- */

static json_t *describe(const char *command, const dsajit_bundle_report *report)
{
    json_t *object = command_json(command);
    json_object_set_new(object, "entries", json_integer((json_int_t)report->entries));
    json_object_set_new(object, "bytes", json_integer((json_int_t)report->bytes));
    json_object_set_new(object, "signer",
                        report->is_signed ? json_string(report->signer) : json_null());
    return object;
}

static void print_origin(const dsajit_bundle_report *report)
{
    if (report->is_signed)
        printf(", signed by %s", report->signer);
    else
        fputs(", not signed", stdout);
}

/* ---- export ---- */

struct export_options {
    struct operands operands;
    struct selection_options selection;
    const char *secret_key;
};

enum { OPTION_SIGN = 256 };

static const struct argp_option export_table[] = {
    {"sign", OPTION_SIGN, "SECRET", 0, "Sign it with this secret key file", 2},
    {0},
};

/* NOLINTNEXTLINE(readability-non-const-parameter): argp gives the type */
static error_t parse_export(int key, char *argument, struct argp_state *state)
{
    struct export_options *options = state->input;
    if (key == ARGP_KEY_INIT)
        state->child_inputs[1] = &options->selection;
    if (key != OPTION_SIGN)
        return operands_parse(key, argument, state);
    options->secret_key = argument;
    return 0;
}

static const struct argp_child export_children[] = {
    {&common_argp, 0, "Output:", 2}, {&selection_argp, 0, NULL, 1}, {0}};

const struct argp cache_export_argp = {
    .options = export_table,
    .parser = parse_export,
    .args_doc = "FILE",
    .doc = "Write entries into one archive, the same bytes for the same entries: those that a "
           "look-up of the chosen variants finds, or, if no option chooses any, all good ones of "
           "every layer. The exit code is 4 when a chosen variant is not there.",
    .children = export_children,
};

static void print_export(const struct export_options *options, const dsajit_bundle_report *report)
{
    if (options->operands.common.json) {
        command_print_json(describe("cache export", report));
        return;
    }
    printf("%ju entries, %s", (uintmax_t)report->entries, size_format(report->bytes).text);
    print_origin(report);
    putchar('\n');
}

static dsajit_status export(dsajit_context *context, void *user, int *code, dsajit_error *error)
{
    const struct export_options *options = user;
    dsajit_plan *plan = NULL;
    dsajit_bundle_report report;
    dsajit_status status = DSAJIT_OK;
    if (!selection_is_empty(&options->selection))
        status = selection_build_plan(&options->selection, &plan, error);
    dsajit_cache_export_options details = DSAJIT_CACHE_EXPORT_OPTIONS_DEFAULT;
    details.plan = plan;
    details.secret_key = options->secret_key;
    if (!status)
        status = dsajit_cache_export(context, options->operands.items[0], &details, &report, error);
    if (!status)
        print_export(options, &report);
    if (status == DSAJIT_ERROR_NOT_FOUND)
        *code = EXIT_NOT_WARM;
    dsajit_plan_free(plan);
    return status;
}

int run_cache_export(int argc, char **argv)
{
    struct export_options options = {
        .operands = {.least = 1, .most = 1, .question = "into which file?"},
        .selection = SELECTION_DEFAULT,
    };
    if (argp_parse(&cache_export_argp, argc, argv, 0, NULL, &options))
        return EXIT_PROBLEM;
    const int code = command_run_body(&options.operands.common, "cache export", export, &options);
    selection_free(&options.selection);
    return code;
}

/* ---- import ---- */

struct import_options {
    struct operands operands;
    const char **keys; /* NULL-terminated; NULL: none */
    size_t key_count;
    bool verify_only;
};

enum { OPTION_KEY = 256, OPTION_VERIFY_ONLY };

static const struct argp_option import_table[] = {
    {"key", OPTION_KEY, "PUBLIC", 0,
     "Refuse a bundle that isn't signed with the secret key of this public one. May be given "
     "several times: any will do",
     0},
    {"verify-only", OPTION_VERIFY_ONLY, NULL, 0, "Check it and write nothing", 0},
    {0},
};

static error_t add_key(struct import_options *options, const char *path)
{
    const char **keys = reallocarray(options->keys, options->key_count + 2, sizeof *keys);
    if (!keys)
        return ENOMEM;
    options->keys = keys;
    keys[options->key_count++] = path;
    keys[options->key_count] = NULL;
    return 0;
}

/* NOLINTNEXTLINE(readability-non-const-parameter): argp gives the type */
static error_t parse_import(int key, char *argument, struct argp_state *state)
{
    struct import_options *options = state->input;
    switch (key) {
    case OPTION_KEY:
        return add_key(options, argument);
    case OPTION_VERIFY_ONLY:
        options->verify_only = true;
        return 0;
    default:
        return operands_parse(key, argument, state);
    }
}

static const struct argp_child children[] = COMMON_CHILDREN;

const struct argp cache_import_argp = {
    .options = import_table,
    .parser = parse_import,
    .args_doc = "FILE",
    .doc = "Check a bundle whole and put its entries into the writable layer.",
    .children = children,
};

static void print_import(const struct import_options *options, const dsajit_bundle_report *report)
{
    if (options->operands.common.json) {
        json_t *object = describe("cache import", report);
        json_object_set_new(object, "published", json_integer((json_int_t)report->published));
        json_object_set_new(object, "present", json_integer((json_int_t)report->present));
        json_object_set_new(object, "trusted", json_boolean(report->trusted));
        json_object_set_new(object, "verify_only", json_boolean(options->verify_only));
        command_print_json(object);
        return;
    }
    printf("%ju good entries, %s", (uintmax_t)report->entries, size_format(report->bytes).text);
    print_origin(report);
    if (!options->verify_only)
        printf("; %ju written, %ju were here", (uintmax_t)report->published,
               (uintmax_t)report->present);
    putchar('\n');
}

static dsajit_status import(dsajit_context *context, void *user, int *code, dsajit_error *error)
{
    const struct import_options *options = user;
    dsajit_cache_import_options details = DSAJIT_CACHE_IMPORT_OPTIONS_DEFAULT;
    dsajit_bundle_report report;
    (void)code;
    details.public_keys = options->keys;
    details.verify_only = options->verify_only;
    dsajit_status status =
        dsajit_cache_import(context, options->operands.items[0], &details, &report, error);
    if (!status)
        print_import(options, &report);
    return status;
}

int run_cache_import(int argc, char **argv)
{
    struct import_options options = {
        .operands = {.least = 1, .most = 1, .question = "which file?"}};
    if (argp_parse(&cache_import_argp, argc, argv, 0, NULL, &options))
        return EXIT_PROBLEM;
    const int code = command_run_body(&options.operands.common, "cache import", import, &options);
    free(options.keys);
    return code;
}

/* ---- keygen ---- */

const struct argp cache_keygen_argp = {
    .parser = operands_parse,
    .args_doc = "SECRET PUBLIC",
    .doc = "Make a pair of key files: SECRET signs bundles, PUBLIC lets others tell that it did. "
           "Files that exist are left alone.",
    .children = children,
};

int run_cache_keygen(int argc, char **argv)
{
    struct operands options = {
        .least = 2, .most = 2, .question = "which files, the secret and the public one?"};
    if (argp_parse(&cache_keygen_argp, argc, argv, 0, NULL, &options))
        return EXIT_PROBLEM;
    dsajit_error error;
    if (dsajit_bundle_create_keys(options.items[0], options.items[1], &error))
        return command_fail(&options.common, "cache keygen", &error);
    if (options.common.json) {
        json_t *object = command_json("cache keygen");
        json_object_set_new(object, "secret", json_string(options.items[0]));
        json_object_set_new(object, "public", json_string(options.items[1]));
        command_print_json(object);
    }
    return EXIT_DONE;
}
