/* dsajit warmup: options and the course of a warmup. */
#include "command.h"
#include "failure.h"
#include "interrupt.h"
#include "progress.h"
#include "selection.h"
#include "survey.h"
#include "trace.h"
#include "warmup_report.h"

#include <dsajit/inspect.h>

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct warmup_options {
    struct common_options common;
    struct selection_options selection;
    dsajit_warm_options warm;
    dsajit_device_kind device;
    bool device_given;
    bool strict, dry_run;
    int nice;
    const char *into;       /* NULL: the configured cache directory */
    const char *trace_path; /* NULL: no trace */
    enum progress_mode progress;
};

enum {
    OPTION_INTO = 256,
    OPTION_LEVEL,
    OPTION_DEVICE,
    OPTION_STRICT,
    OPTION_JOBS,
    OPTION_TIMEOUT,
    OPTION_NICE,
    OPTION_DRY_RUN,
    OPTION_PROGRESS,
    OPTION_TRACE
};

static const struct argp_option option_table[] = {
    {NULL, 0, NULL, 0, "The work:", 2},
    {"into", OPTION_INTO, "DIR", 0,
     "Fill this cache directory, whatever prebuilt layers hold, instead of the configured one", 2},
    {"level", OPTION_LEVEL, "compiled|resident", 0,
     "compiled: the code is on disk; resident: and it was loaded on the device and launched once "
     "(compiled)",
     2},
    {"device", OPTION_DEVICE, "auto|hip|emulator", 0,
     "For resident: hip, emulator, or auto: a gfx950 if there is one, else the emulator (auto)", 2},
    {"strict", OPTION_STRICT, NULL, 0, "Compile nothing: what is not in the cache fails", 2},
    {"jobs", OPTION_JOBS, "N", 0,
     "Compiles at once, at most (as many as cores and free memory allow)", 2},
    {"timeout", OPTION_TIMEOUT, "SECONDS", 0, "Time limit of each compile (120)", 2},
    {"nice", OPTION_NICE, "N", 0, "Lower the priority by that much, 0 to 19 (0)", 2},
    {"dry-run", OPTION_DRY_RUN, NULL, 0, "Only tell what would be compiled; writes nothing at all",
     2},
    {NULL, 0, NULL, 0, "Output:", 3},
    {"progress", OPTION_PROGRESS, "auto|plain|json|off", 0,
     "On standard error: plain (lines), json (a JSON object a line), off, or auto: a bar on a "
     "terminal, else plain (auto)",
     3},
    {"trace", OPTION_TRACE, "FILE", 0,
     "Write the time line as a trace for Perfetto or chrome://tracing", 3},
    {0},
};

static dsajit_warm_level parse_level(const char *text, const struct argp_state *state)
{
    if (strcmp(text, "resident") == 0)
        return DSAJIT_WARM_RESIDENT;
    if (strcmp(text, "compiled") != 0)
        argp_error(state, "--level is '%s'; compiled and resident are allowed", text);
    return DSAJIT_WARM_COMPILED;
}

static void check_combinations(const struct warmup_options *options, const struct argp_state *state)
{
    const bool resident = options->warm.level == DSAJIT_WARM_RESIDENT;
    if (options->device_given && !resident)
        argp_error(state, "--device needs --level resident");
    if (options->dry_run && options->trace_path)
        argp_error(state, "--dry-run and --trace contradict each other");
    if (options->into && !*options->into)
        argp_error(state, "--into names no directory");
}

