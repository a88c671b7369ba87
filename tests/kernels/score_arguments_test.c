/* What the indexer's scorer refuses, with the right status and a message that names what was wrong;
   and calls of nothing, which it takes. Nothing here is launched. */
#include "score_problem.h"

#include <limits.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

enum { ROWS = 6, REQUESTS = 2, TOKENS = 100 };

/* A good call of a kind, to be spoilt. */
enum kind { GATHERED_FP8, PAGED_MXFP4, DECODE_FP8 };

static void prepare(enum kind kind, struct score_call *call)
{
    static const struct score_layout layouts[] = {
        [GATHERED_FP8] = {0},
        [PAGED_MXFP4] = {.page_tokens = 64},
        [DECODE_FP8] = {.page_tokens = 16, .windows = WINDOWS_OF_LENGTHS},
    };
    const struct score_sizes sizes = {kind == PAGED_MXFP4 ? DSAJIT_INDEXER_MXFP4
                                                          : DSAJIT_INDEXER_FP8,
                                      16, REQUESTS, ROWS / REQUESTS, TOKENS};
    struct score_problem problem;
    score_problem_create(&problem, &sizes);
    score_call_prepare(call, &problem, &layouts[kind]);
    score_problem_free(&problem);
}

struct fault {
    void (*spoil)(struct score_call *call);
    enum kind kind;
    dsajit_status status;
    const char *words[2]; /* that the message must hold: the argument, what it was */
};

static void check_fault(const struct fault *fault, size_t row)
{
    struct score_call call;
    dsajit_text text = {0};
    dsajit_error errors[3] = {0};
    prepare(fault->kind, &call);
    fault->spoil(&call);
    const dsajit_status statuses[] = {
        dsajit_indexer_score_supported(harness_context(), &call.arguments, &errors[0]),
        dsajit_indexer_score_variant(harness_context(), &call.arguments, &text, &errors[1]),
        dsajit_indexer_score(harness_context(), &call.arguments, NULL, &errors[2]),
    };
    for (size_t i = 0; i < 3; i++) {
        if (statuses[i] != fault->status)
            fail_msg("row %zu, call %zu: %s, not %s: %s", row, i, dsajit_status_name(statuses[i]),
                     dsajit_status_name(fault->status), errors[i].message);
        for (size_t w = 0; w < 2; w++)
            if (fault->words[w] && !strstr(errors[i].message, fault->words[w]))
                fail_msg("row %zu doesn't say \"%s\": %s", row, fault->words[w], errors[i].message);
    }
    assert_null(text.data);
    score_call_free(&call);
}

static void check_faults(const struct fault *faults, size_t count)
{
    for (size_t i = 0; i < count; i++)
        check_fault(&faults[i], i);
}

#define FAULT(name, statement)                                                                     \
    static void name(struct score_call *c)                                                         \
    {                                                                                              \
        statement;                                                                                 \
    }
#define CHECK(faults) check_faults(faults, sizeof(faults) / sizeof *(faults))

FAULT(short_struct, c->arguments.struct_size -= 8)
FAULT(no_format, c->arguments.format = (dsajit_indexer_format)2)
FAULT(scale_0, c->arguments.weight_scale = 0)
FAULT(scale_nan, c->arguments.weight_scale = (double)NAN)
FAULT(scale_vast, c->arguments.weight_scale = 1e300)

static void settings_are_refused(void **state)
{
    static const struct fault faults[] = {
        {short_struct, GATHERED_FP8, DSAJIT_ERROR_INVALID_ARGUMENT, {"struct_size"}},
        {no_format, GATHERED_FP8, DSAJIT_ERROR_INVALID_ARGUMENT, {"format", "2"}},
        {scale_0, GATHERED_FP8, DSAJIT_ERROR_INVALID_ARGUMENT, {"weight_scale", "0"}},
        {scale_nan, GATHERED_FP8, DSAJIT_ERROR_INVALID_ARGUMENT, {"weight_scale", "nan"}},
        {scale_vast, PAGED_MXFP4, DSAJIT_ERROR_INVALID_ARGUMENT, {"weight_scale", "1e+300"}},
    };
    (void)state;
    CHECK(faults);
}

