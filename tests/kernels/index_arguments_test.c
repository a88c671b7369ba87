/* The calls of dsajit/indexer.h refuse what they must, with the right status and a message that
   names what was wrong; and say which variant a call is. Nothing here is launched. */
#include "operand.h"

#include <dsajit/indexer.h>

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

/* A good call of each kind, spoiled by one test row at a time. */
static struct tensor k, slots, cache, weight, bias, q, v, bytes, scales, weights;
static struct tensor latent, rope, records, ids, logits, starts, packed, candidates, global, local;
static struct tensor partial, lse, out, merged;
static dsajit_indexer_key_arguments key;
static dsajit_indexer_query_arguments query;
static dsajit_mla_cache_write_arguments writing;
static dsajit_dcp_ids_arguments convert;
static dsajit_dcp_pack_arguments pack;
static dsajit_dcp_topk_arguments topk;
static dsajit_dcp_attention_arguments attention;

/* A row-major tensor at an address that is never used. */
static void set(struct tensor *tensor, DLDataTypeCode code, int bits, int rank,
                const int64_t *shape)
{
    tensor_set(tensor, (void *)(uintptr_t)0x10000, code, bits, rank, shape);
}

static void set_keys(void)
{
    set(&k, kDLBfloat, 16, 2, (int64_t[]){9, 128});
    set(&slots, kDLInt, 64, 1, (int64_t[]){7});
    set(&cache, kDLUInt, 8, 3, (int64_t[]){3, 64, 132});
    set(&weight, kDLFloat, 32, 1, (int64_t[]){128});
    set(&bias, kDLFloat, 32, 1, (int64_t[]){128});
    set(&latent, kDLBfloat, 16, 2, (int64_t[]){9, 512});
    set(&rope, kDLBfloat, 16, 2, (int64_t[]){9, 64});
    set(&records, kDLUInt, 8, 3, (int64_t[]){3, 64, 656});
    key = (dsajit_indexer_key_arguments){
        .struct_size = sizeof key,
        .index_k = &k.view,
        .slot_mapping = &slots.view,
        .cache = &cache.view,
        .norm = DSAJIT_KEY_NORM_LAYERNORM,
        .norm_weight = &weight.view,
        .norm_bias = &bias.view,
        .norm_eps = 1e-5,
    };
    writing = (dsajit_mla_cache_write_arguments){
        .struct_size = sizeof writing,
        .kv_c = &latent.view,
        .k_pe = &rope.view,
        .slot_mapping = &slots.view,
        .cache = &records.view,
    };
}

static void set_queries(void)
{
    set(&q, kDLBfloat, 16, 3, (int64_t[]){5, 32, 128});
    set(&v, kDLBfloat, 16, 2, (int64_t[]){5, 32});
    set(&bytes, kDLUInt, 8, 3, (int64_t[]){5, 32, 64});
    set(&scales, kDLUInt, 8, 3, (int64_t[]){5, 32, 4});
    set(&weights, kDLFloat, 32, 2, (int64_t[]){5, 32});
    query = (dsajit_indexer_query_arguments){
        .struct_size = sizeof query,
        .index_q = &q.view,
        .index_v = &v.view,
        .q_bytes = &bytes.view,
        .q_scales = &scales.view,
        .weights = &weights.view,
        .format = DSAJIT_INDEXER_MXFP4,
    };
}

static void set_lists(void)
{
    const dsajit_dcp_place place = {4, 1, 64};
    set(&ids, kDLInt, 32, 2, (int64_t[]){3, 100});
    set(&logits, kDLFloat, 32, 2, (int64_t[]){3, 5000});
    set(&starts, kDLInt, 32, 1, (int64_t[]){3});
    set(&packed, kDLFloat, 32, 3, (int64_t[]){3, 100, 2});
    set(&candidates, kDLFloat, 32, 4, (int64_t[]){4, 3, 100, 2});
    set(&global, kDLInt, 32, 2, (int64_t[]){3, 100});
    set(&local, kDLInt, 32, 2, (int64_t[]){3, 100});
    convert = (dsajit_dcp_ids_arguments){
        .struct_size = sizeof convert, .ids = &ids.view, .out = &global.view, .place = place};
    pack = (dsajit_dcp_pack_arguments){.struct_size = sizeof pack,
                                       .ids = &ids.view,
                                       .logits = &logits.view,
                                       .row_starts = &starts.view,
                                       .packed = &packed.view,
                                       .place = place};
    topk = (dsajit_dcp_topk_arguments){.struct_size = sizeof topk,
                                       .candidates = &candidates.view,
                                       .global_ids = &global.view,
                                       .local_ids = &local.view,
                                       .place = place};
}

