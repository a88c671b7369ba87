/* R8: whatever a call asks for, warmup could have enumerated. */
#include "dsajit/dsajit.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

/* One tensor on ROCm device 0. Only described: dispatch reads no device memory. */
struct described {
    DLTensor tensor;
    int64_t shape[3];
};

static void describe(struct described *to, uint8_t code, uint8_t bits, int rank, int64_t a,
                     int64_t b, int64_t c)
{
    *to = (struct described){.shape = {a, b, c}};
    to->tensor = (DLTensor){.data = (void *)4096,
                            .device = {kDLROCM, 0},
                            .ndim = rank,
                            .dtype = {code, bits, 1},
                            .shape = to->shape};
}

struct search {
    const char *wanted;
    bool found;
};

static bool compare(void *user, const char *variant)
{
    struct search *search = user;
    search->found = strcmp(variant, search->wanted) == 0;
    return !search->found;
}

static void every_call_uses_an_enumerated_variant(void **state)
{
    dsajit_context *context = *state;
    srand(8);
    for (int round = 0; round < 2000; round++) {
        int64_t tokens = rand() % 9, heads = 1 + rand() % 16, entries = rand() % 1000;
        struct described q, kv, indptr, indices, out, lse;
        describe(&q, kDLBfloat, 16, 3, tokens, heads, 576);
        describe(&kv, kDLUInt, 8, 2, 100, 656, 0);
        describe(&indptr, kDLInt, rand() % 2 ? 32 : 64, 1, tokens + 1, 0, 0);
        describe(&indices, kDLInt, rand() % 2 ? 32 : 64, 1, entries, 0, 0);
        describe(&out, kDLBfloat, 16, 3, tokens, heads, 512);
        describe(&lse, kDLFloat, 32, 2, tokens, heads, 0);
        const dsajit_sparse_mla_arguments arguments = {
            .struct_size = sizeof arguments,
            .q = &q.tensor,
            .kv = &kv.tensor,
            .kv_indptr = &indptr.tensor,
            .kv_indices = &indices.tensor,
            .out = &out.tensor,
            .lse = rand() % 2 ? &lse.tensor : NULL,
            .softmax_scale = 0.1,
            .has_invalid = rand() % 2,
            .scale = rand() % 2 ? DSAJIT_SCALE_ANY : DSAJIT_SCALE_POW2,
        };
        dsajit_text variant;
        dsajit_error error = {0};
        if (dsajit_sparse_mla_variant(context, &arguments, &variant, &error))
            fail_msg("%s", error.message);
        struct search search = {.wanted = variant.data};
        assert_int_equal(dsajit_visit_variants("sparse_mla", compare, &search, NULL), DSAJIT_OK);
        assert_true(search.found);
        dsajit_text_free(&variant);
    }
}

static int open_emulator(void **state)
{
    dsajit_options options = DSAJIT_OPTIONS_DEFAULT;
    options.device = DSAJIT_DEVICE_EMULATOR;
    return dsajit_open(&options, (dsajit_context **)state, NULL);
}

static int close_context(void **state)
{
    dsajit_close(*state);
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_call_uses_an_enumerated_variant),
    };
    return cmocka_run_group_tests(tests, open_emulator, close_context);
}
