#include "index_case.h"

#include "case_json.h"
#include "harness.h"
#include "index_reference.h"
#include "raw_file.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <cmocka.h>

static void read_description(const char *directory, struct index_case *c)
{
    static const char *const formats[] = {"fp8", "mxfp4"};
    static const char *const norms[] = {"none", "rmsnorm", "layernorm"};
    const struct case_size sizes[] = {
        {"heads", 1, 64, &c->heads},
        {"rows", 1, 4096, &c->rows},
        {"keys", 1, 4096, &c->keys},
        {"num_pages", 1, 4096, &c->pages},
        {"page_tokens", 1, 256, &c->page_tokens},
        {"page_stride_bytes", 1, 65536, &c->page_stride},
    };
    struct case_json json;
    dsajit_error error = {0};
    assert_ok(case_json_open(directory, "indexer", &json, &error), &error);
    assert_ok(case_json_sizes(&json, sizes, sizeof sizes / sizeof *sizes, &error), &error);
    assert_ok(case_json_choice(&json, "format", formats, 2, &c->format, &error), &error);
    assert_ok(case_json_choice(&json, "norm", norms, 3, &c->norm, &error), &error);
    assert_ok(case_json_number(&json, "norm_eps", &c->norm_eps, &error), &error);
    case_json_close(&json);
}

void index_case_read(const char *name, struct index_case *c)
{
    char directory[4096];
    snprintf(directory, sizeof directory, "%s/tests/vectors/%s", getenv("DSAJIT_TEST_SOURCE"),
             name);
    *c = (struct index_case){0};
    read_description(directory, c);
    const size_t query_rows = (size_t)(c->rows * c->heads), keys = (size_t)c->keys;
    const size_t cache_size = (size_t)(c->pages * c->page_stride);
    const size_t row_bytes = (size_t)index_row_bytes((dsajit_indexer_format)c->format);
    const bool fp8 = c->format == DSAJIT_INDEXER_FP8;
    void *data[12] = {0};
    const struct raw_file files[] = {
        {"index_q.bf16.bin", query_rows * INDEX_ROW * 2, &data[0], false},
        {"index_v.bf16.bin", query_rows * 2, &data[1], false},
        {"q_bytes.u8.bin", query_rows * row_bytes, &data[2], false},
        {"q_scales.u8.bin", query_rows * INDEX_GROUPS, &data[3], fp8},
        {"weights.f32.bin", query_rows * sizeof(float), &data[4], !fp8},
        {"index_k_raw.bf16.bin", keys * INDEX_ROW * 2, &data[5], false},
        {"index_k.bf16.bin", keys * INDEX_ROW * 2, &data[6], false},
        {"norm_weight.f32.bin", INDEX_ROW * sizeof(float), &data[7], false},
        {"norm_bias.f32.bin", INDEX_ROW * sizeof(float), &data[8], false},
        {"slot_mapping.i64.bin", keys * sizeof(int64_t), &data[9], false},
        {"cache_before.u8.bin", cache_size, &data[10], false},
        {"cache.u8.bin", cache_size, &data[11], false},
    };
    dsajit_error error = {0};
    assert_ok(raw_files_read(directory, files, sizeof files / sizeof *files, &error), &error);
    c->index_q = data[0];
    c->index_v = data[1];
    c->q_bytes = data[2];
    c->q_scales = data[3];
    c->weights = data[4];
    c->index_k_raw = data[5];
    c->index_k = data[6];
    c->norm_weight = data[7];
    c->norm_bias = data[8];
    c->slot_mapping = data[9];
    c->cache_before = data[10];
    c->cache = data[11];
}

void index_case_free(struct index_case *c)
{
    free(c->index_q);
    free(c->index_v);
    free(c->q_bytes);
    free(c->q_scales);
    free(c->weights);
    free(c->index_k_raw);
    free(c->index_k);
    free(c->norm_weight);
    free(c->norm_bias);
    free(c->slot_mapping);
    free(c->cache_before);
    free(c->cache);
}
