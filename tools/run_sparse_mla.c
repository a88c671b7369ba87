/* dsajit run sparse-mla: options and the course of a run. */
#include "case_directory.h"
#include "command.h"
#include "run_report.h"

#include <stdlib.h>
#include <string.h>

struct run_options {
    struct common_options common;
    dsajit_device_kind device;
    const char *case_directory;
    const char *out_directory;
    const char *shape_option; /* the last option that describes a random problem; or NULL */
    struct problem_shape shape;
    struct execution_options execution;
};

enum {
    OPTION_CASE = 256,
    OPTION_TOKENS,
    OPTION_HEADS,
    OPTION_TOPK,
    OPTION_SLOTS,
    OPTION_SEED,
    OPTION_INVALID,
    OPTION_SCALE,
    OPTION_INDEX,
    OPTION_NO_LSE,
    OPTION_DEVICE,
    OPTION_OUT,
    OPTION_REPEAT
};

static const struct argp_option option_table[] = {
    {NULL, 0, NULL, 0, "The problem:", 1},
    {"case", OPTION_CASE, "DIR", 0,
     "Read it from a folder with case.json, q.bf16.bin, kv.u8.bin, kv_indptr.i32.bin and "
     "kv_indices.i32.bin; out.bf16.bin and lse.f32.bin are compared with, too",
     1},
    {"tokens", OPTION_TOKENS, "T", 0, "Or make a random one: query tokens (4)", 1},
    {"heads", OPTION_HEADS, "H", 0, "Heads, 1 to 16 (16)", 1},
    {"topk", OPTION_TOPK, "K", 0, "Keys of each token (2048)", 1},
    {"slots", OPTION_SLOTS, "N", 0, "Records in the cache (twice topk)", 1},
    {"seed", OPTION_SEED, "S", 0, "The same seed gives the same problem (1)", 1},
    {"invalid", OPTION_INVALID, "P", 0, "Probability that an entry is masked (0)", 1},
    {NULL, 0, NULL, 0, "The variant:", 2},
    {"scale", OPTION_SCALE, "pow2|any", 0,
     "How the records' scales are read, and written in a random problem: pow2 or any (pow2)", 2},
    {"index", OPTION_INDEX, "i32|i64", 0, "Type of the index tensors: i32 or i64 (i32)", 2},
    {"no-lse", OPTION_NO_LSE, NULL, 0, "Leave the log-sum-exp out", 2},
    {NULL, 0, NULL, 0, "The run:", 3},
    {"device", OPTION_DEVICE, "auto|hip|emulator", 0,
     "Where to run: hip, emulator, or auto: on a gfx950 if there is one, else on the emulator "
     "(auto)",
     3},
    {"repeat", OPTION_REPEAT, "R", 0, "Timed launches; the fastest counts (1)", 3},
    {"out", OPTION_OUT, "DIR", 0, "Write out.bf16.bin and lse.f32.bin there", 3},
    {NULL, 0, NULL, 0, "Output:", 4},
    {0},
};

static double parse_probability(const char *text, const struct argp_state *state)
{
    char *end;
    const double value = strtod(text, &end);
    if (end == text || *end || !(value >= 0 && value <= 1))
        argp_error(state, "--invalid is '%s'; a probability from 0 to 1 is allowed", text);
    return value;
}

/* True for `second`, false for `first`. */
static bool parse_choice(const char *name, const char *text, const char *first, const char *second,
                         const struct argp_state *state)
{
    if (strcmp(text, second) == 0)
        return true;
    if (strcmp(text, first) != 0)
        argp_error(state, "--%s is '%s'; %s and %s are allowed", name, text, first, second);
    return false;
}