FAULT(q_null, c->arguments.q = NULL)
FAULT(q_wide, c->q.tensor.view.dtype.bits = 16)
FAULT(q_rank_2, c->q.tensor.view.ndim = 2)
FAULT(q_64_bytes, c->q.tensor.shape[2] = 64)
FAULT(q_6_heads, c->q.tensor.shape[1] = 6)
FAULT(q_68_heads, c->q.tensor.shape[1] = 68)
FAULT(q_0_heads, c->q.tensor.shape[1] = 0)
FAULT(q_48_heads, c->q.tensor.shape[1] = 48)
FAULT(q_head_gap, c->q.tensor.strides[1] = 144)
FAULT(q_row_gap_8, c->q.tensor.strides[0] += 8)
FAULT(q_misaligned, c->q.tensor.view.byte_offset = 8)
FAULT(q_many_rows, c->q.tensor.shape[0] = INT64_MAX)
FAULT(q_on_host, c->q.tensor.view.device.device_type = kDLCPU)
FAULT(scales_with_fp8, c->arguments.q_scales = c->arguments.q)
FAULT(scales_missing, c->arguments.q_scales = NULL)
FAULT(scales_of_3, c->q_scales.tensor.shape[2] = 3)
FAULT(scales_head_gap, c->q_scales.tensor.strides[1] = 8)
FAULT(weights_null, c->arguments.weights = NULL)
FAULT(weights_f16, c->weights.tensor.view.dtype.bits = 16)
FAULT(weights_of_15, c->weights.tensor.shape[1] = 15)
FAULT(weights_stride, c->weights.tensor.strides[1] = 2)

static void queries_are_refused(void **state)
{
    static const struct fault faults[] = {
        {q_null, GATHERED_FP8, DSAJIT_ERROR_INVALID_ARGUMENT, {"q is NULL"}},
        {q_wide, GATHERED_FP8, DSAJIT_ERROR_UNSUPPORTED, {"q is u16"}},
        {q_rank_2, GATHERED_FP8, DSAJIT_ERROR_UNSUPPORTED, {"q has 2"}},
        {q_64_bytes, GATHERED_FP8, DSAJIT_ERROR_UNSUPPORTED, {"q.shape[2] is 64", "128"}},
        {q_6_heads, GATHERED_FP8, DSAJIT_ERROR_UNSUPPORTED, {"q.shape[1] is 6", "multiple of 4"}},
        {q_68_heads, GATHERED_FP8, DSAJIT_ERROR_UNSUPPORTED, {"q.shape[1] is 68"}},
        {q_0_heads, GATHERED_FP8, DSAJIT_ERROR_UNSUPPORTED, {"q.shape[1] is 0"}},
        {q_48_heads, PAGED_MXFP4, DSAJIT_ERROR_UNSUPPORTED, {"q.shape[1] is 48", "32"}},
        {q_head_gap, GATHERED_FP8, DSAJIT_ERROR_UNSUPPORTED, {"q.strides[1] is 144"}},
        {q_row_gap_8, GATHERED_FP8, DSAJIT_ERROR_UNSUPPORTED, {"q.strides[0]", "16"}},
        {q_misaligned, GATHERED_FP8, DSAJIT_ERROR_UNSUPPORTED, {"q starts at", "16"}},
        {q_many_rows, GATHERED_FP8, DSAJIT_ERROR_UNSUPPORTED, {"q.shape[0]", "2^31 - 1"}},
        {q_on_host, GATHERED_FP8, DSAJIT_ERROR_UNSUPPORTED, {"q is on"}},
        {scales_with_fp8, GATHERED_FP8, DSAJIT_ERROR_INVALID_ARGUMENT, {"q_scales"}},
        {scales_missing, PAGED_MXFP4, DSAJIT_ERROR_INVALID_ARGUMENT, {"q_scales is NULL"}},
        {scales_of_3, PAGED_MXFP4, DSAJIT_ERROR_UNSUPPORTED, {"q_scales.shape[2] is 3"}},
        {scales_head_gap, PAGED_MXFP4, DSAJIT_ERROR_UNSUPPORTED, {"q_scales.strides[1] is 8"}},
        {weights_null, GATHERED_FP8, DSAJIT_ERROR_INVALID_ARGUMENT, {"weights is NULL"}},
        {weights_f16, GATHERED_FP8, DSAJIT_ERROR_UNSUPPORTED, {"weights is f16"}},
        {weights_of_15, GATHERED_FP8, DSAJIT_ERROR_UNSUPPORTED, {"weights.shape[1] is 15", "16"}},
        {weights_stride, GATHERED_FP8, DSAJIT_ERROR_UNSUPPORTED, {"weights.strides[1] is 2"}},
    };
    (void)state;
    CHECK(faults);
}

