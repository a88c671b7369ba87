/* dsajit run indexer: options and the course of a run. */
#include "command.h"
#include "indexer_report.h"

struct run_options {
    struct common_options common;
    dsajit_device_kind device;
    const char *case_directory, *out_directory;
};

enum { OPTION_CASE = 256, OPTION_DEVICE, OPTION_OUT };

static const struct argp_option option_table[] = {
    {"case", OPTION_CASE, "DIR", 0,
     "The problem: a folder with case.json, the indexer's inputs and what another implementation "
     "made of them",
     1},
    {"device", OPTION_DEVICE, "KIND", 0,
     "Where to run: hip, emulator, or auto: on a gfx950 if there is one, else on the emulator "
     "(auto)",
     1},
    {"out", OPTION_OUT, "DIR", 0,
     "Write q_bytes, q_scales or weights, cache, logits (f32) and topk there, under the names that "
     "a case has for them",
     1},
    {0},
};

static error_t parse_run(int key, char *argument, struct argp_state *state)
{
    struct run_options *options = state->input;
    switch (key) {
    case ARGP_KEY_INIT:
        state->child_inputs[0] = &options->common;
        return 0;
    case OPTION_CASE:
        options->case_directory = argument;
        return 0;
    case OPTION_DEVICE:
        options->device = command_parse_device(argument, state);
        return 0;
    case OPTION_OUT:
        options->out_directory = argument;
        return 0;
    case ARGP_KEY_END:
        if (!options->case_directory)
            argp_error(state, "which case? --case DIR");
        return 0;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

static const struct argp_child children[] = COMMON_CHILDREN;

const struct argp indexer_argp = {
    .options = option_table,
    .parser = parse_run,
    .doc = "Insert keys into an index cache, quantise queries, score and select, and compare with "
           "what is known: bytes must be equal, logits close, and the selected keys the best, up "
           "to ties. The exit code is 0 only if all of it holds.",
    .children = children,
};

/* Runs the problem, judges and reports it. `*code` is set on success. */
static dsajit_status run_problem(const struct run_options *options, dsajit_context *context,
                                 const struct indexer_case *problem, int *code, dsajit_error *error)
{
    struct indexer_report report = {.problem = problem};
    dsajit_status status = dsajit_get_device_info(context, &report.device, error);
    if (status || (status = indexer_execution_run(context, problem, &report.execution, error)))
        return status;
    if (options->out_directory)
        status = indexer_execution_write(options->out_directory, problem, &report.execution, error);
    if (!status) {
        report.comparison = indexer_comparison_make(problem, &report.execution);
        if (options->common.json)
            indexer_report_print_json(&report);
        else
            indexer_report_print(&report);
        *code = indexer_comparison_right(&report.comparison) ? EXIT_DONE : EXIT_PROBLEM;
    }
    indexer_execution_free(&report.execution);
    return status;
}

int run_indexer(int argc, char **argv)
{
    struct run_options options = {.device = DSAJIT_DEVICE_AUTO};
    if (argp_parse(&indexer_argp, argc, argv, 0, NULL, &options))
        return EXIT_PROBLEM;
    struct indexer_case problem;
    dsajit_context *context = NULL;
    dsajit_error error;
    int code = EXIT_DONE;
    dsajit_status status = indexer_case_read(options.case_directory, &problem, &error);
    if (!status)
        status = command_open(&options.common, options.device, &context, &error);
    if (!status)
        status = run_problem(&options, context, &problem, &code, &error);
    if (status)
        code = command_fail(&options.common, "run indexer", &error);
    dsajit_close(context);
    indexer_case_free(&problem);
    return code;
}
