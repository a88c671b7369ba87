#include "dsajit/warmup.h"

#include "compiler/jobs.h"
#include "runtime/code.h"
#include "runtime/environment.h"
#include "runtime/family_launch.h"
#include "runtime/plan.h"
#include "runtime/resident.h"
#include "runtime/text.h"

#include <errno.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

/* The caller hears of the work at least this often. */
enum { HEARTBEAT_MS = 500 };

/* A warmup in progress: workers take the plan's next variant until none is left. Everything below
   `mutex` is guarded by it, but for what a worker writes into the result it is working on. */
struct warmup {
    dsajit_context *context;
    const dsajit_plan *plan;
    dsajit_warm_options options;
    struct timespec begin;
    dsajit_warm_result *results;
    atomic_bool cancelled;
    pthread_mutex_t mutex;
    pthread_cond_t changed;
    size_t next;      /* plan index to take */
    size_t *finished; /* indices in the order they were finished */
    size_t finished_count;
    size_t *running; /* per worker: plan index + 1, or 0 */
    int workers, workers_left;
};

struct worker {
    struct warmup *warmup;
    int index;
    pthread_t thread;
};

static double milliseconds_since(const struct timespec *begin)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)(now.tv_sec - begin->tv_sec) * 1e3 +
           (double)(now.tv_nsec - begin->tv_nsec) / 1e6;
}

/* ---- Workers ---- */

static dsajit_status make_resident(struct warmup *warmup, const struct variant *variant,
                                   dsajit_error *error)
{
    const struct hip *hip = &warmup->context->hip;
    dsajit_status status = DSAJIT_OK;
    for (int device = 0; !status && device < hip->device_count; device++) {
        bool wanted = warmup->options.device < 0 || warmup->options.device == device;
        if (!wanted || hip->devices[device].architecture != variant->architecture)
            continue;
        status = hip_check(hip, hip->table.hipSetDevice(device), "hipSetDevice", error);
        const struct resident *resident;
        if (!status)
            status = resident_get(warmup->context, device, variant, NULL, &resident, error);
        if (!status)
            status = launch_one_token(warmup->context, variant, resident, error);
    }
    return status;
}

static void warm_variant(struct warmup *warmup, struct compiler_worker *compiler, size_t index)
{
    const struct variant *variant = &warmup->plan->items[index].variant;
    dsajit_warm_result *result = &warmup->results[index];
    const struct code_request request = {
        .variant = variant,
        .worker = compiler,
        .timeout_ms = warmup->options.timeout_ms,
        .cancel = &warmup->cancelled,
    };
    struct code code;
    result->start_ms = milliseconds_since(&warmup->begin);
    result->status = code_obtain(warmup->context, &request, &code, &result->error);
    result->compile_ms = milliseconds_since(&warmup->begin) - result->start_ms;
    if (result->status)
        return;
    result->origin = code.info.origin;
    code_free(&code);
    if (warmup->options.level == DSAJIT_WARM_RESIDENT) {
        result->status = make_resident(warmup, variant, &result->error);
        result->resident_ms =
            milliseconds_since(&warmup->begin) - result->start_ms - result->compile_ms;
    }
}

/* Takes the next variant, with the mutex held; false when there is none or the warmup was
 * cancelled. */
static bool take_next(struct warmup *warmup, int worker, size_t *index)
{
    bool taken = warmup->next < warmup->plan->count && !atomic_load(&warmup->cancelled);
    if (taken) {
        *index = warmup->next++;
        warmup->results[*index].worker = worker;
    }
    warmup->running[worker] = taken ? *index + 1 : 0;
    return taken;
}

static void *work(void *argument)
{
    struct worker *worker = argument;
    struct warmup *warmup = worker->warmup;
    struct compiler_worker compiler = {0};
    size_t index;
    pthread_mutex_lock(&warmup->mutex);
    bool taken = take_next(warmup, worker->index, &index);
    while (taken) {
        pthread_mutex_unlock(&warmup->mutex);
        warm_variant(warmup, &compiler, index);
        pthread_mutex_lock(&warmup->mutex);
        warmup->finished[warmup->finished_count++] = index;
        /* In one step, so that whoever hears of this one is told which is next. */
        taken = take_next(warmup, worker->index, &index);
        pthread_cond_signal(&warmup->changed);
    }
    pthread_mutex_unlock(&warmup->mutex);
    compiler_worker_end(&compiler);
    pthread_mutex_lock(&warmup->mutex);
    warmup->workers_left--;
    pthread_cond_signal(&warmup->changed);
    pthread_mutex_unlock(&warmup->mutex);
    return NULL;
}

/* ---- Progress ---- */

/* What the callback is shown, with the mutex held; called without it. `names` has room for every
 * worker. */
