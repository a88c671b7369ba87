/* Where the tensors lie changes nothing: every layout gives the bits of the row-major one. */
#include "harness.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

static const int64_t lengths[] = {70, 0, 33, 128};
enum { TOKENS = sizeof lengths / sizeof *lengths, HEADS = 6, SLOTS = 60 };

static struct problem problem;
static struct result plain; /* of `problem`, everything row-major */

static int open_with_problem(void **state)
{
    if (harness_open(state))
        return -1;
    harness_make_problem(&problem, HEADS, TOKENS, lengths, SLOTS, 0.1, DSAJIT_SCALE_POW2);
    harness_run(&problem, &(struct layout){.return_lse = true}, &plain);
    return 0;
}

static int close_with_problem(void **state)
{
    result_free(&plain);
    problem_free(&problem);
    return harness_close(state);
}

static void compare_with_plain(const struct result *result)
{
    assert_memory_equal(result->out, plain.out,
                        sizeof *plain.out * TOKENS * HEADS * DSAJIT_KV_LORA_RANK);
    assert_memory_equal(result->lse, plain.lse, sizeof *plain.lse * TOKENS * HEADS);
}

static void assert_same_bits(struct layout layout)
{
    struct result result;
    layout.return_lse = true;
    harness_run(&problem, &layout, &result);
    compare_with_plain(&result);
    result_free(&result);
}

static void the_row_major_result_is_right(void **state)
{
    (void)state;
    assert_right(&problem, &plain);
}

static void every_shape_of_the_cache(void **state)
{
    (void)state;
    assert_same_bits((struct layout){.kv_rank = 3});
    assert_same_bits((struct layout){.kv_rank = 3, .kv_block = 20});
    assert_same_bits((struct layout){.kv_rank = 3, .kv_block = SLOTS});
    assert_same_bits((struct layout){.kv_rank = 4});
}

static void every_one_byte_type_of_the_cache(void **state)
{
    (void)state;
    static const uint8_t codes[] = {kDLUInt, kDLInt, kDLFloat, kDLOpaqueHandle};
    for (size_t i = 0; i < sizeof codes; i++)
        assert_same_bits((struct layout){.kv_type = {codes[i], 8, 1}});
}

static void a_query_with_gaps(void **state)
{
    (void)state;
    assert_same_bits((struct layout){.q_head_gap = 2});
    assert_same_bits((struct layout){.q_token_gap = 6});
    assert_same_bits((struct layout){.q_head_gap = 64, .q_token_gap = 1000});
}

/* The harness fails when a gap was written. */
static void an_output_with_gaps(void **state)
{
    (void)state;
    assert_same_bits((struct layout){.out_head_gap = 2});
    assert_same_bits((struct layout){.out_token_gap = 10});
    assert_same_bits((struct layout){.out_width = 514});
    assert_same_bits((struct layout){.out_width = 576, .out_head_gap = 4, .out_token_gap = 32});
}

static void bases_that_only_4_divides(void **state)
{
    (void)state;
    for (size_t offset = 4; offset < 16; offset += 4) {
        assert_same_bits((struct layout){.q_offset = offset, .out_offset = 16 - offset});
        assert_same_bits(
            (struct layout){.q_offset = offset, .out_offset = offset, .offset_in_tensor = true});
    }
    assert_same_bits((struct layout){.indptr_offset = 4, .indices_offset = 12});
    assert_same_bits((struct layout){.indptr_bits = 64,
                                     .indices_bits = 64,
                                     .indptr_offset = 8,
                                     .indices_offset = 24,
                                     .offset_in_tensor = true});
}

static void index_tensors_with_strides(void **state)
{
    (void)state;
    assert_same_bits((struct layout){.indices_stride = 2});
    assert_same_bits((struct layout){.indptr_stride = 3});
    assert_same_bits((struct layout){
        .indices_stride = 5, .indptr_stride = 7, .indices_bits = 64, .indptr_bits = 64});
}

static void index_tensors_of_either_width(void **state)
{
    (void)state;
    assert_same_bits((struct layout){.indptr_bits = 64});
    assert_same_bits((struct layout){.indices_bits = 64});
    assert_same_bits((struct layout){.indptr_bits = 64, .indices_bits = 64});
}

