/* Warmup: what it compiles, what it tells, what it leaves when something goes wrong. */
#include "small_templates.h"

#include "dsajit/warmup.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <cmocka.h>

/* A context with an empty cache and small templates. */
struct fixture {
    char *cache, *templates;
    dsajit_options options;
    dsajit_context *context;
    dsajit_plan *plan;
};

static void open_context(struct fixture *fixture)
{
    dsajit_error error = {0};
    if (dsajit_open(&fixture->options, &fixture->context, &error))
        fail_msg("%s", error.message);
}

static int set_up(void **state)
{
    struct fixture *fixture = calloc(1, sizeof *fixture);
    fixture->cache = make_directory("warm-cache");
    fixture->templates = make_directory("warm-templates");
    write_template(fixture->templates, "");
    fixture->options = (dsajit_options)DSAJIT_OPTIONS_DEFAULT;
    fixture->options.device = DSAJIT_DEVICE_NONE;
    fixture->options.cache_directory = fixture->cache;
    fixture->options.template_directory = fixture->templates;
    open_context(fixture);
    assert_int_equal(dsajit_plan_create(&fixture->plan, NULL), DSAJIT_OK);
    *state = fixture;
    return 0;
}

static int tear_down(void **state)
{
    struct fixture *fixture = *state;
    dsajit_plan_free(fixture->plan);
    dsajit_close(fixture->context);
    free(fixture->cache);
    free(fixture->templates);
    free(fixture);
    return 0;
}

static void plan_heads(struct fixture *fixture, int first, int last)
{
    for (int heads = first; heads <= last; heads++) {
        char text[128];
        snprintf(text, sizeof text,
                 "sparse_mla/gfx950/heads=%d,has_invalid=0,return_lse=0,index=i32,scale=pow2",
                 heads);
        assert_int_equal(dsajit_plan_add(fixture->plan, text, NULL), DSAJIT_OK);
    }
}

static void the_default_plan_is_the_28_variants_of_the_serving_engines(void **state)
{
    struct fixture *fixture = *state;
    assert_int_equal(dsajit_plan_add_default(fixture->plan, NULL), DSAJIT_OK);
    assert_int_equal(dsajit_plan_size(fixture->plan), 28);
    assert_int_equal(dsajit_plan_add_default(fixture->plan, NULL), DSAJIT_OK);
    assert_int_equal(dsajit_plan_size(fixture->plan), 28); /* no variant twice */
    assert_null(dsajit_plan_variant(fixture->plan, 28));
    assert_string_equal(dsajit_plan_variant(fixture->plan, 0),
                        "sparse_mla/gfx950/heads=1,has_invalid=0,return_lse=0,index=i32,"
                        "scale=pow2,math=bf16");
}

/* R11: a warm run starts no helper. */
static void what_is_warm_is_not_compiled_again(void **state)
{
    struct fixture *fixture = *state;
    dsajit_warm_report report;
    plan_heads(fixture, 1, 4);
    assert_int_equal(dsajit_warmup(fixture->context, fixture->plan, NULL, &report, NULL),
                     DSAJIT_OK);
    assert_int_equal(report.count, 4);
    assert_int_equal(report.compiled, 4);
    for (size_t i = 0; i < report.count; i++) {
        assert_string_equal(report.results[i].variant, dsajit_plan_variant(fixture->plan, i));
        assert_int_equal(report.results[i].origin, DSAJIT_ORIGIN_COMPILED);
        assert_true(report.results[i].compile_ms > 0);
    }
    dsajit_warm_report_free(&report);

    dsajit_close(fixture->context);
    open_context(fixture);
    assert_int_equal(dsajit_warmup(fixture->context, fixture->plan, NULL, &report, NULL),
                     DSAJIT_OK);
    assert_int_equal(report.compiled, 0);
    assert_int_equal(report.helpers_started, 0);
    assert_int_equal(report.results[3].origin, DSAJIT_ORIGIN_CACHE);
    dsajit_warm_report_free(&report);
}

static void one_worker_compiles_all_in_one_helper(void **state)
{
    struct fixture *fixture = *state;
    dsajit_warm_options options = DSAJIT_WARM_OPTIONS_DEFAULT;
    dsajit_warm_report report;
    options.jobs = 1;
    plan_heads(fixture, 1, 4);
    assert_int_equal(dsajit_warmup(fixture->context, fixture->plan, &options, &report, NULL),
                     DSAJIT_OK);
    assert_int_equal(report.jobs, 1);
    assert_int_equal(report.helpers_started, 2); /* one more to identify the toolchain */
    dsajit_warm_report_free(&report);
}

