/* R48: a context does not survive fork(); the child is told so and can open its own. */
#include "harness.h"

#include "dsajit/warmup.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>
#include <cmocka.h>

static const char variant[] =
    "sparse_mla/gfx950/heads=4,has_invalid=0,return_lse=0,index=i32,scale=pow2,math=bf16";

/* The number of calls that did not answer FORKED. Runs in the child: no assertions here. */
static int count_wrong_answers(struct call *call, const dsajit_plan *plan)
{
    dsajit_context *context = harness_context();
    dsajit_device_info device;
    dsajit_kernel_info kernel;
    dsajit_compile_counts counts;
    dsajit_text text;
    const dsajit_status answers[] = {
        dsajit_get_device_info(context, &device, NULL),
        dsajit_get_source(context, variant, &text, NULL),
        dsajit_get_key(context, variant, &text, NULL),
        dsajit_get_isa(context, variant, &text, NULL),
        dsajit_prepare(context, variant, &kernel, NULL),
        dsajit_sparse_mla_supported(context, &call->arguments, NULL),
        dsajit_sparse_mla_variant(context, &call->arguments, &text, NULL),
        dsajit_sparse_mla_forward(context, &call->arguments, NULL, NULL),
        dsajit_warmup(context, plan, NULL, NULL, NULL),
        dsajit_assert_warm(context, plan, 0, NULL, NULL),
        dsajit_seal(context, DSAJIT_SEAL_OFF, NULL),
        dsajit_get_compile_counts(context, &counts, NULL),
    };
    int wrong = dsajit_hip_symbol(context, "hipMalloc") != NULL;
    for (size_t i = 0; i < sizeof answers / sizeof *answers; i++)
        wrong += answers[i] != DSAJIT_ERROR_FORKED;
    return wrong;
}

/* The child's exit status: 0 when all is as it should be. */
static int live_as_child(struct call *call, const dsajit_plan *plan)
{
    if (count_wrong_answers(call, plan))
        return 1;
    dsajit_options options = DSAJIT_OPTIONS_DEFAULT;
    options.device = DSAJIT_DEVICE_NONE;
    dsajit_context *own;
    dsajit_kernel_info info;
    if (dsajit_open(&options, &own, NULL))
        return 2;
    if (dsajit_prepare(own, variant, &info, NULL))
        return 3;
    dsajit_close(own);
    return 0;
}

static void a_child_is_told_that_the_context_is_its_parents(void **state)
{
    (void)state;
    static const int64_t lengths[] = {5};
    const struct layout layout = {0};
    struct problem problem;
    struct call call;
    dsajit_plan *plan;
    dsajit_error error = {0};
    harness_make_problem(&problem, 4, 1, lengths, 10, 0, layout.scale);
    call_prepare(&call, &problem, &layout);
    assert_ok(dsajit_sparse_mla_forward(harness_context(), &call.arguments, NULL, &error), &error);
    assert_int_equal(dsajit_plan_create(&plan, NULL), DSAJIT_OK);
    assert_int_equal(dsajit_plan_add(plan, variant, NULL), DSAJIT_OK);
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0)
        _exit(live_as_child(&call, plan));
    int status;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), 0);
    /* And the parent's is as good as before. */
    assert_ok(dsajit_sparse_mla_forward(harness_context(), &call.arguments, NULL, &error), &error);
    dsajit_plan_free(plan);
    call_free(&call);
    problem_free(&problem);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_child_is_told_that_the_context_is_its_parents),
    };
    return cmocka_run_group_tests(tests, harness_open, harness_close);
}
