#include "command.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* NOLINTNEXTLINE(readability-non-const-parameter): argp gives the type */
static error_t parse_common(int key, char *argument, struct argp_state *state)
{
    struct common_options *options = state->input;
    (void)argument;
    switch (key) {
    case 'j':
        options->json = true;
        return 0;
    case 'v':
        options->verbosity++;
        return 0;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

static const struct argp_option common_table[] = {
    {"json", 'j', NULL, 0, "Print one JSON object on standard output", 0},
    {"verbose", 'v', NULL, 0, "Say more on standard error", 0},
    {0},
};

const struct argp common_argp = {.options = common_table, .parser = parse_common};

static const char *const device_names[] = {
    [DSAJIT_DEVICE_AUTO] = "auto",
    [DSAJIT_DEVICE_HIP] = "hip",
    [DSAJIT_DEVICE_EMULATOR] = "emulator",
    [DSAJIT_DEVICE_NONE] = "none",
};

const char *command_device_name(dsajit_device_kind kind)
{
    return device_names[kind];
}

static const char *const origin_names[] = {
    [DSAJIT_ORIGIN_RESIDENT] = "resident",
    [DSAJIT_ORIGIN_CACHE] = "cache",
    [DSAJIT_ORIGIN_PREBUILT] = "prebuilt",
    [DSAJIT_ORIGIN_COMPILED] = "compiled",
};

const char *command_origin_name(dsajit_origin origin)
{
    return origin_names[origin];
}

dsajit_device_kind command_parse_device(const char *text, const struct argp_state *state)
{
    for (int kind = DSAJIT_DEVICE_AUTO; kind < DSAJIT_DEVICE_NONE; kind++)
        if (strcmp(text, device_names[kind]) == 0)
            return (dsajit_device_kind)kind;
    argp_error(state, "--device is '%s'; auto, hip and emulator are allowed", text);
    return DSAJIT_DEVICE_AUTO;
}

int64_t command_parse_integer(const char *name, const char *text, int64_t least, int64_t most,
                              const struct argp_state *state)
{
    char *end;
    errno = 0;
    const long long value = strtoll(text, &end, 10);
    if (errno || end == text || *end || value < least || value > most)
        argp_error(state, "--%s is '%s'; a whole number from %" PRId64 " to %" PRId64 " is allowed",
                   name, text, least, most);
    return value;
}

void command_log(const struct common_options *common, dsajit_log_level level, const char *message)
{
    static const char *const names[] = {"error", "warning", "info", "debug"};
    if ((int)level <= DSAJIT_LOG_WARNING + common->verbosity)
        fprintf(stderr, "dsajit: %s: %s\n", names[level], message);
}

static void print_log(void *user, dsajit_log_level level, const char *message)
{
    command_log(user, level, message);
}

dsajit_status command_open(struct common_options *common, dsajit_device_kind device,
                           dsajit_context **context, dsajit_error *error)
{
    dsajit_options options = DSAJIT_OPTIONS_DEFAULT;
    options.device = device;
    options.log = print_log;
    options.log_user = common;
    return dsajit_open(&options, context, error);
}

enum exit_code command_exit_code(dsajit_status status)
{
    switch (status) {
    case DSAJIT_OK:
        return EXIT_DONE;
    case DSAJIT_ERROR_INVALID_ARGUMENT:
    case DSAJIT_ERROR_UNSUPPORTED:
        return EXIT_USAGE;
    case DSAJIT_ERROR_COMPILE:
    case DSAJIT_ERROR_COMPILER_CRASHED:
        return EXIT_COMPILE_FAILED;
    case DSAJIT_ERROR_NOT_WARM:
    case DSAJIT_ERROR_SEALED:
        return EXIT_NOT_WARM;
    case DSAJIT_ERROR_CACHE_UNUSABLE:
        return EXIT_CACHE_UNUSABLE;
    case DSAJIT_ERROR_TOOLCHAIN_MISSING:
        return EXIT_TOOLCHAIN_MISSING;
    case DSAJIT_ERROR_TIMEOUT:
        return EXIT_TIMED_OUT;
    case DSAJIT_ERROR_NO_DEVICE:
        return EXIT_NO_DEVICE;
    default:
        return EXIT_PROBLEM;
    }
}

int command_fail(const struct common_options *common, const char *command,
                 const dsajit_error *error)
{
    fprintf(stderr, "dsajit: %s\n", error->message);
    if (common->json) {
        json_t *object = command_json(command);
        json_object_set_new(object, "error", command_json_error(error));
        command_print_json(object);
    }
    return command_exit_code(error->status);
}

int command_run_body(struct common_options *common, const char *command, command_body *body,
                     void *options)
{
    dsajit_context *context = NULL;
    dsajit_error error;
    int code = EXIT_DONE;
    dsajit_status status = command_open(common, DSAJIT_DEVICE_NONE, &context, &error);
    if (!status)
        status = body(context, options, &code, &error);
    if (status) {
        const int usual = command_fail(common, command, &error);
        code = code == EXIT_DONE ? usual : code;
    }
    dsajit_close(context);
    return code;
}

json_t *command_json(const char *command)
{
    return json_pack("{s:i, s:s}", "schema", 1, "command", command);
}

json_t *command_json_error(const dsajit_error *error)
{
    return json_pack("{s:s, s:s}", "status", dsajit_status_name(error->status), "message",
                     error->message);
}

json_t *command_json_number(double value)
{
    return isfinite(value) ? json_real(value) : json_null();
}

void command_print_json(json_t *object)
{
    json_dumpf(object, stdout, JSON_INDENT(2) | JSON_REAL_PRECISION(9));
    putchar('\n');
    json_decref(object);
}
