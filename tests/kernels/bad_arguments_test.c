/* Every public function refuses what it must, with the right status and a message that names what
   was wrong. Nothing here is launched. */
#include "harness.h"

#include <dsajit/inspect.h>

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

/* ---- Sparse MLA ---- */

static const int64_t lengths[] = {3, 2};
static struct problem problem;
static struct call good;

static int open_with_call(void **state)
{
    if (harness_open(state))
        return -1;
    harness_make_problem(&problem, 4, 2, lengths, 12, 0, DSAJIT_SCALE_POW2);
    call_prepare(&good, &problem, &(struct layout){.return_lse = true});
    return 0;
}

static int close_with_call(void **state)
{
    call_free(&good);
    problem_free(&problem);
    return harness_close(state);
}

/* One way to spoil a call. */
struct fault {
    void (*spoil)(struct call *call);
    dsajit_status status;
    const char *words[2]; /* that the message must hold: the argument, what it was */
};

/* Gives a copy of the good call, whose tensors point into itself, to `spoil`. */
static void spoil_copy(const struct fault *fault, struct call *call)
{
    *call = good;
    struct tensor *tensors[CALL_TENSORS];
    call_list_tensors(call, tensors);
    for (size_t i = 0; i < CALL_TENSORS; i++) {
        tensors[i]->view.shape = tensors[i]->shape;
        tensors[i]->view.strides = tensors[i]->strides;
    }
    call->arguments.q = &call->q.view;
    call->arguments.kv = &call->kv.view;
    call->arguments.kv_indptr = &call->indptr.view;
    call->arguments.kv_indices = &call->indices.view;
    call->arguments.out = &call->out.view;
    call->arguments.lse = &call->lse.view;
    fault->spoil(call);
}

static void assert_refused(dsajit_status status, const dsajit_error *error,
                           const struct fault *fault, const char *function, size_t row)
{
    if (status != fault->status || error->status != fault->status)
        fail_msg("row %zu: %s gives %s, not %s: %s", row, function, dsajit_status_name(status),
                 dsajit_status_name(fault->status), error->message);
    for (size_t i = 0; i < 2; i++)
        if (fault->words[i] && !strstr(error->message, fault->words[i]))
            fail_msg("row %zu: %s doesn't say \"%s\": %s", row, function, fault->words[i],
                     error->message);
}

/* supported, variant and forward refuse alike. */
static void check_faults(const struct fault *faults, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        struct call call;
        dsajit_text text = {0};
        dsajit_error error;
        spoil_copy(&faults[i], &call);
        error = (dsajit_error){0};
        assert_refused(dsajit_sparse_mla_supported(harness_context(), &call.arguments, &error),
                       &error, &faults[i], "supported", i);
        error = (dsajit_error){0};
        assert_refused(dsajit_sparse_mla_variant(harness_context(), &call.arguments, &text, &error),
                       &error, &faults[i], "variant", i);
        assert_null(text.data);
        error = (dsajit_error){0};
        assert_refused(dsajit_sparse_mla_forward(harness_context(), &call.arguments, NULL, &error),
                       &error, &faults[i], "forward", i);
        /* Without an error to fill, the status is the same. */
        assert_int_equal(dsajit_sparse_mla_supported(harness_context(), &call.arguments, NULL),
                         faults[i].status);
    }
}

#define FAULT(name, statement)                                                                     \
    static void name(struct call *c)                                                               \
    {                                                                                              \
        statement;                                                                                 \
    }

static const DLDataType f16 = {kDLFloat, 16, 1}, i16 = {kDLInt, 16, 1}, u32_type = {kDLUInt, 32, 1},
                        bf16_pairs = {kDLBfloat, 16, 2}, f64 = {kDLFloat, 64, 1};

FAULT(short_struct, c->arguments.struct_size -= 8)
FAULT(zero_struct, c->arguments = (dsajit_sparse_mla_arguments){0})

