/* One sparse MLA problem in host memory: its operands, and what others computed for it. */
#ifndef TOOLS_PROBLEM_H
#define TOOLS_PROBLEM_H

#include <dsajit/dsajit.h>

struct problem {
    int64_t tokens, heads, slots, index_count;
    double softmax_scale;
    bool has_invalid;
    uint16_t *q;      /* [tokens][heads][576] bf16 */
    uint8_t *kv;      /* [slots][656] */
    int64_t *indptr;  /* [tokens + 1] */
    int64_t *indices; /* [index_count], each below `slots`; negative ones only with has_invalid */
    uint16_t *expected_out; /* [tokens][heads][512] bf16, by another implementation; or NULL */
    float *expected_lse;    /* [tokens][heads], by another implementation; or NULL */
};

void problem_free(struct problem *problem);

/* What a random problem is like. */
struct problem_shape {
    int64_t tokens, heads;
    int64_t topk; /* entries of every row, drawn with replacement */
    int64_t slots;
    uint64_t seed;
    double invalid;            /* probability that an entry is masked, as -1 */
    dsajit_scale_format scale; /* rule by which the records are written */
};

/* Query, latent and rope with mean 0 and variance 1, softmax_scale 576^-0.5: scores have variance
   1. The same shape gives the same bytes on every machine. INVALID_ARGUMENT when it is too large to
   be meant. */
dsajit_status problem_create_random(const struct problem_shape *shape, struct problem *problem,
                                    dsajit_error *error);

#endif