static dsajit_warm_progress snapshot(const struct warmup *warmup, size_t told, const char **names)
{
    dsajit_warm_progress progress = {
        .total = warmup->plan->count,
        .done = told,
        .elapsed_ms = milliseconds_since(&warmup->begin),
        .remaining_ms = -1,
        .running = names,
    };
    for (size_t i = 0; i < told; i++) {
        const dsajit_warm_result *result = &warmup->results[warmup->finished[i]];
        progress.failed += result->status != DSAJIT_OK;
        progress.compiled += !result->status && result->origin == DSAJIT_ORIGIN_COMPILED;
    }
    for (int i = 0; i < warmup->workers; i++)
        if (warmup->running[i])
            names[progress.running_count++] = warmup->plan->items[warmup->running[i] - 1].text;
    if (told)
        progress.remaining_ms =
            progress.elapsed_ms / (double)told * (double)(progress.total - told);
    return progress;
}

static void report(struct warmup *warmup, const dsajit_warm_progress *progress)
{
    if (warmup->options.progress &&
        !warmup->options.progress(warmup->options.progress_user, progress))
        atomic_store(&warmup->cancelled, true);
}

/* Waits for the workers and tells the caller about each finished variant, in order. */
static void follow(struct warmup *warmup, const char **names)
{
    size_t told = 0;
    pthread_mutex_lock(&warmup->mutex);
    while (warmup->workers_left > 0 || told < warmup->finished_count) {
        const dsajit_warm_result *finished = NULL;
        if (told < warmup->finished_count) {
            finished = &warmup->results[warmup->finished[told++]];
        } else {
            struct timespec until;
            clock_gettime(CLOCK_MONOTONIC, &until);
            until.tv_nsec += HEARTBEAT_MS * 1000000l;
            until.tv_sec += until.tv_nsec / 1000000000l;
            until.tv_nsec %= 1000000000l;
            if (pthread_cond_timedwait(&warmup->changed, &warmup->mutex, &until) != ETIMEDOUT)
                continue;
        }
        dsajit_warm_progress progress = snapshot(warmup, told, names);
        progress.finished = finished;
        pthread_mutex_unlock(&warmup->mutex);
        report(warmup, &progress);
        pthread_mutex_lock(&warmup->mutex);
    }
    pthread_mutex_unlock(&warmup->mutex);
}

/* ---- The whole ---- */

static dsajit_status run(struct warmup *warmup, struct worker *workers, const char **names,
                         dsajit_error *error)
{
    pthread_condattr_t attributes;
    pthread_condattr_init(&attributes);
    pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
    pthread_mutex_init(&warmup->mutex, NULL);
    pthread_cond_init(&warmup->changed, &attributes);
    pthread_condattr_destroy(&attributes);
    int started = 0;
    warmup->workers_left = warmup->workers;
    for (; started < warmup->workers; started++) {
        workers[started] = (struct worker){.warmup = warmup, .index = started};
        if (pthread_create(&workers[started].thread, NULL, work, &workers[started]))
            break;
    }
    pthread_mutex_lock(&warmup->mutex);
    warmup->workers_left -= warmup->workers - started;
    pthread_mutex_unlock(&warmup->mutex);
    follow(warmup, names);
    for (int i = 0; i < started; i++)
        pthread_join(workers[i].thread, NULL);
    pthread_cond_destroy(&warmup->changed);
    pthread_mutex_destroy(&warmup->mutex);
    if (!started && warmup->workers)
        return error_set(error, DSAJIT_ERROR_OUT_OF_MEMORY, "can't start a thread");
    return DSAJIT_OK;
}

/* Sums the results up; the first failure decides the status. */
static dsajit_status conclude(const struct warmup *warmup, dsajit_warm_report *report,
                              dsajit_error *error)
{
    const dsajit_warm_result *first = NULL;
    report->results = warmup->results;
    report->count = warmup->plan->count;
    report->jobs = warmup->workers;
    report->elapsed_ms = milliseconds_since(&warmup->begin);
    for (size_t i = 0; i < report->count; i++) {
        const dsajit_warm_result *result = &report->results[i];
        report->failed += result->status != DSAJIT_OK;
        report->compiled += !result->status && result->origin == DSAJIT_ORIGIN_COMPILED;
        bool failure = result->status && result->status != DSAJIT_ERROR_CANCELLED;
        if (failure && !first)
            first = result;
    }
    if (first)
        return error_set(error, first->status, "%zu of %zu variants failed; the first: %s",
                         report->failed, report->count, first->error.message);
    if (report->failed)
        return error_set(error, DSAJIT_ERROR_CANCELLED, "cancelled with %zu of %zu variants left",
                         report->failed, report->count);
    return DSAJIT_OK;
}