FAULT(q_null, c->arguments.q = NULL)
FAULT(q_f16, c->q.view.dtype = f16)
FAULT(q_lanes, c->q.view.dtype = bf16_pairs)
FAULT(q_rank_2, c->q.view.ndim = 2)
FAULT(q_rank_4, c->q.view.ndim = 4)
FAULT(q_rank_negative, c->q.view.ndim = -1)
FAULT(q_no_shape, c->q.view.shape = NULL)
FAULT(q_no_data, c->q.view.data = NULL)
FAULT(q_on_host, c->q.view.device.device_type = kDLCPU)
FAULT(q_on_cuda, c->q.view.device.device_type = kDLCUDA)
FAULT(q_on_device_99, c->q.view.device.device_id = 99)
FAULT(q_on_device_minus_1, c->q.view.device.device_id = -1)
FAULT(q_17_heads, c->q.shape[1] = c->out.shape[1] = c->lse.shape[1] = 17)
FAULT(q_0_heads, c->q.shape[1] = c->out.shape[1] = c->lse.shape[1] = 0)
FAULT(q_width_512, c->q.shape[2] = 512)
FAULT(q_negative_tokens, c->q.shape[0] = -2)
FAULT(q_many_tokens, c->q.shape[0] = c->out.shape[0] = c->lse.shape[0] = (int64_t)1 << 40)
FAULT(q_last_stride, c->q.strides[2] = 2)
FAULT(q_odd_head_stride, c->q.strides[1] = 577)
FAULT(q_odd_token_stride, c->q.strides[0] = 4 * 576 + 1)
FAULT(q_misaligned, c->q.view.data = (char *)c->q.view.data + 2)
FAULT(q_misaligned_offset, c->q.view.byte_offset = 2)

static const struct fault query_faults[] = {
    {short_struct, DSAJIT_ERROR_INVALID_ARGUMENT, {"struct_size"}},
    {zero_struct, DSAJIT_ERROR_INVALID_ARGUMENT, {"struct_size"}},
    {q_null, DSAJIT_ERROR_INVALID_ARGUMENT, {"q"}},
    {q_f16, DSAJIT_ERROR_UNSUPPORTED, {"q", "f16"}},
    {q_lanes, DSAJIT_ERROR_UNSUPPORTED, {"q", "(4, 16, 2)"}},
    {q_rank_2, DSAJIT_ERROR_UNSUPPORTED, {"q", "2 dimensions"}},
    {q_rank_4, DSAJIT_ERROR_UNSUPPORTED, {"q", "4 dimensions"}},
    {q_rank_negative, DSAJIT_ERROR_UNSUPPORTED, {"q", "-1 dimensions"}},
    {q_no_shape, DSAJIT_ERROR_INVALID_ARGUMENT, {"q.shape", "NULL"}},
    {q_no_data, DSAJIT_ERROR_INVALID_ARGUMENT, {"q.data", "NULL"}},
    {q_on_host, DSAJIT_ERROR_UNSUPPORTED, {"q", "device (1, 0)"}},
    {q_on_cuda, DSAJIT_ERROR_UNSUPPORTED, {"q", "device (2, 0)"}},
    {q_on_device_99, DSAJIT_ERROR_INVALID_ARGUMENT, {"q", "99"}},
    {q_on_device_minus_1, DSAJIT_ERROR_INVALID_ARGUMENT, {"q", "-1"}},
    {q_17_heads, DSAJIT_ERROR_UNSUPPORTED, {"q.shape[1]", "17"}},
    {q_0_heads, DSAJIT_ERROR_UNSUPPORTED, {"q.shape[1]", "0"}},
    {q_width_512, DSAJIT_ERROR_UNSUPPORTED, {"q.shape[2]", "512"}},
    {q_negative_tokens, DSAJIT_ERROR_INVALID_ARGUMENT, {"q.shape[0]", "-2"}},
    {q_many_tokens, DSAJIT_ERROR_UNSUPPORTED, {"q.shape[0]", "1099511627776"}},
    {q_last_stride, DSAJIT_ERROR_UNSUPPORTED, {"q.strides[2]", "2"}},
    {q_odd_head_stride, DSAJIT_ERROR_UNSUPPORTED, {"q.strides[1]", "577"}},
    {q_odd_token_stride, DSAJIT_ERROR_UNSUPPORTED, {"q.strides[0]", "2305"}},
    {q_misaligned, DSAJIT_ERROR_UNSUPPORTED, {"q", "4"}},
    {q_misaligned_offset, DSAJIT_ERROR_UNSUPPORTED, {"q", "4"}},
};