static void set_attention(void)
{
    set(&partial, kDLBfloat, 16, 4, (int64_t[]){2, 5, 6, 512});
    set(&lse, kDLFloat, 32, 3, (int64_t[]){4, 5, 6});
    set(&out, kDLBfloat, 16, 3, (int64_t[]){5, 6, 512});
    set(&merged, kDLFloat, 32, 2, (int64_t[]){5, 6});
    attention = (dsajit_dcp_attention_arguments){.struct_size = sizeof attention,
                                                 .partial = &partial.view,
                                                 .lse = &lse.view,
                                                 .out = &out.view,
                                                 .merged_lse = &merged.view,
                                                 .first = 1};
}

static void set_all(void)
{
    set_keys();
    set_queries();
    set_lists();
    set_attention();
}

/* The seven calls, alike. */
enum function { KEY, QUERY, WRITE, IDS, PACK, TOPK, ATTENTION };

static dsajit_status ask(enum function function, dsajit_error *error)
{
    const dsajit_context *context = harness_context();
    switch (function) {
    case KEY:
        return dsajit_indexer_key_supported(context, &key, error);
    case QUERY:
        return dsajit_indexer_query_supported(context, &query, error);
    case WRITE:
        return dsajit_mla_cache_write_supported(context, &writing, error);
    case IDS:
        return dsajit_dcp_ids_supported(context, &convert, error);
    case PACK:
        return dsajit_dcp_pack_supported(context, &pack, error);
    case TOPK:
        return dsajit_dcp_topk_supported(context, &topk, error);
    case ATTENTION:
        break;
    }
    return dsajit_dcp_attention_supported(context, &attention, error);
}

/* The call itself; only for what `ask` refuses. */
static dsajit_status enqueue(enum function function, dsajit_error *error)
{
    dsajit_context *context = harness_context();
    switch (function) {
    case KEY:
        return dsajit_indexer_key(context, &key, NULL, error);
    case QUERY:
        return dsajit_indexer_query(context, &query, NULL, error);
    case WRITE:
        return dsajit_mla_cache_write(context, &writing, NULL, error);
    case IDS:
        return dsajit_dcp_ids(context, &convert, NULL, error);
    case PACK:
        return dsajit_dcp_pack(context, &pack, NULL, error);
    case TOPK:
        return dsajit_dcp_topk(context, &topk, NULL, error);
    case ATTENTION:
        break;
    }
    return dsajit_dcp_attention(context, &attention, NULL, error);
}

#define FAULT(name, statement)                                                                     \
    static void name(void)                                                                         \
    {                                                                                              \
        statement;                                                                                 \
    }

static const DLDataType bf16 = {kDLBfloat, 16, 1}, f32 = {kDLFloat, 32, 1};

