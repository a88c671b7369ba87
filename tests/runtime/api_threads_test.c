/* R31: 16 threads over the whole API at once, on one context. Meant for the thread sanitizer;
   anywhere else it checks that every call gets its answer. */
#include "harness.h"

#include "dsajit/warmup.h"

#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

enum { THREADS = 16, ROUNDS = 6 };

static struct call call;
static dsajit_plan *plan;
static atomic_int failures;
static atomic_size_t progress_calls;

static void expect(dsajit_status status, const dsajit_error *error)
{
    if (!status)
        return;
    atomic_fetch_add(&failures, 1);
    print_error("%s\n", error->message);
}

static bool count_progress(void *user, const dsajit_warm_progress *progress)
{
    (void)user, (void)progress;
    atomic_fetch_add(&progress_calls, 1);
    return true;
}

static bool take_any(void *user, const char *variant)
{
    (void)user;
    return variant != NULL;
}

static void launch(dsajit_error *error)
{
    expect(dsajit_sparse_mla_supported(harness_context(), &call.arguments, error), error);
    expect(dsajit_sparse_mla_forward(harness_context(), &call.arguments, NULL, error), error);
}

static void warm(dsajit_error *error)
{
    dsajit_warm_options options = DSAJIT_WARM_OPTIONS_DEFAULT;
    options.level = DSAJIT_WARM_RESIDENT;
    options.progress = count_progress;
    dsajit_warm_report report;
    expect(dsajit_warmup(harness_context(), plan, &options, &report, error), error);
    dsajit_warm_report_free(&report);
    expect(dsajit_assert_warm(harness_context(), plan, 0, NULL, error), error);
}

static void ask(dsajit_error *error)
{
    dsajit_text text;
    dsajit_kernel_info info;
    dsajit_compile_counts counts;
    const char *variant = dsajit_plan_variant(plan, 0);
    expect(dsajit_get_source(harness_context(), variant, &text, error), error);
    dsajit_text_free(&text);
    expect(dsajit_get_key(harness_context(), variant, &text, error), error);
    dsajit_text_free(&text);
    expect(dsajit_prepare(harness_context(), variant, &info, error), error);
    expect(dsajit_get_compile_counts(harness_context(), &counts, error), error);
    expect(dsajit_seal(harness_context(), DSAJIT_SEAL_OFF, error), error);
    expect(dsajit_visit_variants("sparse_mla", take_any, NULL, error), error);
}

static void open_and_close(dsajit_error *error)
{
    dsajit_options options = DSAJIT_OPTIONS_DEFAULT;
    options.device = DSAJIT_DEVICE_EMULATOR;
    dsajit_context *own;
    dsajit_status status = dsajit_open(&options, &own, error);
    expect(status, error);
    if (!status)
        dsajit_close(own);
}

static void *use_everything(void *argument)
{
    void (*const uses[])(dsajit_error *) = {launch, warm, ask, open_and_close};
    size_t first = (size_t)(uintptr_t)argument;
    dsajit_error error;
    for (size_t round = 0; round < ROUNDS; round++)
        uses[(first + round) % 4](&error);
    return NULL;
}

static void sixteen_threads_share_a_context(void **state)
{
    (void)state;
    static const int64_t lengths[] = {5};
    const struct layout layout = {0};
    struct problem problem;
    harness_make_problem(&problem, 4, 1, lengths, 10, 0, layout.scale);
    call_prepare(&call, &problem, &layout);
    assert_int_equal(dsajit_plan_create(&plan, NULL), DSAJIT_OK);
    assert_int_equal(
        dsajit_plan_add(plan, "sparse_mla/gfx950/heads=4,has_invalid=0,index=i32,scale=pow2", NULL),
        DSAJIT_OK);
    pthread_t threads[THREADS];
    for (size_t i = 0; i < THREADS; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, use_everything, (void *)i), 0);
    for (size_t i = 0; i < THREADS; i++)
        assert_int_equal(pthread_join(threads[i], NULL), 0);
    assert_int_equal(atomic_load(&failures), 0);
    assert_true(atomic_load(&progress_calls) > 0);
    dsajit_plan_free(plan);
    call_free(&call);
    problem_free(&problem);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sixteen_threads_share_a_context),
    };
    return cmocka_run_group_tests(tests, harness_open, harness_close);
}
