/* Kernels and stream capture: what is refused, what is not, and how many HIP calls it takes. */
#include "captures.h"
#include "harness.h"
#include "reference.h"

#include "dsajit/warmup.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

static const int64_t lengths[] = {70, 3};
enum { HEADS = 4, TOKENS = 2, SLOTS = 100 };

static void prepare(struct problem *problem, struct call *call, const struct layout *layout)
{
    harness_make_problem(problem, HEADS, TOKENS, lengths, SLOTS, 0, layout->scale);
    call_prepare(call, problem, layout);
}

static void finish(struct problem *problem, struct call *call)
{
    call_free(call);
    problem_free(problem);
}

/* R1, R2: the guard asks for the status itself, and does nothing else. */
static void a_cold_variant_is_refused_on_a_capturing_stream_after_one_query(void **state)
{
    (void)state;
    const struct layout layout = {.return_lse = true};
    struct problem problem;
    struct call call;
    prepare(&problem, &call, &layout);
    hipStream_t stream = create_stream();
    begin_capture(stream);
    reset_counts();
    dsajit_error error = {0};
    assert_int_equal(dsajit_sparse_mla_forward(harness_context(), &call.arguments, stream, &error),
                     DSAJIT_ERROR_NOT_WARM);
    assert_int_equal(count_calls("hipStreamIsCapturing"), 1);
    assert_int_equal(count_calls(NULL), 1);
    assert_non_null(strstr(error.message, "sparse_mla/gfx950/heads=4,has_invalid=0,return_lse=1"));
    end_capture(stream);
    dsajit_compile_counts counts;
    assert_int_equal(dsajit_get_compile_counts(harness_context(), &counts, NULL), DSAJIT_OK);
    assert_int_equal(counts.total, 0);
    assert_int_equal(hip.hipStreamDestroy(stream), hipSuccess);
    finish(&problem, &call);
}

static void a_resident_launch_is_one_hip_call(void **state)
{
    (void)state;
    const struct layout layout = {.return_lse = true};
    struct problem problem;
    struct call call;
    prepare(&problem, &call, &layout);
    assert_int_equal(dsajit_sparse_mla_forward(harness_context(), &call.arguments, NULL, NULL),
                     DSAJIT_OK);
    reset_counts();
    assert_int_equal(dsajit_sparse_mla_forward(harness_context(), &call.arguments, NULL, NULL),
                     DSAJIT_OK);
    assert_int_equal(count_calls("hipModuleLaunchKernel"), 1);
    assert_int_equal(count_calls(NULL), 1);
    finish(&problem, &call);
}

static void checking_a_call_makes_no_hip_call(void **state)
{
    (void)state;
    const struct layout layout = {0};
    struct problem problem;
    struct call call;
    prepare(&problem, &call, &layout);
    reset_counts();
    assert_int_equal(dsajit_sparse_mla_supported(harness_context(), &call.arguments, NULL),
                     DSAJIT_OK);
    assert_int_equal(count_calls(NULL), 0);
    finish(&problem, &call);
}

/* R3: warm is a property of the device. */
static void what_was_warmed_on_one_stream_is_captured_on_another(void **state)
{
    (void)state;
    const struct layout layout = {.return_lse = true};
    struct problem problem;
    struct call call;
    prepare(&problem, &call, &layout);
    hipStream_t warm = create_stream(), capturing = create_stream();
    assert_int_equal(dsajit_sparse_mla_forward(harness_context(), &call.arguments, warm, NULL),
                     DSAJIT_OK);
    begin_capture(capturing);
    assert_int_equal(dsajit_sparse_mla_forward(harness_context(), &call.arguments, capturing, NULL),
                     DSAJIT_OK);
    end_capture(capturing);
    assert_int_equal(hip.hipStreamDestroy(warm), hipSuccess);
    assert_int_equal(hip.hipStreamDestroy(capturing), hipSuccess);
    finish(&problem, &call);
}