FAULT(kv_null, c->arguments.kv = NULL)
FAULT(kv_2_bytes, c->kv.view.dtype = f16)
FAULT(kv_rank_1, c->kv.view.ndim = 1)
FAULT(kv_rank_5, c->kv.view.ndim = 5)
FAULT(kv_width_576, c->kv.shape[1] = 576)
FAULT(kv_last_stride, c->kv.strides[1] = 2)
FAULT(kv_pitch, c->kv.strides[0] = 672)
FAULT(kv_misaligned, c->kv.view.data = (char *)c->kv.view.data + 8)
FAULT(kv_on_host, c->kv.view.device.device_type = kDLCPU)
FAULT(kv_on_another_device, c->kv.view.device.device_id = 1)
FAULT(kv_no_data, c->kv.view.data = NULL)

static void set_kv(struct call *c, int rank, const int64_t *shape)
{
    tensor_set(&c->kv, c->kv.view.data, kDLUInt, 8, rank, shape);
}
FAULT(kv_padded_pages, set_kv(c, 3, (int64_t[]){3, 4, 656}); c->kv.strides[0] = 4 * 656 + 16)
FAULT(kv_padded_records, set_kv(c, 3, (int64_t[]){3, 4, 656}); c->kv.strides[1] = 672)
FAULT(kv_block_of_rank_4, set_kv(c, 4, (int64_t[]){3, 4, 1, 656}))
FAULT(kv_heads_of_rank_4, set_kv(c, 4, (int64_t[]){3, 1, 4, 656}))
FAULT(kv_huge_block, set_kv(c, 3, (int64_t[]){1, 4, 656}); c->kv.shape[1] = INT64_MAX)

static const struct fault cache_faults[] = {
    {kv_null, DSAJIT_ERROR_INVALID_ARGUMENT, {"kv"}},
    {kv_2_bytes, DSAJIT_ERROR_UNSUPPORTED, {"kv", "f16"}},
    {kv_rank_1, DSAJIT_ERROR_UNSUPPORTED, {"kv", "1 dimensions"}},
    {kv_rank_5, DSAJIT_ERROR_UNSUPPORTED, {"kv", "5 dimensions"}},
    {kv_width_576, DSAJIT_ERROR_UNSUPPORTED, {"kv.shape[1]", "576"}},
    {kv_last_stride, DSAJIT_ERROR_UNSUPPORTED, {"kv.strides[1]", "2"}},
    {kv_pitch, DSAJIT_ERROR_UNSUPPORTED, {"kv.strides[0]", "672"}},
    {kv_misaligned, DSAJIT_ERROR_UNSUPPORTED, {"kv", "16"}},
    {kv_on_host, DSAJIT_ERROR_UNSUPPORTED, {"kv", "device (1, 0)"}},
    {kv_on_another_device, DSAJIT_ERROR_UNSUPPORTED, {"kv", "device (10, 1)"}},
    {kv_no_data, DSAJIT_ERROR_INVALID_ARGUMENT, {"kv.data", "NULL"}},
    {kv_padded_pages, DSAJIT_ERROR_UNSUPPORTED, {"kv.strides[0]", "2640"}},
    {kv_padded_records, DSAJIT_ERROR_UNSUPPORTED, {"kv.strides[1]", "672"}},
    {kv_block_of_rank_4, DSAJIT_ERROR_UNSUPPORTED, {"kv", "[3, 4, 1, 656]"}},
    {kv_heads_of_rank_4, DSAJIT_ERROR_UNSUPPORTED, {"kv", "[3, 1, 4, 656]"}},
    {kv_huge_block, DSAJIT_ERROR_UNSUPPORTED, {"kv.shape[1]"}},
};

