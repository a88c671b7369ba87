#include "run_report.h"

#include "command.h"
#include "kernel_json.h"
#include "narrow_floats.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>

static bool is_hit(const dsajit_kernel_info *kernel)
{
    return kernel->origin != DSAJIT_ORIGIN_COMPILED;
}

/* Distance from the results that came with the case. */
struct distance {
    bool known;
    double out; /* ||out - theirs|| / ||theirs|| */
    double lse; /* max |lse - theirs| where theirs is finite; NaN without both */
};

static struct distance measure_distance(const struct problem *problem,
                                        const struct execution *execution)
{
    struct distance distance = {.known = problem->expected_out != NULL, .lse = NAN};
    const int64_t rows = problem->tokens * problem->heads;
    if (!distance.known)
        return distance;
    double squares = 0, error_squares = 0;
    for (int64_t i = 0; i < rows * DSAJIT_KV_LORA_RANK; i++) {
        const double theirs = bf16_to_double(problem->expected_out[i]);
        const double difference = bf16_to_double(execution->out[i]) - theirs;
        squares += theirs * theirs;
        error_squares += difference * difference;
    }
    distance.out = error_squares == 0 ? 0 : sqrt(error_squares / squares);
    if (!problem->expected_lse || !execution->lse)
        return distance;
    distance.lse = 0;
    for (int64_t i = 0; i < rows; i++)
        if (isfinite(problem->expected_lse[i]))
            distance.lse =
                fmax(distance.lse, fabs((double)execution->lse[i] - problem->expected_lse[i]));
    return distance;
}

void run_report_print(const struct run_report *report)
{
    const struct problem *problem = report->problem;
    const struct execution *execution = &report->execution;
    const dsajit_kernel_info *kernel = &execution->kernel;
    const struct comparison *errors = &report->errors;
    printf("variant      %s\n", execution->variant.data);
    printf("problem      %" PRId64 " tokens, %" PRId64 " heads, %" PRId64 " entries, %" PRId64
           " slots\n",
           problem->tokens, problem->heads, problem->index_count, problem->slots);
    printf("device       %s, %s, %s\n", command_device_name(report->device.kind),
           report->device.name, report->device.target);
    printf("code         cache %s (%s), compiled in %.0f ms, %" PRIu32 " bytes\n",
           is_hit(kernel) ? "hit" : "miss", command_origin_name(kernel->origin), kernel->compile_ms,
           kernel->code_bytes);
    printf("resources    %" PRIu32 " VGPRs (%" PRIu32 " of them AGPRs), %" PRIu32 " SGPRs, %" PRIu32
           " bytes of LDS, %" PRIu32 " of scratch, %" PRIu32 " spills\n",
           kernel->vgprs, kernel->agprs, kernel->sgprs, kernel->lds_bytes, kernel->scratch_bytes,
           kernel->vgpr_spills + kernel->sgpr_spills);
    printf("time         %.3f ms, after loading in %.3f ms\n", execution->run_ms,
           execution->load_ms);
    printf("out error    %.3e = |out - ref| / |ref|, at most %.3e in one element\n",
           errors->out_relative, errors->out_max);
    if (execution->lse)
        printf("lse error    %.3e at most, %.3e relative\n", errors->lse_max, errors->lse_relative);
    if (errors->empty_rows)
        printf("empty rows   %" PRId64 ", of these %" PRId64 " wrong\n", errors->empty_rows,
               errors->empty_rows_wrong);
    const struct distance distance = measure_distance(problem, execution);
    if (distance.known)
        printf("from theirs  %.3e in out, %.3e in lse, the results that came with the case\n",
               distance.out, distance.lse);
    printf("result       %s (tolerance: out %.1e, lse %.0e)\n",
           comparison_within(errors) ? "right" : "WRONG", COMPARISON_OUT_TOLERANCE,
           COMPARISON_LSE_TOLERANCE);
}

static json_t *describe_kernel(const struct execution *execution)
{
    const dsajit_kernel_info *kernel = &execution->kernel;
    json_t *object = json_pack("{s:b, s:s}", "cache_hit", is_hit(kernel), "origin",
                               command_origin_name(kernel->origin));
    kernel_json_add(object, kernel);
    return object;
}

static json_t *describe_errors(const struct run_report *report)
{
    const struct comparison *errors = &report->errors;
    json_t *object = json_pack(
        "{s:o, s:o, s:I, s:I}", "out_relative", command_json_number(errors->out_relative),
        "out_max", command_json_number(errors->out_max), "empty_rows",
        (json_int_t)errors->empty_rows, "empty_rows_wrong", (json_int_t)errors->empty_rows_wrong);
    if (report->execution.lse) {
        json_object_set_new(object, "lse_max", command_json_number(errors->lse_max));
        json_object_set_new(object, "lse_relative", command_json_number(errors->lse_relative));
    }
    return object;
}

void run_report_print_json(const struct run_report *report)
{
    const struct problem *problem = report->problem;
    const struct execution *execution = &report->execution;
    const dsajit_device_info *device = &report->device;
    json_t *object = command_json("run sparse-mla");
    json_object_set_new(object, "variant", json_string(execution->variant.data));
    json_object_set_new(object, "problem",
                        json_pack("{s:I, s:I, s:I, s:I}", "tokens", (json_int_t)problem->tokens,
                                  "heads", (json_int_t)problem->heads, "entries",
                                  (json_int_t)problem->index_count, "slots",
                                  (json_int_t)problem->slots));
    json_object_set_new(object, "device",
                        json_pack("{s:s, s:s, s:s, s:s}", "kind", command_device_name(device->kind),
                                  "name", device->name, "target", device->target, "library",
                                  device->library));
    json_object_set_new(object, "kernel", describe_kernel(execution));
    json_object_set_new(object, "load_ms", command_json_number(execution->load_ms));
    json_object_set_new(object, "run_ms", command_json_number(execution->run_ms));
    json_object_set_new(object, "errors", describe_errors(report));
    const struct distance distance = measure_distance(problem, execution);
    if (distance.known)
        json_object_set_new(object, "distance_from_case",
                            json_pack("{s:o, s:o}", "out", command_json_number(distance.out), "lse",
                                      command_json_number(distance.lse)));
    json_object_set_new(object, "tolerance",
                        json_pack("{s:f, s:f}", "out_relative", COMPARISON_OUT_TOLERANCE,
                                  "lse_relative", COMPARISON_LSE_TOLERANCE));
    json_object_set_new(object, "within_tolerance",
                        json_boolean(comparison_within(&report->errors)));
    command_print_json(object);
}