static error_t parse_shape(int key, const char *argument, struct run_options *options,
                           const struct argp_state *state)
{
    const struct {
        const char *name;
        int64_t least;
        int64_t *value;
    } integers[] = {
        /* As the enumeration has them. */
        {"tokens", 0, &options->shape.tokens},
        {"heads", 1, &options->shape.heads},
        {"topk", 0, &options->shape.topk},
        {"slots", 1, &options->shape.slots},
    };
    if (key >= OPTION_TOKENS && key <= OPTION_SLOTS) {
        const int i = key - OPTION_TOKENS;
        options->shape_option = integers[i].name;
        *integers[i].value =
            command_parse_integer(integers[i].name, argument, integers[i].least, INT32_MAX, state);
        return 0;
    }
    switch (key) {
    case OPTION_SEED:
        options->shape_option = "seed";
        options->shape.seed =
            (uint64_t)command_parse_integer("seed", argument, INT64_MIN, INT64_MAX, state);
        return 0;
    case OPTION_INVALID:
        options->shape_option = "invalid";
        options->shape.invalid = parse_probability(argument, state);
        return 0;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

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
    case OPTION_SCALE:
        options->execution.scale = parse_choice("scale", argument, "pow2", "any", state)
                                       ? DSAJIT_SCALE_ANY
                                       : DSAJIT_SCALE_POW2;
        return 0;
    case OPTION_INDEX:
        options->execution.index_bits =
            parse_choice("index", argument, "i32", "i64", state) ? 64 : 32;
        return 0;
    case OPTION_NO_LSE:
        options->execution.return_lse = false;
        return 0;
    case OPTION_DEVICE:
        options->device = command_parse_device(argument, state);
        return 0;
    case OPTION_OUT:
        options->out_directory = argument;
        return 0;
    case OPTION_REPEAT:
        options->execution.repeat =
            (int)command_parse_integer("repeat", argument, 1, 1000000, state);
        return 0;
    case ARGP_KEY_END:
        if (options->case_directory && options->shape_option)
            argp_error(state, "--case and --%s contradict each other", options->shape_option);
        return 0;
    default:
        return parse_shape(key, argument, options, state);
    }
}

static const struct argp_child children[] = {{&common_argp, 0, NULL, 4}, {0}};

const struct argp sparse_mla_argp = {
    .options = option_table,
    .parser = parse_run,
    .doc = "Run one sparse MLA forward, compare it with a float64 reference, and print the "
           "variant, where its code came from, its resources, the time and the errors. The exit "
           "code is 0 only within the tolerance.",
    .children = children,
};

static dsajit_status get_problem(const struct run_options *options, struct problem *problem,
                                 dsajit_error *error)
{
    if (options->case_directory)
        return case_directory_read(options->case_directory, problem, error);
    struct problem_shape shape = options->shape;
    shape.scale = options->execution.scale;
    if (shape.slots == 0)
        shape.slots = shape.topk > 0 ? 2 * shape.topk : 1;
    return problem_create_random(&shape, problem, error);
}

/* Runs the problem, judges and reports it. `*code` is set on success. */
static dsajit_status run_problem(const struct run_options *options, dsajit_context *context,
                                 const struct problem *problem, int *code, dsajit_error *error)
{
    struct run_report report = {.problem = problem};
    struct reference reference = {0};
    dsajit_status status = dsajit_get_device_info(context, &report.device, error);
    if (!status)
        status = execution_run(context, problem, &options->execution, &report.execution, error);
    if (!status && options->out_directory)
        status = case_directory_write_results(options->out_directory, problem, report.execution.out,
                                              report.execution.lse, error);
    if (!status)
        status = reference_compute(problem, &reference, error);
    if (!status) {
        report.errors =
            comparison_make(problem, &reference, report.execution.out, report.execution.lse);
        if (options->common.json)
            run_report_print_json(&report);
        else
            run_report_print(&report);
        *code = comparison_within(&report.errors) ? EXIT_DONE : EXIT_PROBLEM;
    }
    reference_free(&reference);
    execution_free(&report.execution);
    return status;
}

int run_sparse_mla(int argc, char **argv)
{
    struct run_options options = {
        .device = DSAJIT_DEVICE_AUTO,
        .shape = {.tokens = 4, .heads = 16, .topk = 2048, .seed = 1},
        .execution = {.index_bits = 32, .return_lse = true, .repeat = 1},
    };
    if (argp_parse(&sparse_mla_argp, argc, argv, 0, NULL, &options))
        return EXIT_PROBLEM;
    struct problem problem = {0};
    dsajit_context *context = NULL;
    dsajit_error error;
    int code = EXIT_DONE;
    dsajit_status status = get_problem(&options, &problem, &error);
    if (!status)
        status = command_open(&options.common, options.device, &context, &error);
    if (!status)
        status = run_problem(&options, context, &problem, &code, &error);
    if (status)
        code = command_fail(&options.common, "run sparse-mla", &error);
    dsajit_close(context);
    problem_free(&problem);
    return code;
}