FAULT(indptr_null, c->arguments.kv_indptr = NULL)
FAULT(indptr_short, c->indptr.shape[0] = 2)
FAULT(indptr_long, c->indptr.shape[0] = 4)
FAULT(indptr_i16, c->indptr.view.dtype = i16)
FAULT(indptr_rank_2, c->indptr.view.ndim = 2)
FAULT(indptr_backwards, c->indptr.strides[0] = -1)
FAULT(indptr_on_host, c->indptr.view.device.device_type = kDLCPU)
FAULT(indptr_misaligned, c->indptr.view.byte_offset = 2)
FAULT(indices_null, c->arguments.kv_indices = NULL)
FAULT(indices_u32, c->indices.view.dtype = u32_type)
FAULT(indices_f64, c->indices.view.dtype = f64)
FAULT(indices_rank_2, c->indices.view.ndim = 2)
FAULT(indices_2_to_the_29, c->indices.shape[0] = (int64_t)1 << 29)
FAULT(indices_backwards, c->indices.strides[0] = -1)
FAULT(indices_on_host, c->indices.view.device.device_type = kDLROCMHost)
FAULT(indices_misaligned, c->indices.view.dtype.bits = 64; c->indices.view.byte_offset = 4)

static const struct fault index_faults[] = {
    {indptr_null, DSAJIT_ERROR_INVALID_ARGUMENT, {"kv_indptr"}},
    {indptr_short, DSAJIT_ERROR_INVALID_ARGUMENT, {"kv_indptr", "2 "}},
    {indptr_long, DSAJIT_ERROR_INVALID_ARGUMENT, {"kv_indptr", "4 "}},
    {indptr_i16, DSAJIT_ERROR_UNSUPPORTED, {"kv_indptr", "i16"}},
    {indptr_rank_2, DSAJIT_ERROR_UNSUPPORTED, {"kv_indptr", "2 dimensions"}},
    {indptr_backwards, DSAJIT_ERROR_UNSUPPORTED, {"kv_indptr.strides[0]", "-1"}},
    {indptr_on_host, DSAJIT_ERROR_UNSUPPORTED, {"kv_indptr", "device (1, 0)"}},
    {indptr_misaligned, DSAJIT_ERROR_UNSUPPORTED, {"kv_indptr", "4"}},
    {indices_null, DSAJIT_ERROR_INVALID_ARGUMENT, {"kv_indices"}},
    {indices_u32, DSAJIT_ERROR_UNSUPPORTED, {"kv_indices", "u32"}},
    {indices_f64, DSAJIT_ERROR_UNSUPPORTED, {"kv_indices", "f64"}},
    {indices_rank_2, DSAJIT_ERROR_UNSUPPORTED, {"kv_indices", "2 dimensions"}},
    {indices_2_to_the_29, DSAJIT_ERROR_UNSUPPORTED, {"kv_indices", "536870912"}},
    {indices_backwards, DSAJIT_ERROR_UNSUPPORTED, {"kv_indices.strides[0]", "-1"}},
    {indices_on_host, DSAJIT_ERROR_UNSUPPORTED, {"kv_indices", "device (11, 0)"}},
    {indices_misaligned, DSAJIT_ERROR_UNSUPPORTED, {"kv_indices", "8"}},
};

FAULT(out_null, c->arguments.out = NULL)
FAULT(out_f16, c->out.view.dtype = f16)
FAULT(out_rank_2, c->out.view.ndim = 2)
FAULT(out_other_tokens, c->out.shape[0] = 3)
FAULT(out_other_heads, c->out.shape[1] = 5)
FAULT(out_narrow, c->out.shape[2] = 511)
FAULT(out_last_stride, c->out.strides[2] = 2)
FAULT(out_odd_head_stride, c->out.strides[1] = 513)
FAULT(out_odd_token_stride, c->out.strides[0] = 2049)
FAULT(out_misaligned, c->out.view.byte_offset = 2)
FAULT(out_on_host, c->out.view.device.device_type = kDLCPU)
FAULT(out_no_data, c->out.view.data = NULL)
FAULT(lse_f64, c->lse.view.dtype = f64)
FAULT(lse_rank_3, c->lse.view.ndim = 3)
FAULT(lse_other_tokens, c->lse.shape[0] = 1)
FAULT(lse_other_heads, c->lse.shape[1] = 3)
FAULT(lse_gap, c->lse.strides[0] = 5)
FAULT(lse_transposed, c->lse.strides[0] = 1; c->lse.strides[1] = 2)
FAULT(lse_misaligned, c->lse.view.byte_offset = 2)
FAULT(lse_on_host, c->lse.view.device.device_type = kDLCPU)
FAULT(lse_no_data, c->lse.view.data = NULL)