FAULT(key_size, key.struct_size--)
FAULT(key_null, key.index_k = NULL)
FAULT(key_on_host, k.view.device.device_type = kDLCPU)
FAULT(key_on_device_9, k.view.device.device_id = 9)
FAULT(key_f16, k.view.dtype.code = kDLFloat)
FAULT(key_width, k.shape[1] = 64)
FAULT(key_odd_stride, k.strides[0] = 129)
FAULT(key_few, k.shape[0] = 6)
FAULT(slots_null, key.slot_mapping = NULL)
FAULT(slots_i32, slots.view.dtype.bits = 32)
FAULT(slots_strided, slots.strides[0] = 2)
FAULT(cache_null, key.cache = NULL)
FAULT(cache_of_mxfp4, cache.shape[2] = 68)
FAULT(cache_is_fp8, key.format = DSAJIT_INDEXER_MXFP4)
FAULT(cache_page_17, cache.shape[1] = 17)
FAULT(cache_page_272, cache.shape[1] = 272; cache.strides[0] = 272 * 132)
FAULT(cache_page_huge, cache.shape[1] = INT64_MAX / 2)
FAULT(cache_overlaps, cache.strides[0] = 64 * 132 - 4)
FAULT(cache_gap_2, cache.strides[0] = 64 * 132 + 2)
FAULT(cache_token_gap, cache.strides[1] = 136)
FAULT(cache_misaligned, cache.view.byte_offset = 2)
FAULT(cache_on_another, cache.view.device.device_id = 1)
FAULT(format_9, key.format = (dsajit_indexer_format)9)
FAULT(norm_9, key.norm = (dsajit_key_norm)9)
FAULT(norm_no_weight, key.norm_weight = NULL)
FAULT(norm_no_bias, key.norm_bias = NULL)
FAULT(norm_rms_bias, key.norm = DSAJIT_KEY_NORM_RMSNORM)
FAULT(norm_none_weight, key.norm = DSAJIT_KEY_NORM_NONE)
FAULT(norm_bf16_weight, weight.view.dtype = bf16)
FAULT(norm_short_weight, weight.shape[0] = 64)
FAULT(norm_eps_negative, key.norm_eps = -1)
FAULT(norm_eps_nan, key.norm_eps = NAN)

FAULT(query_size, query.struct_size++)
FAULT(query_null, query.index_q = NULL)
FAULT(query_width, q.shape[2] = 64)
FAULT(query_odd_stride, q.strides[1] = 129)
FAULT(query_heads_12, q.shape[1] = 12)
FAULT(query_heads_30, query.format = DSAJIT_INDEXER_FP8; q.shape[1] = 30)
FAULT(query_heads_68, q.shape[1] = 68)
FAULT(query_heads_0, q.shape[1] = 0)
FAULT(query_heads_huge, q.shape[1] = ((int64_t)1 << 32) + 32)
FAULT(query_many,
      q.shape[0] = v.shape[0] = bytes.shape[0] = scales.shape[0] = weights.shape[0] = (int64_t)1
                                                                                      << 40)
FAULT(head_weights_heads, v.shape[1] = 31)
FAULT(head_weights_stride, v.strides[1] = 2)
FAULT(head_weights_f32, v.view.dtype = f32)
FAULT(bytes_width, bytes.shape[2] = 128)
FAULT(bytes_gap, bytes.strides[0] += 64)
FAULT(bytes_misaligned, bytes.view.byte_offset = 8)
FAULT(scales_null, query.q_scales = NULL)
FAULT(scales_of_fp8, query.format = DSAJIT_INDEXER_FP8; bytes.shape[2] = 128; bytes.strides[0] *= 2;
      bytes.strides[1] = 128)
FAULT(weights_rows, weights.shape[0] = 4)
FAULT(query_format_9, query.format = (dsajit_indexer_format)9)

FAULT(write_size, writing.struct_size = 0)
FAULT(write_null, writing.kv_c = NULL)
FAULT(latent_width, latent.shape[1] = 576)
FAULT(rope_null, writing.k_pe = NULL)
FAULT(rope_few, rope.shape[0] = 6)
FAULT(records_width, records.shape[2] = 576)
FAULT(records_gap_8, records.strides[0] += 8)
FAULT(records_misaligned, records.view.byte_offset = 8)
FAULT(records_page_0, records.shape[1] = 0)

FAULT(ids_i64, ids.view.dtype.bits = 64)
FAULT(ids_strided, ids.strides[1] = 2)
FAULT(ids_out_rows, global.shape[0] = 2)
FAULT(ids_direction, convert.direction = (dsajit_dcp_direction)2)
FAULT(ids_ranks_0, convert.place.ranks = 0)
FAULT(ids_ranks_9, convert.place.ranks = 9)
FAULT(ids_rank_4, convert.place.rank = 4)
FAULT(ids_interleave_0, convert.place.interleave = 0)
FAULT(ids_interleave_huge, convert.place.interleave = INT32_MAX)

FAULT(pack_neither, pack.logits = NULL)
FAULT(pack_both, pack.scores = &logits.view)
FAULT(pack_scores_starts, pack.scores = &logits.view; pack.logits = NULL)
FAULT(pack_scores_width, pack.scores = &logits.view; pack.logits = NULL; pack.row_starts = NULL)
FAULT(pack_starts_rows, starts.shape[0] = 4)
FAULT(pack_packed_k, packed.shape[1] = 99)
FAULT(pack_packed_gap, packed.strides[0] = 202)