FAULT(logits_null, c->arguments.logits = NULL)
FAULT(logits_5_rows, c->logits.tensor.shape[0] = 5)
FAULT(logits_vast, c->logits.tensor.shape[1] = (1 << 30) + 1)
FAULT(logits_overlap, c->logits.tensor.strides[0] = TOKENS)
FAULT(keys_null, c->arguments.keys = NULL)
FAULT(keys_64_bytes, c->keys.tensor.shape[1] = 64)
FAULT(keys_gap_2, c->keys.tensor.strides[0] += 2)
FAULT(keys_far_apart, c->keys.tensor.strides[0] = 1 << 24)
FAULT(keys_overlap, c->keys.tensor.strides[0] = 64)
FAULT(key_scales_null, c->arguments.key_scales = NULL)
FAULT(key_scales_u8, c->key_scales.tensor.view.dtype = c->q.tensor.view.dtype)
FAULT(key_scales_few, c->key_scales.tensor.shape[0]--)
FAULT(both_kinds_of_keys, c->arguments.keys = c->arguments.q)
FAULT(table_without_cache, c->arguments.block_table = c->arguments.ends)
FAULT(lens_without_cache, c->arguments.context_lens = c->arguments.ends)
FAULT(requests_without_cache, c->arguments.row_requests = c->arguments.ends)

static void logits_and_gathered_keys_are_refused(void **state)
{
    static const struct fault faults[] = {
        {logits_null, GATHERED_FP8, DSAJIT_ERROR_INVALID_ARGUMENT, {"logits is NULL"}},
        {logits_5_rows, GATHERED_FP8, DSAJIT_ERROR_UNSUPPORTED, {"logits.shape[0] is 5", "6"}},
        {logits_vast, GATHERED_FP8, DSAJIT_ERROR_UNSUPPORTED, {"logits.shape[1]", "2^30"}},
        {logits_overlap, GATHERED_FP8, DSAJIT_ERROR_UNSUPPORTED, {"logits.strides[0] is 100"}},
        {keys_null, GATHERED_FP8, DSAJIT_ERROR_INVALID_ARGUMENT, {"keys is NULL"}},
        {keys_64_bytes, GATHERED_FP8, DSAJIT_ERROR_UNSUPPORTED, {"keys.shape[1] is 64", "128"}},
        {keys_gap_2, GATHERED_FP8, DSAJIT_ERROR_UNSUPPORTED, {"keys.strides[0] is 130", "4"}},
        {keys_far_apart, GATHERED_FP8, DSAJIT_ERROR_UNSUPPORTED, {"keys.strides[0]", "2^24"}},
        {keys_overlap, GATHERED_FP8, DSAJIT_ERROR_UNSUPPORTED, {"keys.strides[0] is 64"}},
        {key_scales_null, GATHERED_FP8, DSAJIT_ERROR_INVALID_ARGUMENT, {"key_scales is NULL"}},
        {key_scales_u8, GATHERED_FP8, DSAJIT_ERROR_UNSUPPORTED, {"key_scales is u8", "f32"}},
        {key_scales_few, GATHERED_FP8, DSAJIT_ERROR_UNSUPPORTED, {"key_scales.shape[0]", "200"}},
        {both_kinds_of_keys, PAGED_MXFP4, DSAJIT_ERROR_INVALID_ARGUMENT, {"keys", "cache"}},
        {table_without_cache, GATHERED_FP8, DSAJIT_ERROR_INVALID_ARGUMENT, {"block_table"}},
        {lens_without_cache, GATHERED_FP8, DSAJIT_ERROR_INVALID_ARGUMENT, {"context_lens"}},
        {requests_without_cache, GATHERED_FP8, DSAJIT_ERROR_INVALID_ARGUMENT, {"row_requests"}},
    };
    (void)state;
    CHECK(faults);
}