static dsajit_status check_options(const dsajit_context *context,
                                   const dsajit_warm_options *options, dsajit_error *error)
{
    if (options->struct_size != sizeof *options)
        return error_set(error, DSAJIT_ERROR_INVALID_ARGUMENT,
                         "options.struct_size is %zu, not %zu", options->struct_size,
                         sizeof *options);
    if (options->level != DSAJIT_WARM_COMPILED && options->level != DSAJIT_WARM_RESIDENT)
        return error_set(error, DSAJIT_ERROR_INVALID_ARGUMENT,
                         "options.level is %d; DSAJIT_WARM_COMPILED and DSAJIT_WARM_RESIDENT are "
                         "allowed",
                         (int)options->level);
    if (options->level == DSAJIT_WARM_RESIDENT && context->hip.device_count == 0)
        return error_set(error, DSAJIT_ERROR_NO_DEVICE,
                         "options.level is resident, and this context has no device");
    if (options->device >= context->hip.device_count && options->level == DSAJIT_WARM_RESIDENT)
        return error_set(error, DSAJIT_ERROR_INVALID_ARGUMENT,
                         "options.device is %d; this context has %d", options->device,
                         context->hip.device_count);
    if (options->jobs < 0 || options->timeout_ms < 0)
        return error_set(error, DSAJIT_ERROR_INVALID_ARGUMENT, "options.%s is negative",
                         options->jobs < 0 ? "jobs" : "timeout_ms");
    return DSAJIT_OK;
}

dsajit_status dsajit_warmup(dsajit_context *context, const dsajit_plan *plan,
                            const dsajit_warm_options *given, dsajit_warm_report *result,
                            dsajit_error *error)
{
    dsajit_warm_report local = {0}, *report = result ? result : &local;
    *report = (dsajit_warm_report){0};
    dsajit_status status = context_check(context, error);
    if (status)
        return status;
    if (!plan)
        return error_set(error, DSAJIT_ERROR_INVALID_ARGUMENT, "plan is NULL");
    struct warmup warmup = {
        .context = context,
        .plan = plan,
        .options = given ? *given : (dsajit_warm_options)DSAJIT_WARM_OPTIONS_DEFAULT,
    };
    status = check_options(context, &warmup.options, error);
    if (!status)
        status = environment_complete_jobs(&warmup.options.jobs, error);
    if (status)
        return status;
    clock_gettime(CLOCK_MONOTONIC, &warmup.begin);
    warmup.workers = jobs_limit(warmup.options.jobs);
    if ((size_t)warmup.workers > plan->count)
        warmup.workers = (int)plan->count;
    size_t room = plan->count + (size_t)warmup.workers + 1;
    warmup.results = calloc(room, sizeof *warmup.results);
    warmup.finished = calloc(room, sizeof *warmup.finished);
    warmup.running = calloc(room, sizeof *warmup.running);
    struct worker *workers = calloc(room, sizeof *workers);
    const char **names = calloc(room, sizeof *names);
    uint64_t helpers_before = compiler_start_count();
    if (!warmup.results || !warmup.finished || !warmup.running || !workers || !names) {
        free(warmup.results);
        status = error_set(error, DSAJIT_ERROR_OUT_OF_MEMORY, "no memory for a warmup");
    } else {
        for (size_t i = 0; i < plan->count; i++)
            warmup.results[i] = (dsajit_warm_result){
                .variant = plan->items[i].text,
                .status = DSAJIT_ERROR_CANCELLED,
                .error = {DSAJIT_ERROR_CANCELLED, "not begun"},
            };
        status = run(&warmup, workers, names, error);
        dsajit_status verdict = conclude(&warmup, report, status ? NULL : error);
        status = status ? status : verdict;
        report->helpers_started = compiler_start_count() - helpers_before;
    }
    free(warmup.finished);
    free(warmup.running);
    free(workers);
    free(names);
    dsajit_warm_report_free(&local);
    return status;
}

void dsajit_warm_report_free(dsajit_warm_report *report)
{
    if (!report)
        return;
    free(report->results);
    report->results = NULL;
    report->count = 0;
}

dsajit_status dsajit_assert_warm(const dsajit_context *context, const dsajit_plan *plan, int device,
                                 dsajit_text *missing, dsajit_error *error)
{
    dsajit_status status = context_check(context, error);
    if (missing)
        *missing = (dsajit_text){0};
    if (status)
        return status;
    if (!plan)
        return error_set(error, DSAJIT_ERROR_INVALID_ARGUMENT, "plan is NULL");
    if (device < 0 || device >= context->hip.device_count)
        return error_set(error, DSAJIT_ERROR_INVALID_ARGUMENT, "device is %d; this context has %d",
                         device, context->hip.device_count);
    struct bytes list = {0};
    size_t count = 0;
    for (size_t i = 0; i < plan->count; i++) {
        if (resident_find(context, device, &plan->items[i].variant))
            continue;
        count++;
        bytes_append_format(&list, "%s\n", plan->items[i].text);
    }
    if (count)
        error_set(error, DSAJIT_ERROR_NOT_WARM,
                  "%zu of %zu variants are not resident on device %d; the first: %.*s", count,
                  plan->count, device, (int)strcspn(bytes_text(&list), "\n"), bytes_text(&list));
    if (missing && (status = text_take(&list, missing, error)))
        return status;
    bytes_free(&list);
    return count ? DSAJIT_ERROR_NOT_WARM : DSAJIT_OK;
}