static void a_variant_that_fails_stops_no_other(void **state)
{
    struct fixture *fixture = *state;
    dsajit_warm_report report;
    dsajit_error error = {0};
    write_template(fixture->templates, "static_assert(variant::heads != 2, \"two heads\");");
    plan_heads(fixture, 1, 3);
    assert_int_equal(dsajit_warmup(fixture->context, fixture->plan, NULL, &report, &error),
                     DSAJIT_ERROR_COMPILE);
    assert_non_null(strstr(error.message, "1 of 3"));
    assert_non_null(strstr(error.message, "heads=2"));
    assert_int_equal(report.failed, 1);
    assert_int_equal(report.compiled, 2);
    assert_int_equal(report.results[0].status, DSAJIT_OK);
    assert_int_equal(report.results[1].status, DSAJIT_ERROR_COMPILE);
    assert_non_null(strstr(report.results[1].error.message, "heads=2"));
    assert_int_equal(report.results[2].status, DSAJIT_OK);
    dsajit_warm_report_free(&report);
}

/* ---- Progress ---- */

struct watch {
    size_t calls, heartbeats, finished, cancel_after;
    double last_ms, longest_gap_ms;
    bool named_what_runs;
};

static bool watch_progress(void *user, const dsajit_warm_progress *progress)
{
    struct watch *watch = user;
    double gap = progress->elapsed_ms - watch->last_ms;
    watch->longest_gap_ms = gap > watch->longest_gap_ms ? gap : watch->longest_gap_ms;
    watch->last_ms = progress->elapsed_ms;
    watch->calls++;
    if (progress->finished)
        watch->finished++;
    else
        watch->heartbeats++;
    if (progress->running_count && strstr(progress->running[0], "sparse_mla/gfx950/heads="))
        watch->named_what_runs = true;
    assert_int_equal(progress->done, watch->finished);
    return !watch->cancel_after || watch->finished < watch->cancel_after;
}

static void each_finished_variant_is_told_once(void **state)
{
    struct fixture *fixture = *state;
    struct watch watch = {0};
    dsajit_warm_options options = DSAJIT_WARM_OPTIONS_DEFAULT;
    options.progress = watch_progress;
    options.progress_user = &watch;
    plan_heads(fixture, 1, 5);
    assert_int_equal(dsajit_warmup(fixture->context, fixture->plan, &options, NULL, NULL),
                     DSAJIT_OK);
    assert_int_equal(watch.finished, 5);
}

/* Finished variants stay; the next warmup does the rest. */
static void a_cancelled_warmup_is_resumed(void **state)
{
    struct fixture *fixture = *state;
    struct watch watch = {.cancel_after = 2};
    dsajit_warm_options options = DSAJIT_WARM_OPTIONS_DEFAULT;
    dsajit_warm_report report;
    dsajit_error error = {0};
    options.jobs = 1;
    options.progress = watch_progress;
    options.progress_user = &watch;
    plan_heads(fixture, 1, 8);
    assert_int_equal(dsajit_warmup(fixture->context, fixture->plan, &options, &report, &error),
                     DSAJIT_ERROR_CANCELLED);
    size_t before = report.compiled;
    assert_true(before >= 2 && before < 8);
    assert_int_equal(report.failed, 8 - before);
    assert_int_equal(report.results[7].status, DSAJIT_ERROR_CANCELLED);
    assert_string_equal(report.results[7].error.message, "not begun");
    dsajit_warm_report_free(&report);

    assert_int_equal(dsajit_warmup(fixture->context, fixture->plan, NULL, &report, NULL),
                     DSAJIT_OK);
    assert_int_equal(report.compiled, 8 - before);
    dsajit_warm_report_free(&report);
}

/* R9, R11: a helper that hangs is given up after the variant's time limit, and meanwhile the caller
   hears at least once a second what is running. The toolchain is identified by the real helper
   first. */
static void a_hanging_compile_times_out_while_the_caller_is_kept_informed(void **state)
{
    struct fixture *fixture = *state;
    struct watch watch = {0};
    dsajit_warm_options options = DSAJIT_WARM_OPTIONS_DEFAULT;
    dsajit_warm_report report;
    dsajit_error error = {0};
    plan_heads(fixture, 1, 1);
    assert_int_equal(dsajit_warmup(fixture->context, fixture->plan, NULL, NULL, NULL), DSAJIT_OK);
    dsajit_close(fixture->context);
    fixture->options.compiler = HANGING_HELPER;
    open_context(fixture);
    plan_heads(fixture, 2, 2);
    options.timeout_ms = 2500;
    options.progress = watch_progress;
    options.progress_user = &watch;
    assert_int_equal(dsajit_warmup(fixture->context, fixture->plan, &options, &report, &error),
                     DSAJIT_ERROR_TIMEOUT);
    assert_int_equal(report.results[0].status, DSAJIT_OK);
    assert_int_equal(report.results[1].status, DSAJIT_ERROR_TIMEOUT);
    assert_true(watch.heartbeats >= 2);
    assert_true(watch.named_what_runs);
    dsajit_warm_report_free(&report);
}

