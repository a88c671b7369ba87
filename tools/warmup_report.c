#include "warmup_report.h"

#include "command.h"
#include "quantity.h"
#include "warm_result.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

static void print_helpers(const dsajit_warm_report *report)
{
    if (report->helpers_started == 0)
        fputs(" and no helper was started", stdout);
    else
        fputs("; the compiler was started to learn which one it is", stdout);
}

/* One line. */
static void print_summary(const struct warmup_outcome *outcome)
{
    const dsajit_warm_report *report = &outcome->report;
    const char *state = outcome->level == DSAJIT_WARM_RESIDENT ? "resident" : "warm";
    printf("%zu of %zu variants are %s: ", report->count - report->failed, report->count, state);
    if (report->compiled == 0) {
        fputs("nothing had to be compiled", stdout);
        print_helpers(report);
    } else {
        printf("%zu compiled, up to %d at once", report->compiled, report->jobs);
    }
    if (report->failed)
        printf("; %zu are not", report->failed);
    printf(" (%s)\n", duration_format(report->elapsed_ms).text);
}

static void print_json(const struct warmup_outcome *outcome)
{
    const dsajit_warm_report *report = &outcome->report;
    json_t *object = command_json("warmup");
    json_object_set_new(object, "ok", json_boolean(!outcome->error.status));
    json_object_set_new(
        object, "level",
        json_string(outcome->level == DSAJIT_WARM_RESIDENT ? "resident" : "compiled"));
    json_object_set_new(object, "total", json_integer((json_int_t)report->count));
    json_object_set_new(object, "failed", json_integer((json_int_t)report->failed));
    json_object_set_new(object, "compiled", json_integer((json_int_t)report->compiled));
    json_object_set_new(object, "helpers_started",
                        json_integer((json_int_t)report->helpers_started));
    json_object_set_new(object, "jobs", json_integer(report->jobs));
    json_object_set_new(object, "elapsed_ms", command_json_number(report->elapsed_ms));
    json_object_set_new(object, "signal",
                        outcome->signal ? json_integer(outcome->signal) : json_null());
    json_t *results = json_array();
    for (size_t i = 0; i < report->count; i++)
        json_array_append_new(results, warm_result_json(&report->results[i]));
    json_object_set_new(object, "results", results);
    if (outcome->error.status)
        json_object_set_new(object, "error", command_json_error(&outcome->error));
    command_print_json(object);
}

void warmup_report_print(const struct warmup_outcome *outcome, bool json)
{
    if (json)
        print_json(outcome);
    else
        print_summary(outcome);
    if (outcome->signal)
        fprintf(stderr, "dsajit: stopped by SIG%s; what is finished stays, run it again to go on\n",
                sigabbrev_np(outcome->signal));
    else if (outcome->error.status)
        fprintf(stderr, "dsajit: %s\n", outcome->error.message);
}