/* Loading a module by a thread that isn't in relaxed mode would break another stream's capture. */
static void a_cold_call_elsewhere_leaves_an_open_capture_alone(void **state)
{
    (void)state;
    const struct layout layout = {0};
    struct problem problem;
    struct call call;
    prepare(&problem, &call, &layout);
    hipStream_t capturing = create_stream(), other = create_stream();
    begin_capture(capturing);
    dsajit_error error = {0};
    assert_ok(dsajit_sparse_mla_forward(harness_context(), &call.arguments, other, &error), &error);
    hipStreamCaptureStatus status;
    assert_int_equal(hip.hipStreamIsCapturing(capturing, &status), hipSuccess);
    assert_int_equal(status, hipStreamCaptureStatusActive);
    end_capture(capturing);
    assert_int_equal(hip.hipStreamDestroy(capturing), hipSuccess);
    assert_int_equal(hip.hipStreamDestroy(other), hipSuccess);
    finish(&problem, &call);
}

static void assert_result_right(const struct problem *problem, const struct call *call)
{
    const size_t rows = (size_t)TOKENS * HEADS, width = DSAJIT_KV_LORA_RANK;
    struct result result = {.out = malloc(rows * width * sizeof *result.out),
                            .lse = malloc(rows * sizeof *result.lse)};
    assert_non_null(result.out);
    assert_non_null(result.lse);
    assert_int_equal(hip.hipMemcpy(result.out, call->memory[4], rows * width * sizeof *result.out,
                                   hipMemcpyDeviceToHost),
                     hipSuccess);
    assert_int_equal(hip.hipMemcpy(result.lse, call->memory[5], rows * sizeof *result.lse,
                                   hipMemcpyDeviceToHost),
                     hipSuccess);
    assert_right(problem, &result);
    result_free(&result);
}

static void a_graph_replays_right_on_new_contents_of_its_buffers(void **state)
{
    (void)state;
    const struct layout layout = {.return_lse = true};
    struct problem problem;
    struct call call;
    prepare(&problem, &call, &layout);
    hipStream_t stream = create_stream();
    assert_int_equal(dsajit_sparse_mla_forward(harness_context(), &call.arguments, stream, NULL),
                     DSAJIT_OK);
    begin_capture(stream);
    assert_int_equal(dsajit_sparse_mla_forward(harness_context(), &call.arguments, stream, NULL),
                     DSAJIT_OK);
    hipGraphExec_t graph = end_capture_as_graph(stream);
    for (uint16_t replay = 0; replay < 3; replay++) {
        /* Other queries, by flipping signs, and other keys, by moving the row's slots. */
        const size_t count = (size_t)TOKENS * HEADS * 576;
        for (size_t i = replay; i < count; i += 3)
            problem.q[i] ^= 0x8000;
        int32_t indices[sizeof lengths / sizeof *lengths * 70];
        for (int64_t i = 0; i < problem.index_count; i++) {
            problem.indices[i] = (problem.indices[i] + 1 + replay) % SLOTS;
            indices[i] = (int32_t)problem.indices[i];
        }
        assert_int_equal(hip.hipMemcpy(call.memory[0], problem.q, count * sizeof *problem.q,
                                       hipMemcpyHostToDevice),
                         hipSuccess);
        assert_int_equal(hip.hipMemcpy(call.memory[3], indices,
                                       (size_t)problem.index_count * sizeof *indices,
                                       hipMemcpyHostToDevice),
                         hipSuccess);
        replay_graph(graph, stream);
        assert_result_right(&problem, &call);
    }
    assert_int_equal(hip.hipGraphExecDestroy(graph), hipSuccess);
    assert_int_equal(hip.hipStreamDestroy(stream), hipSuccess);
    finish(&problem, &call);
}

