/* From a model's config.json and a parallel layout to what its sparse attention needs: head counts,
   scales, formats, cache bytes, and the list of kernel variants. */
#ifndef DSAJIT_MODEL_H
#define DSAJIT_MODEL_H

#include "dsajit/indexer.h"
#include "dsajit/warmup.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef enum dsajit_model_style {
    DSAJIT_MODEL_KIMI_K3 = 0, /* a dsa_config object: no rotation anywhere */
    DSAJIT_MODEL_DEEPSEEK_V32 =
        1 /* index_n_heads, index_head_dim and index_topk beside the other fields */
} dsajit_model_style;

/* How a model is spread over devices; every size is 1 or more. */
typedef struct dsajit_parallel_layout {
    int tensor;          /* tensor parallel size */
    int decode_context;  /* decode context parallel size: ranks of a tensor group that share a
                            sequence's cache */
    int prefill_context; /* prefill context parallel size; only 1 is served */
    int interleave;      /* consecutive tokens that a decode context rank owns */
} dsajit_parallel_layout;

#define DSAJIT_PARALLEL_LAYOUT_DEFAULT                                                             \
    {                                                                                              \
        1, 1, 1, 1                                                                                 \
    }

typedef struct dsajit_model {
    dsajit_model_style style;
    dsajit_parallel_layout layout;
    dsajit_indexer_format indexer_format;

    /* As config.json says. */
    int hidden_size;
    int heads;       /* attention heads */
    int q_lora_rank; /* 0: the query has no low-rank projection */
    int kv_lora_rank, qk_nope_head_dim, qk_rope_head_dim, v_head_dim;
    int index_heads, index_head_dim, index_topk;
    dsajit_key_norm key_norm;
    bool output_gate;
    double rms_norm_eps;

    /* Derived. */
    int padded_heads;     /* heads, rounded up to a multiple of the tensor parallel size */
    int local_heads;      /* of one rank */
    int attended_heads;   /* in one sparse MLA call: local_heads times decode_context, whose ranks
                             gather their queries */
    double yarn_mscale;   /* 1 without YaRN */
    double softmax_scale; /* (nope + rope)^-0.5 * yarn_mscale^2 */
    double index_head_scale;    /* index_heads^-0.5 */
    double index_softmax_scale; /* index_head_dim^-0.5 */
    int index_cache_bytes;      /* of one token */
    int attention_cache_bytes;  /* of one token */
} dsajit_model;

/* Reads a config.json of a Kimi-K3.1 or DeepSeek-V3.2 model (its text_config, where it has one) and
   derives the rest. Fields that are not needed are ignored. The checks and their order are those of
   vLLM's KimiK3DSAAttention, then this library's own limits. INVALID_ARGUMENT: not JSON, a field
   missing, of a wrong type or absurd. UNSUPPORTED: a model this library doesn't serve. */
DSAJIT_API dsajit_status dsajit_model_read(const char *json, size_t size,
                                           const dsajit_parallel_layout *layout,
                                           dsajit_indexer_format indexer_format,
                                           dsajit_model *model, dsajit_error *error);

/* Tokens of an index cache page, as serving engines have them on this architecture. */
enum { DSAJIT_MODEL_PAGE_TOKENS = 64 };

/* Adds every variant that a rank of the model needs for dsajit_sparse_attention, and for its parts
   in decode context parallelism: the key norm, the index format and heads as the model has them,
   pages of DSAJIT_MODEL_PAGE_TOKENS, top-k of either kind, 32-bit indices, power-of-two scales,
   with and without LSE. With more than one decode context rank also scores beside the top-k, lists
   with holes, and the merging kernels. INVALID_ARGUMENT when a field of the model has a value that
   no kernel is made for. */
DSAJIT_API dsajit_status dsajit_plan_add_model(dsajit_plan *plan, const dsajit_model *model,
                                               dsajit_error *error);

#ifdef __cplusplus
}
#endif
#endif