FAULT(topk_k_0, global.shape[1] = 0)
FAULT(topk_k_2049, global.shape[1] = 2049)
FAULT(topk_local_rows, local.shape[0] = 2)
FAULT(topk_ranks, topk.place.ranks = 3)
FAULT(topk_pairs, candidates.shape[3] = 3)
FAULT(topk_pair_stride, candidates.strides[2] = 4)
FAULT(topk_odd_stride, candidates.strides[0] = 601)
FAULT(topk_misaligned, candidates.view.byte_offset = 4)

FAULT(parts_width, partial.shape[3] = 576)
FAULT(parts_f32, partial.view.dtype = f32)
FAULT(parts_odd_stride, partial.strides[2] = 513)
FAULT(parts_past_lse, attention.first = 3)
FAULT(parts_negative, attention.first = -1)
FAULT(lse_heads, lse.shape[2] = 5)
FAULT(lse_9_ranks, lse.shape[0] = 9)
FAULT(out_f16, out.view.dtype.code = kDLInt)
FAULT(out_tokens, out.shape[0] = 4)
FAULT(merged_gap, merged.strides[0] = 7)

static const struct {
    void (*spoil)(void);
    enum function function;
    dsajit_status status;
    const char *words[2]; /* that the message must hold */
} faults[] = {
    {key_size, KEY, DSAJIT_ERROR_INVALID_ARGUMENT, {"struct_size"}},
    {key_null, KEY, DSAJIT_ERROR_INVALID_ARGUMENT, {"index_k is NULL"}},
    {key_on_host, KEY, DSAJIT_ERROR_UNSUPPORTED, {"index_k", "device (1, 0)"}},
    {key_on_device_9, KEY, DSAJIT_ERROR_INVALID_ARGUMENT, {"index_k", "device 9"}},
    {key_f16, KEY, DSAJIT_ERROR_UNSUPPORTED, {"index_k is f16"}},
    {key_width, KEY, DSAJIT_ERROR_UNSUPPORTED, {"index_k.shape[1] is 64", "128"}},
    {key_odd_stride, KEY, DSAJIT_ERROR_UNSUPPORTED, {"index_k.strides[0] is 129"}},
    {key_few, KEY, DSAJIT_ERROR_INVALID_ARGUMENT, {"index_k has 6 rows", "7"}},
    {slots_null, KEY, DSAJIT_ERROR_INVALID_ARGUMENT, {"slot_mapping is NULL"}},
    {slots_i32, KEY, DSAJIT_ERROR_UNSUPPORTED, {"slot_mapping is i32", "i64"}},
    {slots_strided, KEY, DSAJIT_ERROR_UNSUPPORTED, {"slot_mapping.strides[0] is 2"}},
    {cache_null, KEY, DSAJIT_ERROR_INVALID_ARGUMENT, {"cache is NULL"}},
    {cache_of_mxfp4, KEY, DSAJIT_ERROR_UNSUPPORTED, {"cache.shape[2] is 68", "132"}},
    {cache_is_fp8, KEY, DSAJIT_ERROR_UNSUPPORTED, {"cache.shape[2] is 132", "68"}},
    {cache_page_17, KEY, DSAJIT_ERROR_UNSUPPORTED, {"cache.shape[1] is 17", "multiple of 16"}},
    {cache_page_272, KEY, DSAJIT_ERROR_UNSUPPORTED, {"cache.shape[1] is 272", "256"}},
    {cache_page_huge, KEY, DSAJIT_ERROR_UNSUPPORTED, {"cache.shape[1] is 4611686018427387903"}},
    {cache_overlaps, KEY, DSAJIT_ERROR_UNSUPPORTED, {"cache.strides[0] is 8444"}},
    {cache_gap_2, KEY, DSAJIT_ERROR_UNSUPPORTED, {"cache.strides[0] is 8450", "multiple of 4"}},
    {cache_token_gap, KEY, DSAJIT_ERROR_UNSUPPORTED, {"cache.strides[1] is 136"}},
    {cache_misaligned, KEY, DSAJIT_ERROR_UNSUPPORTED, {"cache starts at"}},
    {cache_on_another, KEY, DSAJIT_ERROR_UNSUPPORTED, {"cache", "device (10, 1)"}},
    {format_9, KEY, DSAJIT_ERROR_INVALID_ARGUMENT, {"format is 9"}},
    {norm_9, KEY, DSAJIT_ERROR_INVALID_ARGUMENT, {"norm is 9"}},
    {norm_no_weight, KEY, DSAJIT_ERROR_INVALID_ARGUMENT, {"norm_weight is NULL"}},
    {norm_no_bias, KEY, DSAJIT_ERROR_INVALID_ARGUMENT, {"norm_bias is NULL"}},
    {norm_rms_bias, KEY, DSAJIT_ERROR_INVALID_ARGUMENT, {"norm_bias is given"}},
    {norm_none_weight, KEY, DSAJIT_ERROR_INVALID_ARGUMENT, {"norm_weight is given"}},
    {norm_bf16_weight, KEY, DSAJIT_ERROR_UNSUPPORTED, {"norm_weight is bf16", "f32"}},
    {norm_short_weight, KEY, DSAJIT_ERROR_UNSUPPORTED, {"norm_weight.shape[0] is 64"}},
    {norm_eps_negative, KEY, DSAJIT_ERROR_INVALID_ARGUMENT, {"norm_eps is -1"}},
    {norm_eps_nan, KEY, DSAJIT_ERROR_INVALID_ARGUMENT, {"norm_eps is", "nan"}},
    {query_size, QUERY, DSAJIT_ERROR_INVALID_ARGUMENT, {"struct_size"}},
    {query_null, QUERY, DSAJIT_ERROR_INVALID_ARGUMENT, {"index_q is NULL"}},
    {query_width, QUERY, DSAJIT_ERROR_UNSUPPORTED, {"index_q.shape[2] is 64"}},
    {query_odd_stride, QUERY, DSAJIT_ERROR_UNSUPPORTED, {"index_q.strides[1] is 129"}},
    {query_heads_12,
     QUERY,
     DSAJIT_ERROR_UNSUPPORTED,
     {"12 heads", "Kimi MXFP4 requires head_dim=128 and 16/32/64 heads"}},
    {query_heads_30, QUERY, DSAJIT_ERROR_UNSUPPORTED, {"30 heads", "multiples of 4 up to 64"}},
    {query_heads_68, QUERY, DSAJIT_ERROR_UNSUPPORTED, {"68 heads"}},
    {query_heads_0, QUERY, DSAJIT_ERROR_UNSUPPORTED, {"0 heads"}},
    {query_heads_huge, QUERY, DSAJIT_ERROR_UNSUPPORTED, {"4294967328 heads"}},
    {query_many, QUERY, DSAJIT_ERROR_UNSUPPORTED, {"in one call"}},
    {head_weights_heads, QUERY, DSAJIT_ERROR_UNSUPPORTED, {"index_v.shape[1] is 31"}},
    {head_weights_stride, QUERY, DSAJIT_ERROR_UNSUPPORTED, {"index_v.strides[1] is 2"}},
    {head_weights_f32, QUERY, DSAJIT_ERROR_UNSUPPORTED, {"index_v is f32"}},
    {bytes_width, QUERY, DSAJIT_ERROR_UNSUPPORTED, {"q_bytes.shape[2] is 128", "64"}},
    {bytes_gap, QUERY, DSAJIT_ERROR_UNSUPPORTED, {"q_bytes.strides[0] is 2112"}},
    {bytes_misaligned, QUERY, DSAJIT_ERROR_UNSUPPORTED, {"q_bytes starts at", "16"}},
    {scales_null, QUERY, DSAJIT_ERROR_INVALID_ARGUMENT, {"q_scales is NULL"}},
    {scales_of_fp8, QUERY, DSAJIT_ERROR_INVALID_ARGUMENT, {"q_scales is given"}},
    {weights_rows, QUERY, DSAJIT_ERROR_UNSUPPORTED, {"weights.shape[0] is 4"}},
    {query_format_9, QUERY, DSAJIT_ERROR_INVALID_ARGUMENT, {"format is 9"}},
    {write_size, WRITE, DSAJIT_ERROR_INVALID_ARGUMENT, {"struct_size"}},
    {write_null, WRITE, DSAJIT_ERROR_INVALID_ARGUMENT, {"kv_c is NULL"}},
    {latent_width, WRITE, DSAJIT_ERROR_UNSUPPORTED, {"kv_c.shape[1] is 576"}},
    {rope_null, WRITE, DSAJIT_ERROR_INVALID_ARGUMENT, {"k_pe is NULL"}},
    {rope_few, WRITE, DSAJIT_ERROR_INVALID_ARGUMENT, {"k_pe has 6 rows"}},
    {records_width, WRITE, DSAJIT_ERROR_UNSUPPORTED, {"cache.shape[2] is 576", "656"}},
    {records_gap_8, WRITE, DSAJIT_ERROR_UNSUPPORTED, {"cache.strides[0]", "multiple of 16"}},
    {records_misaligned, WRITE, DSAJIT_ERROR_UNSUPPORTED, {"cache starts at"}},
    {records_page_0, WRITE, DSAJIT_ERROR_UNSUPPORTED, {"cache.shape[1] is 0"}},
    {ids_i64, IDS, DSAJIT_ERROR_UNSUPPORTED, {"ids is i64"}},
    {ids_strided, IDS, DSAJIT_ERROR_UNSUPPORTED, {"ids.strides[1] is 2"}},
    {ids_out_rows, IDS, DSAJIT_ERROR_UNSUPPORTED, {"out.shape[0] is 2"}},
    {ids_direction, IDS, DSAJIT_ERROR_INVALID_ARGUMENT, {"direction is 2"}},
    {ids_ranks_0, IDS, DSAJIT_ERROR_UNSUPPORTED, {"place.ranks is 0"}},
    {ids_ranks_9, IDS, DSAJIT_ERROR_UNSUPPORTED, {"place.ranks is 9"}},
    {ids_rank_4, IDS, DSAJIT_ERROR_INVALID_ARGUMENT, {"place.rank is 4"}},
    {ids_interleave_0, IDS, DSAJIT_ERROR_INVALID_ARGUMENT, {"place.interleave is 0"}},
    {ids_interleave_huge, IDS, DSAJIT_ERROR_INVALID_ARGUMENT, {"place.interleave"}},
    {pack_neither, PACK, DSAJIT_ERROR_INVALID_ARGUMENT, {"scores and logits are both NULL"}},
    {pack_both, PACK, DSAJIT_ERROR_INVALID_ARGUMENT, {"scores and logits are both given"}},
    {pack_scores_starts, PACK, DSAJIT_ERROR_INVALID_ARGUMENT, {"row_starts is given"}},
    {pack_scores_width, PACK, DSAJIT_ERROR_UNSUPPORTED, {"scores.shape[1] is 5000"}},
    {pack_starts_rows, PACK, DSAJIT_ERROR_UNSUPPORTED, {"row_starts.shape[0] is 4"}},
    {pack_packed_k, PACK, DSAJIT_ERROR_UNSUPPORTED, {"packed.shape[1] is 99"}},
    {pack_packed_gap, PACK, DSAJIT_ERROR_UNSUPPORTED, {"packed.strides[0] is 202"}},
    {topk_k_0, TOPK, DSAJIT_ERROR_UNSUPPORTED, {"global_ids.shape[1] is 0"}},
    {topk_k_2049, TOPK, DSAJIT_ERROR_UNSUPPORTED, {"global_ids.shape[1] is 2049"}},
    {topk_local_rows, TOPK, DSAJIT_ERROR_UNSUPPORTED, {"local_ids.shape[0] is 2"}},
    {topk_ranks, TOPK, DSAJIT_ERROR_UNSUPPORTED, {"candidates.shape[0] is 4", "3"}},
    {topk_pairs, TOPK, DSAJIT_ERROR_UNSUPPORTED, {"candidates.shape[3] is 3"}},
    {topk_pair_stride, TOPK, DSAJIT_ERROR_UNSUPPORTED, {"candidates.strides[2] is 4"}},
    {topk_odd_stride, TOPK, DSAJIT_ERROR_UNSUPPORTED, {"candidates.strides[0] is 601"}},
    {topk_misaligned, TOPK, DSAJIT_ERROR_UNSUPPORTED, {"candidates starts at", "8"}},
    {parts_width, ATTENTION, DSAJIT_ERROR_UNSUPPORTED, {"partial.shape[3] is 576"}},
    {parts_f32, ATTENTION, DSAJIT_ERROR_UNSUPPORTED, {"partial is f32"}},
    {parts_odd_stride, ATTENTION, DSAJIT_ERROR_UNSUPPORTED, {"partial.strides[2] is 513"}},
    {parts_past_lse, ATTENTION, DSAJIT_ERROR_INVALID_ARGUMENT, {"first is 3", "2 parts"}},
    {parts_negative, ATTENTION, DSAJIT_ERROR_INVALID_ARGUMENT, {"first is -1"}},
    {lse_heads, ATTENTION, DSAJIT_ERROR_UNSUPPORTED, {"lse.shape[2] is 5"}},
    {lse_9_ranks, ATTENTION, DSAJIT_ERROR_UNSUPPORTED, {"lse.shape[0] is 9"}},
    {out_f16, ATTENTION, DSAJIT_ERROR_UNSUPPORTED, {"out is i16"}},
    {out_tokens, ATTENTION, DSAJIT_ERROR_UNSUPPORTED, {"out.shape[0] is 4"}},
    {merged_gap, ATTENTION, DSAJIT_ERROR_UNSUPPORTED, {"merged_lse.strides[0] is 7"}},
};