/* NOLINTNEXTLINE(readability-non-const-parameter): argp gives the type */
static error_t parse_warmup(int key, char *argument, struct argp_state *state)
{
    enum { DAY_SECONDS = 86400, JOBS_MAX = 4096, NICE_MAX = 19 };
    struct warmup_options *options = state->input;
    switch (key) {
    case ARGP_KEY_INIT:
        state->child_inputs[0] = &options->selection;
        state->child_inputs[1] = &options->common;
        return 0;
    case OPTION_INTO:
        options->into = argument;
        return 0;
    case OPTION_LEVEL:
        options->warm.level = parse_level(argument, state);
        return 0;
    case OPTION_DEVICE:
        options->device = command_parse_device(argument, state);
        options->device_given = true;
        return 0;
    case OPTION_STRICT:
        options->strict = true;
        return 0;
    case OPTION_JOBS:
        options->warm.jobs = (int)command_parse_integer("jobs", argument, 1, JOBS_MAX, state);
        return 0;
    case OPTION_TIMEOUT:
        options->warm.timeout_ms =
            1000 * (int)command_parse_integer("timeout", argument, 1, DAY_SECONDS, state);
        return 0;
    case OPTION_NICE:
        options->nice = (int)command_parse_integer("nice", argument, 0, NICE_MAX, state);
        return 0;
    case OPTION_DRY_RUN:
        options->dry_run = true;
        return 0;
    case OPTION_PROGRESS:
        if (!progress_parse_mode(argument, stderr, &options->progress))
            argp_error(state, "--progress is '%s'; auto, plain, json and off are allowed",
                       argument);
        return 0;
    case OPTION_TRACE:
        options->trace_path = argument;
        return 0;
    case ARGP_KEY_END:
        check_combinations(options, state);
        return 0;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

static const struct argp_child children[] = {
    {&selection_argp, 0, NULL, 1}, {&common_argp, 0, NULL, 3}, {0}};

const struct argp warmup_argp = {
    .options = option_table,
    .parser = parse_warmup,
    .doc = "Have the kernels of a plan compiled and in the cache, or resident too, before anybody "
           "waits for them. What is there already costs nothing. Interrupted, it keeps what is "
           "finished, and the next run goes on from there.",
    .children = children,
};

/* What the callbacks of a running warmup need. */
struct run {
    struct warmup_options *options;
    struct progress progress;
};

static void log_line(void *user, dsajit_log_level level, const char *message)
{
    struct run *run = user;
    progress_pause(&run->progress);
    command_log(&run->options->common, level, message);
    progress_resume(&run->progress);
}

static bool show_progress(void *user, const dsajit_warm_progress *state)
{
    struct run *run = user;
    progress_show(&run->progress, state);
    return interrupt_signal() == 0;
}

static dsajit_status open_context(struct run *run, dsajit_context **context, dsajit_error *error)
{
    static const char *const no_layers[] = {NULL};
    const struct warmup_options *given = run->options;
    dsajit_options options = DSAJIT_OPTIONS_DEFAULT;
    options.device = given->warm.level == DSAJIT_WARM_RESIDENT ? given->device : DSAJIT_DEVICE_NONE;
    options.strict = given->strict;
    options.compile_timeout_ms = given->warm.timeout_ms; /* finding the toolchain takes one too */
    options.cache_directory = given->into;
    options.prebuilt = given->into ? no_layers : NULL;
    options.log = log_line;
    options.log_user = run;
    return dsajit_open(&options, context, error);
}

/* Where nothing can be kept, only what prebuilt layers hold is warm: compiling would be for
   nothing. Sets *problem to why there is no directory, NULL when there is one. */
static dsajit_status forbid_vain_compiles(dsajit_context *context, const char **problem,
                                          dsajit_error *error)
{
    dsajit_cache_info info;
    dsajit_status status = dsajit_get_cache_info(context, &info, error);
    *problem = status ? NULL : info.problem;
    return *problem ? dsajit_seal(context, DSAJIT_SEAL_ERROR, error) : status;
}

/* Warms the plan and tells of it; returns the exit code. */
static int warm(struct run *run, dsajit_context *context, const dsajit_plan *plan,
                const char *directory_problem)
{
    struct warmup_options *options = run->options;
    struct warmup_outcome outcome = {.level = options->warm.level};
    options->warm.progress = show_progress;
    options->warm.progress_user = run;
    interrupt_watch();
    dsajit_status status =
        dsajit_warmup(context, plan, &options->warm, &outcome.report, &outcome.error);
    progress_end(&run->progress);
    if (status == DSAJIT_ERROR_SEALED && directory_problem)
        status = failure_set(&outcome.error, DSAJIT_ERROR_CACHE_UNUSABLE,
                             "%zu of %zu variants are in no prebuilt layer, and the cache "
                             "directory can't be used: %s",
                             outcome.report.failed, outcome.report.count, directory_problem);
    outcome.error.status = status;
    outcome.signal = status ? interrupt_signal() : 0;
    dsajit_error trace_error = {0};
    if (options->trace_path && trace_write(options->trace_path, &outcome.report, &trace_error) &&
        !status)
        outcome.error = trace_error;
    warmup_report_print(&outcome, options->common.json);
    const int code = outcome.signal ? EXIT_INTERRUPTED + outcome.signal
                                    : (int)command_exit_code(outcome.error.status);
    dsajit_warm_report_free(&outcome.report);
    return code;
}

static int run_dry(struct warmup_options *options, const dsajit_plan *plan)
{
    struct survey survey;
    dsajit_error error;
    if (survey_make_dry(&options->common, plan, options->into, &survey, &error))
        return command_fail(&options->common, "warmup", &error);
    if (options->common.json) {
        json_t *object = command_json("warmup");
        json_object_set_new(object, "dry_run", json_true());
        survey_add_json(&survey, object);
        command_print_json(object);
    } else {
        survey_print(&survey);
        printf("%zu of %zu variants would be compiled\n", survey.missing + survey.bad,
               survey.count);
    }
    survey_free(&survey);
    return EXIT_DONE;
}

static dsajit_status lower_priority(int by, dsajit_error *error)
{
    errno = 0;
    return nice(by) == -1 && errno
               ? failure_set_errno(error, DSAJIT_ERROR_IO, errno, "--nice %d", by)
               : DSAJIT_OK;
}

static int run_real(struct warmup_options *options, const dsajit_plan *plan)
{
    struct run run = {
        .options = options,
        .progress = {.mode = options->progress,
                     .stream = stderr,
                     .mutex = PTHREAD_MUTEX_INITIALIZER},
    };
    dsajit_context *context = NULL;
    const char *directory_problem = NULL;
    dsajit_error error;
    dsajit_status status = lower_priority(options->nice, &error);
    if (!status)
        status = open_context(&run, &context, &error);
    if (!status)
        status = forbid_vain_compiles(context, &directory_problem, &error);
    const int code = status ? command_fail(&options->common, "warmup", &error)
                            : warm(&run, context, plan, directory_problem);
    dsajit_close(context);
    return code;
}

int run_warmup(int argc, char **argv)
{
    struct warmup_options options = {.selection = SELECTION_DEFAULT,
                                     .warm = DSAJIT_WARM_OPTIONS_DEFAULT};
    progress_parse_mode("auto", stderr, &options.progress);
    if (argp_parse(&warmup_argp, argc, argv, 0, NULL, &options))
        return EXIT_PROBLEM;
    dsajit_plan *plan;
    dsajit_error error;
    int code;
    if (selection_build_plan(&options.selection, &plan, &error))
        code = command_fail(&options.common, "warmup", &error);
    else
        code = options.dry_run ? run_dry(&options, plan) : run_real(&options, plan);
    dsajit_plan_free(plan);
    selection_free(&options.selection);
    return code;
}