FAULT(cache_of_132, c->cache.tensor.shape[2] = 132)
FAULT(page_of_24, c->cache.tensor.shape[1] = 24)
FAULT(page_of_272, c->cache.tensor.shape[1] = 272)
FAULT(page_of_0, c->cache.tensor.shape[1] = 0)
FAULT(pages_overlap, c->cache.tensor.strides[0] -= 4)
FAULT(pages_at_2, c->cache.tensor.strides[0] += 2)
FAULT(cache_misaligned, c->cache.tensor.view.byte_offset = 2)
FAULT(table_null, c->arguments.block_table = NULL)
FAULT(table_i64, c->block_table.tensor.view.dtype.bits = 64)
FAULT(table_stride, c->block_table.tensor.strides[1] = 2)
FAULT(table_vast, c->block_table.tensor.shape[0] = 1ll << 31)
FAULT(table_of_1_request, c->block_table.tensor.shape[0] = 1)

static void caches_and_tables_are_refused(void **state)
{
    static const struct fault faults[] = {
        {cache_of_132, PAGED_MXFP4, DSAJIT_ERROR_UNSUPPORTED, {"cache.shape[2] is 132", "68"}},
        {page_of_24, PAGED_MXFP4, DSAJIT_ERROR_UNSUPPORTED, {"cache.shape[1] is 24"}},
        {page_of_272, PAGED_MXFP4, DSAJIT_ERROR_UNSUPPORTED, {"cache.shape[1] is 272", "256"}},
        {page_of_0, PAGED_MXFP4, DSAJIT_ERROR_UNSUPPORTED, {"cache.shape[1] is 0"}},
        {pages_overlap, PAGED_MXFP4, DSAJIT_ERROR_UNSUPPORTED, {"cache.strides[0] is 4348"}},
        {pages_at_2, PAGED_MXFP4, DSAJIT_ERROR_UNSUPPORTED, {"cache.strides[0] is 4354", "4"}},
        {cache_misaligned, PAGED_MXFP4, DSAJIT_ERROR_UNSUPPORTED, {"cache starts at"}},
        {table_null, PAGED_MXFP4, DSAJIT_ERROR_INVALID_ARGUMENT, {"block_table is NULL"}},
        {table_i64, PAGED_MXFP4, DSAJIT_ERROR_UNSUPPORTED, {"block_table is i64", "i32"}},
        {table_stride, PAGED_MXFP4, DSAJIT_ERROR_UNSUPPORTED, {"block_table.strides[1] is 2"}},
        {table_vast, PAGED_MXFP4, DSAJIT_ERROR_UNSUPPORTED, {"block_table.shape[0]", "2^31"}},
        {table_of_1_request, DECODE_FP8, DSAJIT_ERROR_UNSUPPORTED, {"block_table.shape[0] is 1"}},
    };
    (void)state;
    CHECK(faults);
}

FAULT(no_windows, c->arguments.ends = c->arguments.context_lens = NULL)
FAULT(both_windows, c->arguments.context_lens = c->arguments.ends)
FAULT(ends_i64, c->ends.tensor.view.dtype.bits = 64)
FAULT(ends_of_5, c->ends.tensor.shape[0] = 5)
FAULT(starts_stride, c->starts.tensor.strides[0] = 2)
FAULT(requests_of_7, c->row_requests.tensor.shape[0] = 7)
FAULT(lens_of_4, c->context_lens.tensor.shape[0] = 4)
FAULT(lens_of_0, c->context_lens.tensor.shape[0] = 0)
FAULT(lens_with_requests, c->arguments.row_requests = c->arguments.context_lens)

