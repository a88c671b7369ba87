#include "codegen/variant.h"

#define COUNT(array) (sizeof(array) / sizeof *(array))
#define INTEGERS(name, list)                                                                       \
    {                                                                                              \
        name, FIELD_INTEGER, COUNT(list), list, NULL                                               \
    }
#define BOOLEAN(name)                                                                              \
    {                                                                                              \
        name, FIELD_BOOLEAN, 2, NULL, NULL                                                         \
    }
#define NAMES(name, list)                                                                          \
    {                                                                                              \
        name, FIELD_NAME, COUNT(list), NULL, list                                                  \
    }

static const int heads_1_to_16[] = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16};
static const char *const index_widths[] = {"i32", "i64"};
static const char *const record_scales[] = {"pow2", "any"};
static const char *const sparse_mla_math[] = {"bf16"};

static const struct field sparse_mla_fields[] = {
    [SPARSE_MLA_HEADS] = INTEGERS("heads", heads_1_to_16),
    [SPARSE_MLA_HAS_INVALID] = BOOLEAN("has_invalid"),
    [SPARSE_MLA_RETURN_LSE] = BOOLEAN("return_lse"),
    [SPARSE_MLA_INDEX] = NAMES("index", index_widths),
    [SPARSE_MLA_SCALE] = NAMES("scale", record_scales),
    [SPARSE_MLA_MATH] = NAMES("math", sparse_mla_math),
};

static const char *const written_scales[] = {"pow2"};
static const struct field mla_cache_write_fields[] = {
    [MLA_CACHE_WRITE_SCALE] = NAMES("scale", written_scales),
};

static const char *const indexer_formats[] = {"fp8", "mxfp4"};
static const char *const key_norms[] = {"none", "rmsnorm", "layernorm"};
/* 1 or a multiple of 16, as upstream's indexer has them. */
static const int index_page_tokens[] = {1,   16,  32,  48,  64,  80,  96,  112, 128,
                                        144, 160, 176, 192, 208, 224, 240, 256};
static const struct field indexer_key_fields[] = {
    [INDEXER_KEY_NORM] = NAMES("norm", key_norms),
    [INDEXER_KEY_FORMAT] = NAMES("format", indexer_formats),
    [INDEXER_KEY_PAGE_TOKENS] = INTEGERS("page_tokens", index_page_tokens),
};

static const int index_heads[] = {4, 8, 12, 16, 20, 24, 28, 32, 36, 40, 44, 48, 52, 56, 60, 64};
static const struct field indexer_query_fields[] = {
    [INDEXER_QUERY_FORMAT] = NAMES("format", indexer_formats),
    [INDEXER_QUERY_HEADS] = INTEGERS("heads", index_heads),
};
static const char mxfp4_heads_refusal[] = "Kimi MXFP4 requires head_dim=128 and 16/32/64 heads";
static const char *refuse_indexer_query(const struct variant *variant)
{
    const int heads = variant_value(variant, INDEXER_QUERY_HEADS);
    return variant_value(variant, INDEXER_QUERY_FORMAT) == INDEXER_FORMAT_MXFP4 && heads != 16 &&
                   heads != 32 && heads != 64
               ? mxfp4_heads_refusal
               : NULL;
}

static const int score_heads[] = {16, 32, 48, 64};
static const char *const score_addressings[] = {"gathered", "pages", "tokens"};
static const struct field indexer_score_fields[] = {
    [INDEXER_SCORE_FORMAT] = NAMES("format", indexer_formats),
    [INDEXER_SCORE_HEADS] = INTEGERS("heads", score_heads),
    [INDEXER_SCORE_ADDRESSING] = NAMES("addressing", score_addressings),
    [INDEXER_SCORE_CLEAN] = BOOLEAN("clean"),
};
static const char *refuse_indexer_score(const struct variant *variant)
{
    return variant_value(variant, INDEXER_SCORE_FORMAT) == INDEXER_FORMAT_MXFP4 &&
                   variant_value(variant, INDEXER_SCORE_HEADS) == 48
               ? mxfp4_heads_refusal
               : NULL;
}

static const struct field topk_fields[] = {
    [TOPK_STABLE] = BOOLEAN("stable"),
    [TOPK_SCORES] = BOOLEAN("scores"),
};

static const struct field index_lists_fields[] = {
    [INDEX_LISTS_INDEX] = NAMES("index", index_widths),
};

static const char *const dcp_directions[] = {"to_global", "to_local"};
static const struct field dcp_ids_fields[] = {
    [DCP_IDS_DIRECTION] = NAMES("direction", dcp_directions),
};

static const char *const dcp_scores[] = {"list", "logits"};
static const struct field dcp_pack_fields[] = {
    [DCP_PACK_SCORES] = NAMES("scores", dcp_scores),
};

/* Candidates of all ranks together. */
static const int dcp_capacities[] = {2048, 4096, 8192, 16384};
static const struct field dcp_topk_fields[] = {
    [DCP_TOPK_CAPACITY] = INTEGERS("capacity", dcp_capacities),
};

static const char *const dcp_outputs[] = {"bf16", "f32"};
static const struct field dcp_attention_fields[] = {
    [DCP_ATTENTION_OUT] = NAMES("out", dcp_outputs),
};

#define FAMILY(name, refuse)                                                                       \
    {                                                                                              \
#name, #name ".hip", name##_fields, COUNT(name##_fields), refuse                           \
    }

const struct family families[] = {
    [FAMILY_SPARSE_MLA] = FAMILY(sparse_mla, NULL),
    [FAMILY_MLA_CACHE_WRITE] = FAMILY(mla_cache_write, NULL),
    [FAMILY_INDEXER_KEY] = FAMILY(indexer_key, NULL),
    [FAMILY_INDEXER_QUERY] = FAMILY(indexer_query, refuse_indexer_query),
    [FAMILY_INDEXER_SCORE] = FAMILY(indexer_score, refuse_indexer_score),
    [FAMILY_TOPK] = FAMILY(topk, NULL),
    [FAMILY_INDEX_LISTS] = FAMILY(index_lists, NULL),
    [FAMILY_DCP_IDS] = FAMILY(dcp_ids, NULL),
    [FAMILY_DCP_PACK] = FAMILY(dcp_pack, NULL),
    [FAMILY_DCP_TOPK] = FAMILY(dcp_topk, NULL),
    [FAMILY_DCP_ATTENTION] = FAMILY(dcp_attention, NULL),
};
const size_t family_count = COUNT(families);

const char *const architectures[] = {"gfx950"};
const size_t architecture_count = COUNT(architectures);
