/* https://docs.google.com/document/d/1CvAClvFfyA5R-PhYUmn5OOQtYMh4h6I0nSsKchNAySU defines the
   format. Times are in microseconds. */
#include "trace.h"

#include "command.h"
#include "failure.h"
#include "warm_result.h"

#include <errno.h>

enum { PROCESS = 1 };

static json_t *make_event(const char *phase, const char *name, int thread)
{
    return json_pack("{s:s, s:s, s:i, s:i}", "ph", phase, "name", name, "pid", (int)PROCESS, "tid",
                     thread);
}

static void add_name(json_t *events, const char *kind, int thread, const char *name)
{
    json_t *event = make_event("M", kind, thread);
    json_object_set_new(event, "args", json_pack("{s:s}", "name", name));
    json_array_append_new(events, event);
}

static void add_span(json_t *events, const char *category, const dsajit_warm_result *result,
                     double start_ms, double length_ms)
{
    json_t *event = make_event("X", result->variant, result->worker);
    json_object_set_new(event, "cat", json_string(category));
    json_object_set_new(event, "ts", json_real(start_ms * 1e3));
    json_object_set_new(event, "dur", json_real(length_ms * 1e3));
    json_object_set_new(event, "args", warm_result_json(result));
    json_array_append_new(events, event);
}

static json_t *make_trace(const dsajit_warm_report *report)
{
    json_t *events = json_array();
    add_name(events, "process_name", 0, "dsajit warmup");
    for (int worker = 0; worker < report->jobs; worker++) {
        char name[32];
        snprintf(name, sizeof name, "worker %d", worker);
        add_name(events, "thread_name", worker, name);
    }
    for (size_t i = 0; i < report->count; i++) {
        const dsajit_warm_result *result = &report->results[i];
        const double length_ms = result->compile_ms + result->resident_ms;
        if (result->status == DSAJIT_ERROR_CANCELLED && length_ms == 0)
            continue;
        add_span(events, "variant", result, result->start_ms, length_ms);
        if (result->resident_ms > 0)
            add_span(events, "resident", result, result->start_ms + result->compile_ms,
                     result->resident_ms);
    }
    return json_pack("{s:s, s:o}", "displayTimeUnit", "ms", "traceEvents", events);
}

dsajit_status trace_write(const char *path, const dsajit_warm_report *report, dsajit_error *error)
{
    FILE *file = fopen(path, "we");
    if (!file)
        return failure_set_errno(error, DSAJIT_ERROR_IO, errno, "%s", path);
    json_t *trace = make_trace(report);
    bool good = json_dumpf(trace, file, JSON_COMPACT | JSON_REAL_PRECISION(12)) == 0;
    json_decref(trace);
    good = fclose(file) == 0 && good;
    return good ? DSAJIT_OK : failure_set_errno(error, DSAJIT_ERROR_IO, errno, "writing %s", path);
}