static const struct fault result_faults[] = {
    {out_null, DSAJIT_ERROR_INVALID_ARGUMENT, {"out"}},
    {out_f16, DSAJIT_ERROR_UNSUPPORTED, {"out", "f16"}},
    {out_rank_2, DSAJIT_ERROR_UNSUPPORTED, {"out", "2 dimensions"}},
    {out_other_tokens, DSAJIT_ERROR_UNSUPPORTED, {"out.shape[0]", "3"}},
    {out_other_heads, DSAJIT_ERROR_UNSUPPORTED, {"out.shape[1]", "5"}},
    {out_narrow, DSAJIT_ERROR_UNSUPPORTED, {"out.shape[2]", "511"}},
    {out_last_stride, DSAJIT_ERROR_UNSUPPORTED, {"out.strides[2]", "2"}},
    {out_odd_head_stride, DSAJIT_ERROR_UNSUPPORTED, {"out.strides[1]", "513"}},
    {out_odd_token_stride, DSAJIT_ERROR_UNSUPPORTED, {"out.strides[0]", "2049"}},
    {out_misaligned, DSAJIT_ERROR_UNSUPPORTED, {"out", "4"}},
    {out_on_host, DSAJIT_ERROR_UNSUPPORTED, {"out", "device (1, 0)"}},
    {out_no_data, DSAJIT_ERROR_INVALID_ARGUMENT, {"out.data", "NULL"}},
    {lse_f64, DSAJIT_ERROR_UNSUPPORTED, {"lse", "f64"}},
    {lse_rank_3, DSAJIT_ERROR_UNSUPPORTED, {"lse", "3 dimensions"}},
    {lse_other_tokens, DSAJIT_ERROR_UNSUPPORTED, {"lse.shape[0]", "1"}},
    {lse_other_heads, DSAJIT_ERROR_UNSUPPORTED, {"lse.shape[1]", "3"}},
    {lse_gap, DSAJIT_ERROR_UNSUPPORTED, {"lse.strides[0]", "5"}},
    {lse_transposed, DSAJIT_ERROR_UNSUPPORTED, {"lse.strides[1]", "2"}},
    {lse_misaligned, DSAJIT_ERROR_UNSUPPORTED, {"lse", "4"}},
    {lse_on_host, DSAJIT_ERROR_UNSUPPORTED, {"lse", "device (1, 0)"}},
    {lse_no_data, DSAJIT_ERROR_INVALID_ARGUMENT, {"lse.data", "NULL"}},
};

FAULT(scale_nan, c->arguments.softmax_scale = NAN)
FAULT(scale_infinite, c->arguments.softmax_scale = INFINITY)
FAULT(scale_beyond_f32, c->arguments.softmax_scale = 1e39)
FAULT(format_unknown, c->arguments.scale = (dsajit_scale_format)2)
FAULT(lora_rank_256, c->arguments.kv_lora_rank = 256)
FAULT(rope_128, c->arguments.qk_rope_head_dim = 128)
FAULT(splits_4, c->arguments.kv_splits = 4)
FAULT(reduce_skipped, c->arguments.skip_reduce = true)
FAULT(dots_in_fp8, c->arguments.dot_precision = DSAJIT_DOT_FP8)
FAULT(with_kv_scale, c->arguments.kv_scale = &c->q.view)
FAULT(with_q_scale, c->arguments.q_scale = &c->q.view)
FAULT(with_sink, c->arguments.attn_sink = &c->q.view)
FAULT(with_extra_kv, c->arguments.extra_kv = &c->q.view)
FAULT(with_extra_indptr, c->arguments.extra_indptr = &c->q.view)
FAULT(with_extra_indices, c->arguments.extra_indices = &c->q.view)
FAULT(with_extra_kv_scale, c->arguments.extra_kv_scale = &c->q.view)
FAULT(with_positions, c->arguments.inv_rope_positions = &c->q.view)
FAULT(with_cos_sin, c->arguments.inv_rope_cos_sin_cache = &c->q.view)
FAULT(with_mxfp8, c->arguments.out_mxfp8 = &c->q.view)