static void strides_that_are_null(void **state)
{
    (void)state;
    struct call call;
    struct result result;
    const struct layout layout = {.return_lse = true};
    call_prepare(&call, &problem, &layout);
    struct tensor *tensors[CALL_TENSORS];
    call_list_tensors(&call, tensors);
    for (size_t i = 0; i < CALL_TENSORS; i++)
        tensors[i]->view.strides = NULL;
    call_run(&call, &problem, &layout, &result);
    compare_with_plain(&result);
    result_free(&result);
    call_free(&call);
}

/* Stride 0: one entry that stands for all. */
static void broadcast_index_tensors(void **state)
{
    (void)state;
    int64_t slots[] = {7, 7, 7, 7, 7};
    int64_t bounds[] = {0, 3, 5};
    struct problem repeated = problem;
    repeated.tokens = 2;
    repeated.indptr = bounds;
    repeated.indices = slots;
    repeated.index_count = 5;
    struct call call;
    struct result result;
    const struct layout layout = {.return_lse = true};
    call_prepare(&call, &repeated, &layout);
    call.indices.strides[0] = 0;
    call_run(&call, &repeated, &layout, &result);
    assert_right(&repeated, &result);
    result_free(&result);
    call_free(&call);

    /* All bounds the same: every row is empty. */
    call_prepare(&call, &repeated, &layout);
    call.indptr.strides[0] = 0;
    call_run(&call, &repeated, &layout, &result);
    int64_t empty[] = {0, 0, 0};
    repeated.indptr = empty;
    assert_right(&repeated, &result);
    result_free(&result);
    call_free(&call);
}

static void no_tokens(void **state)
{
    (void)state;
    struct problem none = problem;
    none.tokens = 0;
    struct result result;
    harness_run(&none, &(struct layout){.return_lse = true}, &result);
    result_free(&result);
}

static void no_tokens_and_null_data(void **state)
{
    (void)state;
    struct problem none = problem;
    none.tokens = 0;
    struct call call;
    dsajit_error error = {0};
    call_prepare(&call, &none, &(struct layout){.return_lse = true});
    call.q.view.data = call.out.view.data = call.lse.view.data = NULL;
    assert_ok(dsajit_sparse_mla_forward(harness_context(), &call.arguments, NULL, &error), &error);
    call_free(&call);
}

static void no_indices(void **state)
{
    (void)state;
    int64_t bounds[TOKENS + 1] = {0};
    struct problem empty = problem;
    empty.indptr = bounds;
    empty.index_count = 0;
    assert_runs_right(&empty, &(struct layout){.return_lse = true});
    assert_runs_right(&empty, &(struct layout){.return_lse = true, .indices_bits = 64});
}

static void no_indices_and_null_data(void **state)
{
    (void)state;
    int64_t bounds[TOKENS + 1] = {0};
    struct problem empty = problem;
    empty.indptr = bounds;
    empty.index_count = 0;
    struct call call;
    struct result result;
    const struct layout layout = {.return_lse = true};
    call_prepare(&call, &empty, &layout);
    call.indices.view.data = NULL;
    call_run(&call, &empty, &layout, &result);
    assert_right(&empty, &result);
    result_free(&result);
    call_free(&call);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_row_major_result_is_right),
        cmocka_unit_test(every_shape_of_the_cache),
        cmocka_unit_test(every_one_byte_type_of_the_cache),
        cmocka_unit_test(a_query_with_gaps),
        cmocka_unit_test(an_output_with_gaps),
        cmocka_unit_test(bases_that_only_4_divides),
        cmocka_unit_test(index_tensors_with_strides),
        cmocka_unit_test(index_tensors_of_either_width),
        cmocka_unit_test(strides_that_are_null),
        cmocka_unit_test(broadcast_index_tensors),
        cmocka_unit_test(no_tokens),
        cmocka_unit_test(no_tokens_and_null_data),
        cmocka_unit_test(no_indices),
        cmocka_unit_test(no_indices_and_null_data),
    };
    return cmocka_run_group_tests(tests, open_with_problem, close_with_problem);
}