static void cancelling_kills_a_running_compile(void **state)
{
    struct fixture *fixture = *state;
    struct watch watch = {.cancel_after = 1};
    dsajit_warm_options options = DSAJIT_WARM_OPTIONS_DEFAULT;
    dsajit_warm_report report;
    plan_heads(fixture, 1, 1);
    assert_int_equal(dsajit_warmup(fixture->context, fixture->plan, NULL, NULL, NULL), DSAJIT_OK);
    dsajit_close(fixture->context);
    fixture->options.compiler = HANGING_HELPER;
    open_context(fixture);
    plan_heads(fixture, 2, 2);
    options.jobs = 1;
    options.progress = watch_progress; /* true until the cached variant is finished */
    options.progress_user = &watch;
    struct timespec begin, end;
    clock_gettime(CLOCK_MONOTONIC, &begin);
    assert_int_equal(dsajit_warmup(fixture->context, fixture->plan, &options, &report, NULL),
                     DSAJIT_ERROR_CANCELLED);
    clock_gettime(CLOCK_MONOTONIC, &end);
    assert_int_equal(report.results[1].status, DSAJIT_ERROR_CANCELLED);
    assert_true(end.tv_sec - begin.tv_sec < 60); /* not the compile's 120 s */
    dsajit_warm_report_free(&report);
}