static const struct fault other_faults[] = {
    {scale_nan, DSAJIT_ERROR_INVALID_ARGUMENT, {"softmax_scale", "nan"}},
    {scale_infinite, DSAJIT_ERROR_INVALID_ARGUMENT, {"softmax_scale", "inf"}},
    {scale_beyond_f32, DSAJIT_ERROR_INVALID_ARGUMENT, {"softmax_scale", "1e+39"}},
    {format_unknown, DSAJIT_ERROR_INVALID_ARGUMENT, {"scale", "2"}},
    {lora_rank_256, DSAJIT_ERROR_UNSUPPORTED, {"kv_lora_rank", "256"}},
    {rope_128, DSAJIT_ERROR_UNSUPPORTED, {"qk_rope_head_dim", "128"}},
    {splits_4, DSAJIT_ERROR_UNSUPPORTED, {"kv_splits", "4"}},
    {reduce_skipped, DSAJIT_ERROR_UNSUPPORTED, {"skip_reduce"}},
    {dots_in_fp8, DSAJIT_ERROR_UNSUPPORTED, {"dot_precision", "1"}},
    {with_kv_scale, DSAJIT_ERROR_UNSUPPORTED, {"kv_scale"}},
    {with_q_scale, DSAJIT_ERROR_UNSUPPORTED, {"q_scale"}},
    {with_sink, DSAJIT_ERROR_UNSUPPORTED, {"attn_sink"}},
    {with_extra_kv, DSAJIT_ERROR_UNSUPPORTED, {"extra_kv"}},
    {with_extra_indptr, DSAJIT_ERROR_UNSUPPORTED, {"extra_indptr"}},
    {with_extra_indices, DSAJIT_ERROR_UNSUPPORTED, {"extra_indices"}},
    {with_extra_kv_scale, DSAJIT_ERROR_UNSUPPORTED, {"extra_kv_scale"}},
    {with_positions, DSAJIT_ERROR_UNSUPPORTED, {"inv_rope_positions"}},
    {with_cos_sin, DSAJIT_ERROR_UNSUPPORTED, {"inv_rope_cos_sin_cache"}},
    {with_mxfp8, DSAJIT_ERROR_UNSUPPORTED, {"out_mxfp8"}},
};

#define CHECK_FAULTS(name, faults)                                                                 \
    static void name(void **state)                                                                 \
    {                                                                                              \
        (void)state;                                                                               \
        check_faults(faults, sizeof(faults) / sizeof *(faults));                                   \
    }
CHECK_FAULTS(a_wrong_query_is_refused, query_faults)
CHECK_FAULTS(a_wrong_cache_is_refused, cache_faults)
CHECK_FAULTS(wrong_index_tensors_are_refused, index_faults)
CHECK_FAULTS(wrong_results_are_refused, result_faults)
CHECK_FAULTS(arguments_that_no_kernel_serves_are_refused, other_faults)

/* The widest call that is served, so that the limits above are not too tight. */
FAULT(nothing, (void)c)
static void what_is_just_within_the_limits_is_served(void **state)
{
    (void)state;
    struct call call;
    dsajit_error error = {0};
    const struct fault none = {nothing, DSAJIT_OK, {NULL}};
    spoil_copy(&none, &call);
    assert_ok(dsajit_sparse_mla_supported(harness_context(), &call.arguments, &error), &error);
    call.indices.shape[0] = ((int64_t)1 << 29) - 1;
    call.arguments.kv_lora_rank = 512;
    call.arguments.qk_rope_head_dim = 64;
    call.q.shape[1] = call.out.shape[1] = call.lse.shape[1] = 16;
    call.lse.strides[0] = 16;
    call.arguments.softmax_scale = -1e37;
    assert_ok(dsajit_sparse_mla_supported(harness_context(), &call.arguments, &error), &error);
}

