#include "indexer_report.h"

#include "command.h"
#include "kernel_json.h"

#include <inttypes.h>
#include <stdio.h>

static void print_step(const struct indexer_step *step)
{
    const dsajit_kernel_info *kernel = &step->kernel;
    printf("kernel       %s\n", step->variant.data);
    printf("             from %s, %" PRIu32 " VGPRs, %" PRIu32 " SGPRs, %" PRIu32
           " bytes of LDS, %" PRIu32 " of scratch; %.3f ms\n",
           command_origin_name(kernel->origin), kernel->vgprs, kernel->sgprs, kernel->lds_bytes,
           kernel->scratch_bytes, step->run_ms);
}

static void print_bytes(const struct indexer_bytes *bytes)
{
    if (bytes->wrong)
        printf("%-13s%zu bytes WRONG, the first at %zu\n", bytes->name, bytes->wrong, bytes->first);
    else
        printf("%-13sequal\n", bytes->name);
}

void indexer_report_print(const struct indexer_report *report)
{
    const struct indexer_case *problem = report->problem;
    const struct indexer_comparison *comparison = &report->comparison;
    printf("problem      %" PRId64 " rows of %" PRId64 " requests, %" PRId64 " heads, %" PRId64
           " keys, the best %" PRId64 " of up to %" PRId64 "\n",
           problem->rows, problem->requests, problem->heads, problem->keys, problem->topk,
           problem->max_context);
    printf("device       %s, %s, %s\n", command_device_name(report->device.kind),
           report->device.name, report->device.target);
    for (int i = 0; i < INDEXER_STEPS; i++)
        print_step(&report->execution.steps[i]);
    for (int i = 0; i < INDEXER_BYTES; i++)
        print_bytes(&comparison->bytes[i]);
    printf("logits       %.3e = 1 - 2<x,y> / (<x,x> + <y,y>), %" PRId64 " wrong outside the rows\n",
           comparison->logits_difference, comparison->logits_outside_wrong);
    printf("topk         %" PRId64 " of %" PRId64 " rows wrong\n", comparison->topk_rows_wrong,
           problem->rows);
    printf("result       %s (tolerance: logits %.0e)\n",
           indexer_comparison_right(comparison) ? "right" : "WRONG", INDEXER_LOGITS_TOLERANCE);
}

static json_t *describe_step(const struct indexer_step *step)
{
    json_t *object = json_pack("{s:s, s:s, s:o}", "variant", step->variant.data, "origin",
                               command_origin_name(step->kernel.origin), "run_ms",
                               command_json_number(step->run_ms));
    kernel_json_add(object, &step->kernel);
    return object;
}

static json_t *describe_differences(const struct indexer_comparison *comparison)
{
    json_t *object = json_object();
    for (int i = 0; i < INDEXER_BYTES; i++)
        json_object_set_new(object, comparison->bytes[i].name,
                            json_integer((json_int_t)comparison->bytes[i].wrong));
    json_object_set_new(object, "logits", command_json_number(comparison->logits_difference));
    json_object_set_new(object, "logits_outside", json_integer(comparison->logits_outside_wrong));
    json_object_set_new(object, "topk_rows", json_integer(comparison->topk_rows_wrong));
    return object;
}

void indexer_report_print_json(const struct indexer_report *report)
{
    const struct indexer_case *problem = report->problem;
    const dsajit_device_info *device = &report->device;
    json_t *object = command_json("run indexer");
    json_object_set_new(
        object, "problem",
        json_pack("{s:I, s:I, s:I, s:I, s:I, s:I}", "rows", (json_int_t)problem->rows, "requests",
                  (json_int_t)problem->requests, "heads", (json_int_t)problem->heads, "keys",
                  (json_int_t)problem->keys, "topk", (json_int_t)problem->topk, "max_context",
                  (json_int_t)problem->max_context));
    json_object_set_new(object, "device",
                        json_pack("{s:s, s:s, s:s, s:s}", "kind", command_device_name(device->kind),
                                  "name", device->name, "target", device->target, "library",
                                  device->library));
    json_t *steps = json_array();
    for (int i = 0; i < INDEXER_STEPS; i++)
        json_array_append_new(steps, describe_step(&report->execution.steps[i]));
    json_object_set_new(object, "kernels", steps);
    json_object_set_new(object, "differences", describe_differences(&report->comparison));
    json_object_set_new(object, "tolerance",
                        json_pack("{s:f}", "logits", INDEXER_LOGITS_TOLERANCE));
    json_object_set_new(object, "right",
                        json_boolean(indexer_comparison_right(&report->comparison)));
    command_print_json(object);
}