static void options_that_make_no_sense_are_refused(void **state)
{
    struct fixture *fixture = *state;
    static const struct {
        dsajit_warm_options options;
        dsajit_status status;
        const char *named;
    } cases[] = {
        {{.struct_size = 1}, DSAJIT_ERROR_INVALID_ARGUMENT, "struct_size"},
        {{.struct_size = sizeof(dsajit_warm_options), .level = 7},
         DSAJIT_ERROR_INVALID_ARGUMENT,
         "level"},
        {{.struct_size = sizeof(dsajit_warm_options), .level = DSAJIT_WARM_RESIDENT},
         DSAJIT_ERROR_NO_DEVICE,
         "level"},
        {{.struct_size = sizeof(dsajit_warm_options), .jobs = -1},
         DSAJIT_ERROR_INVALID_ARGUMENT,
         "jobs"},
        {{.struct_size = sizeof(dsajit_warm_options), .timeout_ms = -1},
         DSAJIT_ERROR_INVALID_ARGUMENT,
         "timeout_ms"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        dsajit_error error = {0};
        assert_int_equal(
            dsajit_warmup(fixture->context, fixture->plan, &cases[i].options, NULL, &error),
            cases[i].status);
        assert_non_null(strstr(error.message, cases[i].named));
    }
    assert_int_equal(dsajit_warmup(fixture->context, NULL, NULL, NULL, NULL),
                     DSAJIT_ERROR_INVALID_ARGUMENT);
    assert_int_equal(dsajit_warmup(NULL, fixture->plan, NULL, NULL, NULL),
                     DSAJIT_ERROR_INVALID_ARGUMENT);
}

/* ---- Seals ---- */

struct log {
    size_t warnings;
    char last[1024];
};

static void keep_log(void *user, dsajit_log_level level, const char *message)
{
    struct log *log = user;
    if (level != DSAJIT_LOG_WARNING)
        return;
    log->warnings++;
    snprintf(log->last, sizeof log->last, "%s", message);
}

static const char two_heads[] =
    "sparse_mla/gfx950/heads=2,has_invalid=0,return_lse=0,index=i32,scale=pow2,math=bf16";
static const char three_heads[] =
    "sparse_mla/gfx950/heads=3,has_invalid=0,return_lse=0,index=i32,scale=pow2,math=bf16";

/* R7. */
static void after_a_seal_a_compile_is_an_error_that_names_key_and_directory(void **state)
{
    struct fixture *fixture = *state;
    dsajit_kernel_info info;
    dsajit_error error = {0};
    assert_int_equal(dsajit_prepare(fixture->context, two_heads, &info, NULL), DSAJIT_OK);
    assert_int_equal(dsajit_seal(fixture->context, DSAJIT_SEAL_ERROR, NULL), DSAJIT_OK);
    assert_int_equal(dsajit_prepare(fixture->context, two_heads, &info, NULL), DSAJIT_OK);
    assert_int_equal(dsajit_prepare(fixture->context, three_heads, &info, &error),
                     DSAJIT_ERROR_SEALED);
    assert_non_null(strstr(error.message, three_heads));
    assert_non_null(strstr(error.message, fixture->cache));
    assert_int_equal(dsajit_seal(fixture->context, DSAJIT_SEAL_OFF, NULL), DSAJIT_OK);
    assert_int_equal(dsajit_prepare(fixture->context, three_heads, &info, NULL), DSAJIT_OK);
}

static void a_warning_seal_counts_and_names_each_compile(void **state)
{
    struct fixture *fixture = *state;
    struct log log = {0};
    dsajit_kernel_info info;
    dsajit_compile_counts counts;
    dsajit_close(fixture->context);
    fixture->options.log = keep_log;
    fixture->options.log_user = &log;
    open_context(fixture);
    assert_int_equal(dsajit_prepare(fixture->context, two_heads, &info, NULL), DSAJIT_OK);
    assert_int_equal(dsajit_seal(fixture->context, DSAJIT_SEAL_WARN, NULL), DSAJIT_OK);
    assert_int_equal(dsajit_prepare(fixture->context, three_heads, &info, NULL), DSAJIT_OK);
    assert_int_equal(dsajit_prepare(fixture->context, three_heads, &info, NULL), DSAJIT_OK);
    assert_int_equal(log.warnings, 1);
    assert_non_null(strstr(log.last, three_heads));
    assert_int_equal(dsajit_get_compile_counts(fixture->context, &counts, NULL), DSAJIT_OK);
    assert_int_equal(counts.total, 2);
    assert_int_equal(counts.sealed, 1);
}

static void strict_mode_never_compiles_and_cannot_be_left(void **state)
{
    struct fixture *fixture = *state;
    dsajit_kernel_info info;
    dsajit_error error = {0};
    dsajit_close(fixture->context);
    fixture->options.strict = true;
    open_context(fixture);
    assert_int_equal(dsajit_prepare(fixture->context, two_heads, &info, &error),
                     DSAJIT_ERROR_SEALED);
    assert_non_null(strstr(error.message, "strict"));
    assert_int_equal(dsajit_seal(fixture->context, DSAJIT_SEAL_OFF, NULL), DSAJIT_ERROR_SEALED);
}

/* A compiler that can't even say what it is must not keep a server from what was prebuilt. */
static void a_hanging_toolchain_costs_a_warning_where_the_kernel_is_prebuilt(void **state)
{
    struct fixture *fixture = *state;
    struct log log = {0};
    dsajit_kernel_info info;
    dsajit_error error = {0};
    assert_int_equal(dsajit_prepare(fixture->context, two_heads, &info, NULL), DSAJIT_OK);
    dsajit_close(fixture->context);
    char *empty = make_directory("empty-cache");
    const char *const prebuilt[] = {fixture->cache, NULL};
    fixture->options.cache_directory = empty;
    fixture->options.prebuilt = prebuilt;
    fixture->options.compiler = HANGING_HELPER;
    fixture->options.compile_timeout_ms = 300;
    fixture->options.log = keep_log;
    fixture->options.log_user = &log;
    open_context(fixture);
    if (dsajit_prepare(fixture->context, two_heads, &info, &error))
        fail_msg("%s", error.message);
    assert_int_equal(info.origin, DSAJIT_ORIGIN_PREBUILT);
    assert_int_equal(log.warnings, 1);
    assert_non_null(strstr(log.last, "toolchain"));
    assert_int_equal(dsajit_prepare(fixture->context, three_heads, &info, NULL),
                     DSAJIT_ERROR_TIMEOUT);
    free(empty);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        TEST(the_default_plan_is_the_28_variants_of_the_serving_engines),
        TEST(what_is_warm_is_not_compiled_again),
        TEST(one_worker_compiles_all_in_one_helper),
        TEST(a_variant_that_fails_stops_no_other),
        TEST(each_finished_variant_is_told_once),
        TEST(a_cancelled_warmup_is_resumed),
        TEST(a_hanging_compile_times_out_while_the_caller_is_kept_informed),
        TEST(cancelling_kills_a_running_compile),
        TEST(options_that_make_no_sense_are_refused),
        TEST(after_a_seal_a_compile_is_an_error_that_names_key_and_directory),
        TEST(a_warning_seal_counts_and_names_each_compile),
        TEST(a_hanging_toolchain_costs_a_warning_where_the_kernel_is_prebuilt),
        TEST(strict_mode_never_compiles_and_cannot_be_left),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
