/* dsajit doctor: is everything there that a compile and a run need? */
#include "command.h"
#include "filesystem.h"
#include "members.h"

#include <dsajit/inspect.h>

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

struct doctor_options {
    struct common_options common;
    dsajit_device_kind device;
};

enum { OPTION_DEVICE = 256 };

static const struct argp_option option_table[] = {
    {"device", OPTION_DEVICE, "auto|hip|emulator", 0,
     "The device to look for: hip, emulator, or auto: a gfx950 if there is one, else the emulator "
     "(auto)",
     0},
    {0},
};

static error_t parse_doctor(int key, char *argument, struct argp_state *state)
{
    struct doctor_options *options = state->input;
    switch (key) {
    case ARGP_KEY_INIT:
        state->child_inputs[0] = &options->common;
        return 0;
    case OPTION_DEVICE:
        options->device = command_parse_device(argument, state);
        return 0;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

static const struct argp_child children[] = COMMON_CHILDREN;

const struct argp doctor_argp = {
    .options = option_table,
    .parser = parse_doctor,
    .doc = "Look at the device, the compiler, the cache directory and the prebuilt layers, and say "
           "of each whether it can be used. The exit code is that of the first that can't.",
    .children = children,
};

/* A finding is a JSON object: "part", "ok", "problem" if there is one, and facts. Text output shows
   the same members. `code` is what the command returns when this is its first problem. */
struct findings {
    json_t *list;
    int code;
};

static json_t *add_finding(struct findings *findings, const char *part, const char *problem,
                           int code)
{
    json_t *finding = json_pack("{s:s, s:b}", "part", part, "ok", problem == NULL);
    if (problem)
        json_object_set_new(finding, "problem", json_string(problem));
    if (problem && !findings->code)
        findings->code = code;
    json_array_append_new(findings->list, finding);
    return finding;
}

static void set_text(json_t *finding, const char *name, const char *text)
{
    if (text)
        json_object_set_new(finding, name, json_string(text));
}

/* Opens the context without a device where there is none, so that the rest can be looked at. */
static dsajit_status look_at_device(struct doctor_options *options, struct findings *findings,
                                    dsajit_context **context, dsajit_error *error)
{
    dsajit_status status = command_open(&options->common, options->device, context, error);
    if (status == DSAJIT_ERROR_NO_DEVICE) {
        add_finding(findings, "device", error->message, EXIT_NO_DEVICE);
        return command_open(&options->common, DSAJIT_DEVICE_NONE, context, error);
    }
    dsajit_device_info info;
    if (!status)
        status = dsajit_get_device_info(*context, &info, error);
    if (status)
        return status;
    json_t *finding = add_finding(findings, "device", NULL, 0);
    set_text(finding, "kind", command_device_name(info.kind));
    set_text(finding, "name", info.name);
    set_text(finding, "target", info.target);
    set_text(finding, "library", info.library);
    json_object_set_new(finding, "count", json_integer(info.device_count));
    json_object_set_new(finding, "runtime_version", json_integer(info.runtime_version));
    return DSAJIT_OK;
}

static void look_at_compiler(dsajit_context *context, struct findings *findings)
{
    dsajit_toolchain_info info;
    dsajit_error error;
    if (dsajit_get_toolchain_info(context, &info, &error)) {
        add_finding(findings, "compiler", error.message, EXIT_TOOLCHAIN_MISSING);
        return;
    }
    json_t *finding = add_finding(findings, "compiler", NULL, 0);
    set_text(finding, "version", info.version);
    set_text(finding, "rocm", info.prefix);
    set_text(finding, "origin", info.origin);
    set_text(finding, "helper", info.helper);
    set_text(finding, "identity", info.identity);
}

/* Rights, file system and room; returns what is wrong, or NULL. */
static const char *look_at_directory(const char *path, int rights, json_t *facts)
{
    struct stat about;
    struct filesystem filesystem;
    json_object_set_new(facts, "directory", json_string(path));
    if (stat(path, &about) || !filesystem_look(path, &filesystem))
        return strerror(errno);
    char mode[8];
    snprintf(mode, sizeof mode, "%04o", (unsigned)about.st_mode & 07777U);
    json_object_set_new(facts, "mode", json_string(mode));
    json_object_set_new(facts, "filesystem", json_string(filesystem.type));
    json_object_set_new(facts, "shared_between_hosts", json_boolean(filesystem.remote));
    json_object_set_new(facts, "free_bytes", json_integer((json_int_t)filesystem.free_bytes));
    return access(path, rights) ? strerror(errno) : NULL;
}

static dsajit_status look_at_cache(const dsajit_context *context, struct findings *findings,
                                   dsajit_error *error)
{
    dsajit_cache_info info;
    dsajit_status status = dsajit_get_cache_info(context, &info, error);
    if (status)
        return status;
    json_t *facts = json_object();
    const char *problem = info.problem;
    if (info.directory && !problem)
        problem = look_at_directory(info.directory, R_OK | W_OK | X_OK, facts);
    json_object_update(add_finding(findings, "cache", problem, EXIT_CACHE_UNUSABLE), facts);
    json_decref(facts);
    for (const char *const *layer = info.prebuilt; layer && *layer; layer++) {
        facts = json_object();
        problem = look_at_directory(*layer, R_OK | X_OK, facts);
        json_object_update(add_finding(findings, "prebuilt layer", problem, EXIT_CACHE_UNUSABLE),
                           facts);
        json_decref(facts);
    }
    return DSAJIT_OK;
}

static void print_finding(json_t *finding)
{
    enum { WIDTH = 22 };
    printf("%-16s%s\n", json_string_value(json_object_get(finding, "part")),
           json_is_true(json_object_get(finding, "ok")) ? "ok" : "PROBLEM");
    json_object_del(finding, "part");
    json_object_del(finding, "ok");
    members_print(finding, WIDTH);
}

static void print_findings(const struct doctor_options *options, const struct findings *findings)
{
    if (options->common.json) {
        json_t *object = command_json("doctor");
        json_object_set_new(object, "version", json_string(dsajit_version()));
        json_object_set_new(object, "ok", json_boolean(findings->code == EXIT_DONE));
        json_object_set(object, "findings", findings->list);
        command_print_json(object);
        return;
    }
    size_t i;
    json_t *finding;
    printf("dsajit %s\n", dsajit_version());
    json_array_foreach(findings->list, i, finding)
    {
        print_finding(finding);
    }
}

int run_doctor(int argc, char **argv)
{
    struct doctor_options options = {.device = DSAJIT_DEVICE_AUTO};
    if (argp_parse(&doctor_argp, argc, argv, 0, NULL, &options))
        return EXIT_PROBLEM;
    struct findings findings = {.list = json_array()};
    dsajit_context *context = NULL;
    dsajit_error error;
    dsajit_status status = look_at_device(&options, &findings, &context, &error);
    if (!status) {
        look_at_compiler(context, &findings);
        status = look_at_cache(context, &findings, &error);
    }
    int code = findings.code;
    if (status)
        code = command_fail(&options.common, "doctor", &error);
    else
        print_findings(&options, &findings);
    dsajit_close(context);
    json_decref(findings.list);
    return code;
}