static void the_variant_is_named_without_a_launch(void **state)
{
    (void)state;
    struct call call;
    dsajit_text text = {0};
    dsajit_error error = {0};
    const struct fault none = {nothing, DSAJIT_OK, {NULL}};
    spoil_copy(&none, &call);
    call.arguments.has_invalid = true;
    call.arguments.scale = DSAJIT_SCALE_ANY;
    call.indices.view.dtype.bits = 64;
    assert_ok(dsajit_sparse_mla_variant(harness_context(), &call.arguments, &text, &error), &error);
    assert_string_equal(
        text.data,
        "sparse_mla/gfx950/heads=4,has_invalid=1,return_lse=1,index=i64,scale=any,math=bf16");
    assert_int_equal(text.size, strlen(text.data));
    dsajit_text_free(&text);
}

/* ---- The other functions ---- */

static const char variant[] =
    "sparse_mla/gfx950/heads=4,has_invalid=0,return_lse=0,index=i32,scale=pow2,math=bf16";

static bool ignore_variant(void *user, const char *text)
{
    (void)user;
    (void)text;
    return true;
}

static void assert_says(dsajit_status status, const dsajit_error *error, const char *word)
{
    assert_int_equal(status, DSAJIT_ERROR_INVALID_ARGUMENT);
    assert_int_equal(error->status, DSAJIT_ERROR_INVALID_ARGUMENT);
    if (!strstr(error->message, word))
        fail_msg("\"%s\" is not in: %s", word, error->message);
}

static void a_null_context_is_refused(void **state)
{
    (void)state;
    dsajit_error error = {0};
    dsajit_device_info device;
    dsajit_toolchain_info toolchain;
    dsajit_cache_info cache;
    dsajit_kernel_info kernel;
    dsajit_text text;
    dsajit_close(NULL);
    dsajit_text_free(NULL);
    assert_null(dsajit_hip_symbol(NULL, "hipMalloc"));
    assert_says(dsajit_open(NULL, NULL, &error), &error, "context");
    assert_says(dsajit_get_device_info(NULL, &device, &error), &error, "context");
    assert_says(dsajit_get_toolchain_info(NULL, &toolchain, &error), &error, "context");
    assert_says(dsajit_get_cache_info(NULL, &cache, &error), &error, "context");
    assert_says(dsajit_get_source(NULL, variant, &text, &error), &error, "context");
    assert_says(dsajit_get_key(NULL, variant, &text, &error), &error, "context");
    assert_says(dsajit_get_isa(NULL, variant, &text, &error), &error, "context");
    assert_says(dsajit_prepare(NULL, variant, &kernel, &error), &error, "context");
    assert_says(dsajit_sparse_mla_supported(NULL, &good.arguments, &error), &error, "context");
    assert_says(dsajit_sparse_mla_variant(NULL, &good.arguments, &text, &error), &error, "context");
    assert_says(dsajit_sparse_mla_forward(NULL, &good.arguments, NULL, &error), &error, "context");
}

static void null_results_are_refused(void **state)
{
    (void)state;
    dsajit_context *context = harness_context();
    dsajit_error error = {0};
    dsajit_text text;
    assert_null(dsajit_hip_symbol(context, NULL));
    assert_null(dsajit_hip_symbol(context, "hipNoSuchFunction"));
    assert_says(dsajit_get_device_info(context, NULL, &error), &error, "info");
    assert_says(dsajit_get_toolchain_info(context, NULL, &error), &error, "info");
    assert_says(dsajit_get_cache_info(context, NULL, &error), &error, "info");
    assert_says(dsajit_visit_variants(NULL, NULL, NULL, &error), &error, "function");
    assert_says(dsajit_get_source(context, variant, NULL, &error), &error, "NULL");
    assert_says(dsajit_get_source(context, NULL, &text, &error), &error, "variant");
    assert_says(dsajit_get_key(context, variant, NULL, &error), &error, "NULL");
    assert_says(dsajit_get_isa(context, NULL, &text, &error), &error, "variant");
    assert_says(dsajit_prepare(context, variant, NULL, &error), &error, "NULL");
    assert_says(dsajit_sparse_mla_supported(context, NULL, &error), &error, "arguments");
    assert_says(dsajit_sparse_mla_variant(context, &good.arguments, NULL, &error), &error,
                "variant");
    assert_says(dsajit_sparse_mla_forward(context, NULL, NULL, &error), &error, "arguments");
}