/* R4: asked right before a capture, so it must not disturb one. */
static void assert_warm_lists_what_is_missing_without_a_hip_call(void **state)
{
    (void)state;
    dsajit_plan *plan;
    assert_int_equal(dsajit_plan_create(&plan, NULL), DSAJIT_OK);
    assert_int_equal(dsajit_plan_add(plan,
                                     "sparse_mla/gfx950/heads=4,has_invalid=0,return_lse=0,"
                                     "index=i32",
                                     NULL),
                     DSAJIT_OK);
    assert_int_equal(dsajit_plan_size(plan), 2); /* both scales */
    const struct layout layout = {0};
    struct problem problem;
    struct call call;
    prepare(&problem, &call, &layout);
    assert_int_equal(dsajit_sparse_mla_forward(harness_context(), &call.arguments, NULL, NULL),
                     DSAJIT_OK);
    reset_counts();
    dsajit_text missing;
    dsajit_error error = {0};
    assert_int_equal(dsajit_assert_warm(harness_context(), plan, 0, &missing, &error),
                     DSAJIT_ERROR_NOT_WARM);
    assert_string_equal(missing.data, "sparse_mla/gfx950/heads=4,has_invalid=0,return_lse=0,"
                                      "index=i32,scale=any,math=bf16\n");
    assert_non_null(strstr(error.message, "1 of 2"));
    dsajit_text_free(&missing);
    call.arguments.scale = DSAJIT_SCALE_ANY;
    assert_int_equal(count_calls(NULL), 0);
    assert_int_equal(dsajit_sparse_mla_forward(harness_context(), &call.arguments, NULL, NULL),
                     DSAJIT_OK);
    assert_int_equal(dsajit_assert_warm(harness_context(), plan, 0, &missing, &error), DSAJIT_OK);
    assert_string_equal(missing.data, "");
    dsajit_text_free(&missing);
    assert_int_equal(dsajit_assert_warm(harness_context(), plan, 7, NULL, &error),
                     DSAJIT_ERROR_INVALID_ARGUMENT);
    dsajit_plan_free(plan);
    finish(&problem, &call);
}

/* R5, R6: when warmup returns, kernels are loaded, launched once and waited for. */
static void a_resident_warmup_leaves_nothing_for_the_first_call(void **state)
{
    (void)state;
    dsajit_plan *plan;
    dsajit_error error = {0};
    dsajit_warm_report report;
    dsajit_warm_options options = DSAJIT_WARM_OPTIONS_DEFAULT;
    options.level = DSAJIT_WARM_RESIDENT;
    assert_int_equal(dsajit_plan_create(&plan, NULL), DSAJIT_OK);
    assert_int_equal(
        dsajit_plan_add(plan, "sparse_mla/gfx950/heads=4,has_invalid=0,index=i32,scale=pow2", NULL),
        DSAJIT_OK);
    reset_counts();
    assert_ok(dsajit_warmup(harness_context(), plan, &options, &report, &error), &error);
    assert_int_equal(count_calls("hipModuleLoadData"), 2);
    assert_int_equal(count_calls("hipModuleLaunchKernel"), 2);
    assert_true(count_calls("hipDeviceSynchronize") >= 1);
    assert_true(report.results[0].resident_ms > 0);
    dsajit_warm_report_free(&report);
    assert_ok(dsajit_assert_warm(harness_context(), plan, 0, NULL, &error), &error);
    dsajit_plan_free(plan);

    const struct layout layout = {.return_lse = true};
    struct problem problem;
    struct call call;
    prepare(&problem, &call, &layout);
    hipStream_t stream = create_stream();
    begin_capture(stream);
    reset_counts();
    assert_ok(dsajit_sparse_mla_forward(harness_context(), &call.arguments, stream, &error),
              &error);
    assert_int_equal(count_calls(NULL), 1);
    end_capture(stream);
    assert_int_equal(hip.hipStreamDestroy(stream), hipSuccess);
    finish(&problem, &call);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, captures_open, harness_close)
    const struct CMUnitTest tests[] = {
        TEST(a_cold_variant_is_refused_on_a_capturing_stream_after_one_query),
        TEST(a_resident_launch_is_one_hip_call),
        TEST(checking_a_call_makes_no_hip_call),
        TEST(what_was_warmed_on_one_stream_is_captured_on_another),
        TEST(a_cold_call_elsewhere_leaves_an_open_capture_alone),
        TEST(a_graph_replays_right_on_new_contents_of_its_buffers),
        TEST(a_resident_warmup_leaves_nothing_for_the_first_call),
        TEST(assert_warm_lists_what_is_missing_without_a_hip_call),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
