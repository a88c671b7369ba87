#include "runtime/family_problem.h"

#include "dcp_arguments.h"
#include "index_lists_arguments.h"
#include "indexer_key_arguments.h"
#include "indexer_query_arguments.h"
#include "indexer_score_arguments.h"
#include "mla_cache_write_arguments.h"
#include "sparse_mla_arguments.h"
#include "topk_arguments.h"

/* Each tensor has a place of its own. */
static void *place(char *memory, int index)
{
    return memory + (size_t)index * PROBLEM_PLACE_BYTES;
}

/* One token that attends one zero record. */
static void make_sparse_mla(char *memory, struct call *call)
{
    const sparse_mla_arguments arguments = {
        .q = place(memory, 0),
        .kv = place(memory, 1),
        .indptr = place(memory, PROBLEM_ONE),
        .indices = place(memory, 2),
        .out = place(memory, 3),
        .lse = place(memory, 4),
        .q_head_stride = 576,
        .out_head_stride = 512,
        .indptr_stride = 1,
        .indices_stride = 1,
        .index_count = 1,
        .scale_log2e = 1,
        .tokens = 1,
        .indptr_is_i64 = 1,
    };
    call->workgroup_size = SPARSE_MLA_WORKGROUP_SIZE;
    call_set_arguments(call, &arguments, sizeof arguments);
}

/* One zero token into slot 0. */
static void make_mla_cache_write(char *memory, struct call *call)
{
    const mla_cache_write_arguments arguments = {
        .latent = place(memory, 0),
        .rope = place(memory, 1),
        .slots = place(memory, 2),
        .cache = place(memory, 3),
        .page_tokens = 1,
        .tokens = 1,
    };
    call->workgroup_size = MLA_CACHE_WRITE_WORKGROUP_SIZE;
    call_set_arguments(call, &arguments, sizeof arguments);
}

/* One zero key into slot 0. */
static void make_indexer_key(char *memory, struct call *call)
{
    const indexer_key_arguments arguments = {
        .keys = place(memory, 0),
        .slots = place(memory, 1),
        .cache = place(memory, 2),
        .norm_weight = place(memory, 3),
        .norm_bias = place(memory, 4),
        .tokens = 1,
        .norm_eps = 1,
    };
    call->workgroup_size = INDEXER_KEY_WORKGROUP_SIZE;
    call_set_arguments(call, &arguments, sizeof arguments);
}

/* One zero query of one head. */
static void make_indexer_query(char *memory, struct call *call)
{
    const indexer_query_arguments arguments = {
        .q = place(memory, 0),
        .head_weights = place(memory, 1),
        .q_bytes = place(memory, 2),
        .q_scales = place(memory, 3),
        .weights = place(memory, 4),
        .rows = 1,
    };
    call->workgroup_size = INDEXER_QUERY_WORKGROUP_SIZE;
    call_set_arguments(call, &arguments, sizeof arguments);
}

/* One row without columns. */
static void make_topk(char *memory, struct call *call)
{
    const topk_arguments arguments = {
        .logits = place(memory, 0),
        .ends = place(memory, 1),
        .ids = place(memory, 2),
        .scores = place(memory, 3),
        .rows = 1,
        .k = 1,
        .rows_per_end = 1,
    };
    call->workgroup_size = TOPK_WORKGROUP_SIZE;
    call_set_arguments(call, &arguments, sizeof arguments);
}

/* One row without requests. */
static void make_index_lists(char *memory, struct call *call)
{
    const index_lists_arguments arguments = {
        .ids = place(memory, 0),
        .row_requests = place(memory, 1),
        .block_table = place(memory, 2),
        .indptr = place(memory, 3),
        .indices = place(memory, 4),
        .rows = 1,
        .k = 1,
        .stage = INDEX_LISTS_WRITE,
    };
    call->workgroup_size = INDEX_LISTS_WORKGROUP_SIZE;
    call_set_arguments(call, &arguments, sizeof arguments);
}

/* One zero query of one head, and one zero key. */
static void make_indexer_score(char *memory, struct call *call)
{
    const indexer_score_arguments arguments = {
        .q = place(memory, 0),
        .q_scales = place(memory, 1),
        .weights = place(memory, 2),
        .keys = place(memory, 3),
        .key_scales = place(memory, 4),
        .block_table = place(memory, 5),
        .ends = (const int *)place(memory, PROBLEM_ONE) + 2,
        .logits = place(memory, 6),
        .weight_scale = 1,
        .heads = 1,
        .columns = 1,
        .limit = 1,
        .requests = 1,
        .rows_per_request = 1,
        .groups_per_request = 1,
        .page_tokens = 16,
        .page_reciprocal = 1u << 31,
        .page_shift = 31,
    };
    call->workgroup_size = INDEXER_SCORE_WORKGROUP_SIZE;
    call_set_arguments(call, &arguments, sizeof arguments);
}

static const dcp_place alone = {.ranks = 1, .rank = 0, .interleave = 1};

/* One id. */
static void make_dcp_ids(char *memory, struct call *call)
{
    const dcp_ids_arguments arguments = {
        .ids = place(memory, 0),
        .out = place(memory, 1),
        .count = 1,
        .place = alone,
    };
    call->workgroup_size = DCP_IDS_WORKGROUP_SIZE;
    call_set_arguments(call, &arguments, sizeof arguments);
}

/* One key. */
static void make_dcp_pack(char *memory, struct call *call)
{
    const dcp_pack_arguments arguments = {
        .ids = place(memory, 0),
        .scores = place(memory, 1),
        .packed = place(memory, 2),
        .count = 1,
        .place = alone,
    };
    call->workgroup_size = DCP_PACK_WORKGROUP_SIZE;
    call_set_arguments(call, &arguments, sizeof arguments);
}

/* One candidate. */
static void make_dcp_topk(char *memory, struct call *call)
{
    const dcp_topk_arguments arguments = {
        .candidates = place(memory, 0),
        .global_ids = place(memory, 1),
        .local_ids = place(memory, 2),
        .count = 1,
        .place = alone,
    };
    call->workgroup_size = DCP_TOPK_WORKGROUP_SIZE;
    call_set_arguments(call, &arguments, sizeof arguments);
}

/* One part of one head. */
static void make_dcp_attention(char *memory, struct call *call)
{
    const dcp_attention_arguments arguments = {
        .partial = place(memory, 0),
        .lse = place(memory, 1),
        .out = place(memory, 2),
        .merged_lse = place(memory, 3),
        .rows = 1,
        .heads = 1,
        .ranks = 1,
        .parts = 1,
    };
    call->workgroup_size = DCP_ATTENTION_WORKGROUP_SIZE;
    call_set_arguments(call, &arguments, sizeof arguments);
}

family_problem *const family_problems[] = {
    [FAMILY_SPARSE_MLA] = make_sparse_mla,       [FAMILY_MLA_CACHE_WRITE] = make_mla_cache_write,
    [FAMILY_INDEXER_KEY] = make_indexer_key,     [FAMILY_INDEXER_QUERY] = make_indexer_query,
    [FAMILY_INDEXER_SCORE] = make_indexer_score, [FAMILY_TOPK] = make_topk,
    [FAMILY_INDEX_LISTS] = make_index_lists,     [FAMILY_DCP_IDS] = make_dcp_ids,
    [FAMILY_DCP_PACK] = make_dcp_pack,           [FAMILY_DCP_TOPK] = make_dcp_topk,
    [FAMILY_DCP_ATTENTION] = make_dcp_attention,
};