static void windows_are_refused(void **state)
{
    static const struct fault faults[] = {
        {no_windows, DECODE_FP8, DSAJIT_ERROR_INVALID_ARGUMENT, {"none of ends"}},
        {both_windows, PAGED_MXFP4, DSAJIT_ERROR_INVALID_ARGUMENT, {"both of ends"}},
        {ends_i64, GATHERED_FP8, DSAJIT_ERROR_UNSUPPORTED, {"ends is i64"}},
        {ends_of_5, PAGED_MXFP4, DSAJIT_ERROR_UNSUPPORTED, {"ends.shape[0] is 5", "6"}},
        {starts_stride, GATHERED_FP8, DSAJIT_ERROR_UNSUPPORTED, {"starts.strides[0] is 2"}},
        {requests_of_7, PAGED_MXFP4, DSAJIT_ERROR_UNSUPPORTED, {"row_requests.shape[0] is 7"}},
        {lens_of_4, DECODE_FP8, DSAJIT_ERROR_INVALID_ARGUMENT, {"6 rows", "4 requests"}},
        {lens_of_0, DECODE_FP8, DSAJIT_ERROR_INVALID_ARGUMENT, {"6 rows", "0 requests"}},
        {lens_with_requests, DECODE_FP8, DSAJIT_ERROR_UNSUPPORTED, {"row_requests.shape[0]"}},
    };
    (void)state;
    CHECK(faults);
}

FAULT(no_rows, c->q.tensor.shape[0] = c->weights.tensor.shape[0] = c->logits.tensor.shape[0] =
                   c->starts.tensor.shape[0] = c->ends.tensor.shape[0] = 0)
FAULT(no_columns, c->logits.tensor.shape[1] = 0)
FAULT(no_pages, (c->cache.tensor.shape[0] = 0, c->cache.tensor.view.data = NULL))

/* Succeed, and launch nothing: the variant isn't even compiled. */
static void nothing_to_do_is_done(void **state)
{
    static const struct fault calls[] = {
        {no_rows, GATHERED_FP8, DSAJIT_OK, {0}},
        {no_columns, GATHERED_FP8, DSAJIT_OK, {0}},
        {no_pages, DECODE_FP8, DSAJIT_OK, {0}},
    };
    (void)state;
    for (size_t i = 0; i < sizeof calls / sizeof *calls; i++) {
        struct score_call call;
        dsajit_error error = {0};
        prepare(calls[i].kind, &call);
        calls[i].spoil(&call);
        assert_ok(dsajit_indexer_score(harness_context(), &call.arguments, NULL, &error), &error);
        score_call_free(&call);
    }
}

static void a_call_names_its_variant(void **state)
{
    static const char *const names[] = {
        [GATHERED_FP8] = "indexer_score/gfx950/format=fp8,heads=16,addressing=gathered,clean=0",
        [PAGED_MXFP4] = "indexer_score/gfx950/format=mxfp4,heads=16,addressing=pages,clean=0",
        [DECODE_FP8] = "indexer_score/gfx950/format=fp8,heads=16,addressing=pages,clean=0",
    };
    (void)state;
    for (int kind = GATHERED_FP8; kind <= DECODE_FP8; kind++) {
        struct score_call call;
        dsajit_text text;
        dsajit_error error = {0};
        prepare((enum kind)kind, &call);
        assert_ok(dsajit_indexer_score_variant(harness_context(), &call.arguments, &text, &error),
                  &error);
        assert_string_equal(text.data, names[kind]);
        dsajit_text_free(&text);
        score_call_free(&call);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(settings_are_refused),
        cmocka_unit_test(queries_are_refused),
        cmocka_unit_test(logits_and_gathered_keys_are_refused),
        cmocka_unit_test(caches_and_tables_are_refused),
        cmocka_unit_test(windows_are_refused),
        cmocka_unit_test(nothing_to_do_is_done),
        cmocka_unit_test(a_call_names_its_variant),
    };
    return cmocka_run_group_tests_name("score arguments", tests, harness_open, harness_close);
}