static void assert_refused(size_t row, dsajit_status status, const dsajit_error *error)
{
    if (status != faults[row].status || error->status != status)
        fail_msg("row %zu: %s, not %s: %s", row, dsajit_status_name(status),
                 dsajit_status_name(faults[row].status), error->message);
    for (size_t i = 0; i < 2; i++)
        if (faults[row].words[i] && !strstr(error->message, faults[row].words[i]))
            fail_msg("row %zu doesn't say \"%s\": %s", row, faults[row].words[i], error->message);
}

static void a_wrong_argument_is_refused(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof faults / sizeof *faults; i++) {
        dsajit_error error = {0};
        set_all();
        faults[i].spoil();
        assert_refused(i, ask(faults[i].function, &error), &error);
        error = (dsajit_error){0};
        assert_refused(i, enqueue(faults[i].function, &error), &error);
        assert_int_equal(ask(faults[i].function, NULL), faults[i].status);
    }
}

static void good_calls_are_supported(void **state)
{
    (void)state;
    set_all();
    for (enum function f = KEY; f <= ATTENTION; f++) {
        dsajit_error error = {0};
        assert_ok(ask(f, &error), &error);
    }
}

static void take_variant(dsajit_status status, dsajit_text *text, const char *expected)
{
    assert_int_equal(status, DSAJIT_OK);
    assert_string_equal(text->data, expected);
    dsajit_text_free(text);
}