static void wrong_variant_texts_are_refused(void **state)
{
    (void)state;
    static const struct {
        const char *text, *word;
    } wrong[] = {
        {"", "FAMILY/ARCHITECTURE"},
        {"sparse_mla", "FAMILY/ARCHITECTURE"},
        {"dense_mla/gfx950/heads=4", "dense_mla"},
        {"sparse_mla/gfx942/heads=4", "gfx942"},
        {"sparse_mla/gfx950/heads=17,has_invalid=0,return_lse=0,index=i32,scale=pow2,math=bf16",
         "17"},
        {"sparse_mla/gfx950/heads=4,has_invalid=0,return_lse=0,index=i8,scale=pow2,math=bf16",
         "i8"},
        {"sparse_mla/gfx950/heads=4,has_invalid=0,return_lse=0,index=i32,scale=pow2", "math"},
        {"sparse_mla/gfx950/heads=4,heads=4,has_invalid=0,return_lse=0,index=i32,scale=pow2,math="
         "bf16",
         "heads"},
        {"sparse_mla/gfx950/colour=red", "colour"},
    };
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        dsajit_error error = {0};
        dsajit_text text = {0};
        dsajit_kernel_info info;
        assert_says(dsajit_get_source(harness_context(), wrong[i].text, &text, &error), &error,
                    wrong[i].word);
        assert_says(dsajit_prepare(harness_context(), wrong[i].text, &info, &error), &error,
                    wrong[i].word);
        assert_null(text.data);
    }
    dsajit_error error = {0};
    assert_says(dsajit_visit_variants("sparse_mla/gfx950/heads=0", ignore_variant, NULL, &error),
                &error, "heads");
}

static void wrong_options_are_refused(void **state)
{
    (void)state;
    dsajit_error error = {0};
    dsajit_context *context = harness_context();
    dsajit_options options = DSAJIT_OPTIONS_DEFAULT;
    options.struct_size = 4;
    assert_says(dsajit_open(&options, &context, &error), &error, "struct_size");
    assert_null(context);
    options = (dsajit_options)DSAJIT_OPTIONS_DEFAULT;
    options.device = (dsajit_device_kind)9;
    assert_says(dsajit_open(&options, &context, &error), &error, "9");
    options.device = DSAJIT_DEVICE_HIP;
    options.hip_library = "/no/such/libamdhip64.so";
    assert_int_equal(dsajit_open(&options, &context, &error), DSAJIT_ERROR_NO_DEVICE);
    assert_non_null(strstr(error.message, "/no/such/libamdhip64.so"));
    options.hip_library = "libc.so.6"; /* a library, but not HIP's */
    assert_int_equal(dsajit_open(&options, &context, &error), DSAJIT_ERROR_NO_DEVICE);
    assert_non_null(strstr(error.message, "hip"));
    assert_null(context);
}

static void a_context_without_a_device_launches_nothing(void **state)
{
    (void)state;
    dsajit_error error = {0};
    dsajit_context *context;
    dsajit_options options = DSAJIT_OPTIONS_DEFAULT;
    options.device = DSAJIT_DEVICE_NONE;
    assert_ok(dsajit_open(&options, &context, &error), &error);
    assert_null(dsajit_hip_symbol(context, "hipMalloc"));
    assert_says(dsajit_sparse_mla_forward(context, &good.arguments, NULL, &error), &error, "q");
    dsajit_close(context);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_wrong_query_is_refused),
        cmocka_unit_test(a_wrong_cache_is_refused),
        cmocka_unit_test(wrong_index_tensors_are_refused),
        cmocka_unit_test(wrong_results_are_refused),
        cmocka_unit_test(arguments_that_no_kernel_serves_are_refused),
        cmocka_unit_test(what_is_just_within_the_limits_is_served),
        cmocka_unit_test(the_variant_is_named_without_a_launch),
        cmocka_unit_test(a_null_context_is_refused),
        cmocka_unit_test(null_results_are_refused),
        cmocka_unit_test(wrong_variant_texts_are_refused),
        cmocka_unit_test(wrong_options_are_refused),
        cmocka_unit_test(a_context_without_a_device_launches_nothing),
    };
    return cmocka_run_group_tests(tests, open_with_call, close_with_call);
}
