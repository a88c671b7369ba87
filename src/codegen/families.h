/* The one table of kernels: each family's name, template and fields with their legal values.
   Dispatch, warmup, checks, documentation and tests all walk it, so that a call can never ask for a
   variant that cannot be enumerated. */
#ifndef CODEGEN_FAMILIES_H
#define CODEGEN_FAMILIES_H

#include <stdbool.h>
#include <stddef.h>

enum field_kind {
    FIELD_INTEGER, /* `integers` lists the legal numbers;     source: constexpr int NAME = 8; */
    FIELD_BOOLEAN, /* 0 or 1;                                 source: constexpr bool NAME = true; */
    FIELD_NAME /* `names` lists the legal words; source: enum class NAME_values {…}; constexpr … */
};

struct field {
    const char *name;
    enum field_kind kind;
    size_t count; /* of legal values */
    const int *integers;
    const char *const *names;
};

struct variant;

struct family {
    const char *name;          /* as it stands in a variant's text */
    const char *template_name; /* file in templates/ */
    const struct field *fields;
    size_t field_count;
    /* Combinations that don't exist: the reason, or NULL for those that do. NULL: all exist. */
    const char *(*refuse)(const struct variant *variant);
};

enum { FIELDS_MAX = 12 };

extern const struct family families[];
extern const size_t family_count;

/* Target architectures, in the order variants are enumerated. */
extern const char *const architectures[];
extern const size_t architecture_count;

/* Indices into `families`, and into each family's fields. */
enum family_index {
    FAMILY_SPARSE_MLA,
    FAMILY_MLA_CACHE_WRITE,
    FAMILY_INDEXER_KEY,
    FAMILY_INDEXER_QUERY,
    FAMILY_INDEXER_SCORE,
    FAMILY_TOPK,
    FAMILY_INDEX_LISTS,
    FAMILY_DCP_IDS,
    FAMILY_DCP_PACK,
    FAMILY_DCP_TOPK,
    FAMILY_DCP_ATTENTION
};

enum sparse_mla_field {
    SPARSE_MLA_HEADS,
    SPARSE_MLA_HAS_INVALID,
    SPARSE_MLA_RETURN_LSE,
    SPARSE_MLA_INDEX,
    SPARSE_MLA_SCALE,
    SPARSE_MLA_MATH
};
enum sparse_mla_index { SPARSE_MLA_INDEX_I32, SPARSE_MLA_INDEX_I64 };
enum sparse_mla_scale { SPARSE_MLA_SCALE_POW2, SPARSE_MLA_SCALE_ANY };
enum sparse_mla_math { SPARSE_MLA_MATH_BF16 };

enum mla_cache_write_field { MLA_CACHE_WRITE_SCALE };
enum mla_cache_write_scale { MLA_CACHE_WRITE_SCALE_POW2 };

enum indexer_format { INDEXER_FORMAT_FP8, INDEXER_FORMAT_MXFP4 };

enum indexer_key_field { INDEXER_KEY_NORM, INDEXER_KEY_FORMAT, INDEXER_KEY_PAGE_TOKENS };
enum indexer_key_norm {
    INDEXER_KEY_NORM_NONE,
    INDEXER_KEY_NORM_RMSNORM,
    INDEXER_KEY_NORM_LAYERNORM
};

enum indexer_query_field { INDEXER_QUERY_FORMAT, INDEXER_QUERY_HEADS };

enum indexer_score_field {
    INDEXER_SCORE_FORMAT,
    INDEXER_SCORE_HEADS, /* of a query, rounded up */
    INDEXER_SCORE_ADDRESSING,
    INDEXER_SCORE_CLEAN
};
enum indexer_score_addressing {
    INDEXER_SCORE_GATHERED,
    INDEXER_SCORE_PAGES, /* of a multiple of 16 tokens */
    INDEXER_SCORE_TOKENS /* pages of one token */
};

enum topk_field { TOPK_STABLE, TOPK_SCORES };

enum index_lists_field { INDEX_LISTS_INDEX };
enum index_lists_index { INDEX_LISTS_INDEX_I32, INDEX_LISTS_INDEX_I64 };

enum dcp_ids_field { DCP_IDS_DIRECTION };
enum dcp_ids_direction { DCP_IDS_DIRECTION_TO_GLOBAL, DCP_IDS_DIRECTION_TO_LOCAL };

enum dcp_pack_field { DCP_PACK_SCORES };
enum dcp_pack_scores { DCP_PACK_SCORES_LIST, DCP_PACK_SCORES_LOGITS };

enum dcp_topk_field { DCP_TOPK_CAPACITY };

enum dcp_attention_field { DCP_ATTENTION_OUT };
enum dcp_attention_out { DCP_ATTENTION_OUT_BF16, DCP_ATTENTION_OUT_F32 };

#endif