static void calls_name_their_variants(void **state)
{
    (void)state;
    const dsajit_context *context = harness_context();
    dsajit_text text;
    set_all();
    take_variant(dsajit_indexer_key_variant(context, &key, &text, NULL), &text,
                 "indexer_key/gfx950/norm=layernorm,format=fp8,page_tokens=64");
    take_variant(dsajit_indexer_query_variant(context, &query, &text, NULL), &text,
                 "indexer_query/gfx950/format=mxfp4,heads=32");
    take_variant(dsajit_mla_cache_write_variant(context, &writing, &text, NULL), &text,
                 "mla_cache_write/gfx950/scale=pow2");
    take_variant(dsajit_dcp_ids_variant(context, &convert, &text, NULL), &text,
                 "dcp_ids/gfx950/direction=to_global");
    take_variant(dsajit_dcp_pack_variant(context, &pack, &text, NULL), &text,
                 "dcp_pack/gfx950/scores=logits");
    take_variant(dsajit_dcp_topk_variant(context, &topk, &text, NULL), &text,
                 "dcp_topk/gfx950/capacity=2048");
    take_variant(dsajit_dcp_attention_variant(context, &attention, &text, NULL), &text,
                 "dcp_attention/gfx950/out=bf16");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(good_calls_are_supported),
        cmocka_unit_test(a_wrong_argument_is_refused),
        cmocka_unit_test(calls_name_their_variants),
    };
    return cmocka_run_group_tests(tests, harness_open, harness_close);
}
