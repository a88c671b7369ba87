/* dsajit_model_read takes any bytes. What it accepts lies within the limits that it states. */
#include "fuzz.h"

#include "dsajit/model.h"

#include <math.h>
#include <string.h>

static const char *const seeds[] = {
    "{\"hidden_size\":7168,\"num_attention_heads\":96,\"q_lora_rank\":1536,\"kv_lora_rank\":512,"
    "\"qk_nope_head_dim\":128,\"qk_rope_head_dim\":64,\"v_head_dim\":128,\"rms_norm_eps\":1e-5,"
    "\"mla_use_nope\":true,\"mla_use_output_gate\":true,\"rope_parameters\":{\"rope_type\":"
    "\"yarn\","
    "\"factor\":8,\"mscale_all_dim\":1},\"dsa_config\":{\"index_num_heads\":32,"
    "\"index_head_dim\":128,\"index_topk\":2048,\"index_rope_dim\":0,"
    "\"index_k_norm_type\":\"layernorm\"}}",
    "{\"text_config\":{\"hidden_size\":7168,\"num_attention_heads\":128,\"kv_lora_rank\":512,"
    "\"qk_nope_head_dim\":128,\"qk_rope_head_dim\":64,\"v_head_dim\":128,\"index_n_heads\":64,"
    "\"index_head_dim\":128,\"index_topk\":2048,\"rope_scaling\":{\"type\":\"yarn\",\"factor\":40,"
    "\"mscale_all_dim\":1.0}}}",
};

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const dsajit_parallel_layout layout = {8, 1, 1, 1};
    dsajit_model model;
    dsajit_error error = {0};
    dsajit_status status = dsajit_model_read((const char *)data, size, &layout,
                                             (dsajit_indexer_format)(size % 2), &model, &error);
    if (status) {
        fuzz_require(status == DSAJIT_ERROR_INVALID_ARGUMENT || status == DSAJIT_ERROR_UNSUPPORTED,
                     "a refusal is one of two kinds");
        fuzz_require(error.status == status && *error.message, "a refusal has a reason");
        return 0;
    }
    fuzz_require(model.attended_heads >= 1 && model.attended_heads <= DSAJIT_HEADS_MAX,
                 "the heads of a call can be served");
    fuzz_require(model.padded_heads >= model.heads && model.padded_heads % layout.tensor == 0,
                 "heads are padded to the tensor parallel size");
    fuzz_require(isfinite((float)model.softmax_scale), "the softmax scale is a number");
    fuzz_require(model.index_topk >= 1 && model.index_topk <= 2048, "top-k can be served");
    return 0;
}

size_t fuzz_seed(unsigned number, uint8_t *data, size_t room)
{
    if (number >= sizeof seeds / sizeof *seeds || strlen(seeds[number]) > room)
        return 0;
    memcpy(data, seeds[number], strlen(seeds[number]));
    return strlen(seeds[number]);
}

/* A JSON text has nothing to repair. */
void fuzz_repair(uint8_t *data, size_t size)
{
    (void)data, (void)size;
}
