/* One layer of a model with DeepSeek Sparse Attention, decoding: from projected activations to the
   attention's output, on a GPU or, without one, on the emulator.

   What a serving engine does, in its order:

       1  open        the HIP runtime, the cache of kernels
       2  reserve     caches, the step's buffers, a workspace of a known size
       3  warm up     every kernel that a step needs, then forbid compiling
       4  prefill     here only the caches' content of random prompts
       5  capture     a step, once
       6  replay      a step of other tokens in the same buffers, again and again

   The program uses nothing but dsajit's public headers. HIP's functions come from
   dsajit_hip_symbol, so that the same binary runs on either runtime; a program that is linked with
   HIP calls them directly. */
#include <dsajit/attention.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A rank of Kimi K3.1 at tensor parallel 8, with a batch of four requests. */
enum {
    HEADS = 12,
    QUERY_WIDTH = DSAJIT_KV_LORA_RANK + DSAJIT_QK_ROPE_HEAD_DIM,
    INDEX_HEADS = 32,
    TOPK = 2048,
    PAGE_TOKENS = 64,
    MAX_CONTEXT = 3072,
    BLOCKS = MAX_CONTEXT / PAGE_TOKENS, /* of a request, at most */
    REQUESTS = 4,
    PAGES = REQUESTS * BLOCKS + 1, /* page 0 is nobody's */
    STEPS = 3
};
static const double softmax_scale = 0.07216878364870322; /* (128 + 64)^-0.5 */
static const double rms_norm_eps = 1e-5;

static void fail(const char *what, const char *why)
{
    fprintf(stderr, "decode_step: %s: %s\n", what, why);
    exit(1);
}

/* Every dsajit function says in words why it failed. */
static void check(const char *what, dsajit_status status, const dsajit_error *error)
{
    if (status)
        fail(what, error->message);
}

/* ---- HIP ---- */

/* What <hip/hip_runtime_api.h> declares; enumerations are ints. */
enum { HIP_HOST_TO_DEVICE = 1, HIP_DEVICE_TO_HOST = 2, HIP_STREAM_NON_BLOCKING = 1 };
static struct {
    int (*malloc)(void **pointer, size_t size);
    int (*free)(void *pointer);
    int (*memcpy)(void *to, const void *from, size_t size, int kind);
    int (*stream_create)(void **stream, unsigned flags);
    int (*stream_synchronize)(void *stream);
    int (*stream_destroy)(void *stream);
    int (*begin_capture)(void *stream, int mode);
    int (*end_capture)(void *stream, void **graph);
    int (*instantiate)(void **executable, void *graph, void *node, char *log, size_t size);
    int (*launch)(void *executable, void *stream);
    int (*graph_destroy)(void *graph);
    int (*executable_destroy)(void *executable);
    const char *(*error_string)(int error);
} hip;

static void load_hip(const dsajit_context *context)
{
    const struct {
        const char *name;
        void *function;
    } functions[] = {
        {"hipMalloc", &hip.malloc},
        {"hipFree", &hip.free},
        {"hipMemcpy", &hip.memcpy},
        {"hipStreamCreateWithFlags", &hip.stream_create},
        {"hipStreamSynchronize", &hip.stream_synchronize},
        {"hipStreamDestroy", &hip.stream_destroy},
        {"hipStreamBeginCapture", &hip.begin_capture},
        {"hipStreamEndCapture", &hip.end_capture},
        {"hipGraphInstantiate", &hip.instantiate},
        {"hipGraphLaunch", &hip.launch},
        {"hipGraphDestroy", &hip.graph_destroy},
        {"hipGraphExecDestroy", &hip.executable_destroy},
        {"hipGetErrorString", &hip.error_string},
    };
    for (size_t i = 0; i < sizeof functions / sizeof *functions; i++) {
        void *symbol = dsajit_hip_symbol(context, functions[i].name);
        if (!symbol)
            fail(functions[i].name, "the HIP runtime lacks it");
        memcpy(functions[i].function, &symbol, sizeof symbol);
    }
}

static void check_hip(const char *what, int result)
{
    if (result)
        fail(what, hip.error_string(result));
}

/* ---- Tensors ---- */

/* A row-major tensor on device 0, as DLPack describes one. */
struct buffer {
    int64_t shape[3];
    size_t size; /* bytes */
    DLTensor tensor;
};

static void reserve(struct buffer *buffer, DLDataTypeCode code, int bits, int rank,
                    const int64_t *shape)
{
    buffer->size = (size_t)bits / 8;
    for (int i = 0; i < rank; i++) {
        buffer->shape[i] = shape[i];
        buffer->size *= (size_t)shape[i];
    }
    buffer->tensor = (DLTensor){.device = {kDLROCM, 0},
                                .ndim = rank,
                                .dtype = {(uint8_t)code, (uint8_t)bits, 1},
                                .shape = buffer->shape};
    check_hip("hipMalloc", hip.malloc(&buffer->tensor.data, buffer->size));
}

static void upload(const struct buffer *buffer, const void *data)
{
    check_hip("hipMemcpy", hip.memcpy(buffer->tensor.data, data, buffer->size, HIP_HOST_TO_DEVICE));
}

static void *download(const struct buffer *buffer)
{
    void *data = malloc(buffer->size);
    if (!data)
        fail("malloc", "no memory");
    check_hip("hipMemcpy", hip.memcpy(data, buffer->tensor.data, buffer->size, HIP_DEVICE_TO_HOST));
    return data;
}

static void release(struct buffer *buffer)
{
    check_hip("hipFree", hip.free(buffer->tensor.data));
}

/* Stands for what the layer's projections give: bf16 numbers between -1 and 1. */
static void upload_activations(const struct buffer *buffer)
{
    static uint32_t random = 1;
    const size_t count = buffer->size / sizeof(uint16_t);
    uint16_t *values = malloc(buffer->size);
    if (!values)
        fail("malloc", "no memory");
    for (size_t i = 0; i < count; i++) {
        random = random * 1664525 + 1013904223;
        const float value = (float)(random >> 8) * 0x1p-23f - 1;
        uint32_t bits;
        memcpy(&bits, &value, sizeof bits);
        values[i] = (uint16_t)(bits >> 16);
    }
    upload(buffer, values);
    free(values);
}

/* ---- The layer ---- */

/* Tokens of a prompt or of a decode step: activations, and the slots where their keys go. */
struct tokens {
    struct buffer index_k, kv_c, k_pe, slots;
};

struct layer {
    /* Caches, and the key norm's parameters. */
    struct buffer index_cache, kv_cache, norm_weight, norm_bias;
    /* Of a decode step. */
    struct tokens tokens;
    struct buffer index_q, index_v, q;               /* activations */
    struct buffer context_lens, row_requests, table; /* where each row's keys are */
    struct buffer ids, indptr, indices, out;         /* results */
    struct buffer workspace;
    dsajit_mla_cache_write_arguments cache_write;
    dsajit_indexer_arguments indexer;
    dsajit_sparse_mla_arguments attention;
    dsajit_sparse_attention_arguments step; /* the three above in one */
};

static void reserve_tokens(struct tokens *tokens, int64_t count)
{
    reserve(&tokens->index_k, kDLBfloat, 16, 2, (int64_t[]){count, DSAJIT_INDEX_HEAD_DIM});
    reserve(&tokens->kv_c, kDLBfloat, 16, 2, (int64_t[]){count, DSAJIT_KV_LORA_RANK});
    reserve(&tokens->k_pe, kDLBfloat, 16, 2, (int64_t[]){count, DSAJIT_QK_ROPE_HEAD_DIM});
    reserve(&tokens->slots, kDLInt, 64, 1, (int64_t[]){count});
}

static void release_tokens(struct tokens *tokens)
{
    release(&tokens->index_k);
    release(&tokens->kv_c);
    release(&tokens->k_pe);
    release(&tokens->slots);
}

static void upload_tokens(const struct tokens *tokens, const int64_t *slots)
{
    upload_activations(&tokens->index_k);
    upload_activations(&tokens->kv_c);
    upload_activations(&tokens->k_pe);
    upload(&tokens->slots, slots);
}

/* The workspace depends on the largest step alone, so that it can be reserved long before one. */
static void reserve_workspace(struct layer *layer)
{
    const dsajit_indexer_shape largest = {
        .format = DSAJIT_INDEXER_FP8,
        .rows = REQUESTS,
        .rows_per_request = 1,
        .heads = INDEX_HEADS,
        .max_context = MAX_CONTEXT,
    };
    size_t size;
    dsajit_error error;
    check("workspace", dsajit_indexer_workspace_size(&largest, &size, &error), &error);
    reserve(&layer->workspace, kDLUInt, 8, 1, (int64_t[]){(int64_t)size});
}

static void reserve_layer(struct layer *layer)
{
    enum { T = REQUESTS, D = DSAJIT_INDEX_HEAD_DIM };
    reserve(&layer->index_cache, kDLUInt, 8, 3,
            (int64_t[]){PAGES, PAGE_TOKENS, DSAJIT_INDEX_KEY_BYTES_FP8});
    reserve(&layer->kv_cache, kDLUInt, 8, 3, (int64_t[]){PAGES, PAGE_TOKENS, DSAJIT_RECORD_BYTES});
    reserve(&layer->norm_weight, kDLFloat, 32, 1, (int64_t[]){D});
    reserve(&layer->norm_bias, kDLFloat, 32, 1, (int64_t[]){D});
    reserve_tokens(&layer->tokens, T);
    reserve(&layer->index_q, kDLBfloat, 16, 3, (int64_t[]){T, INDEX_HEADS, D});
    reserve(&layer->index_v, kDLBfloat, 16, 2, (int64_t[]){T, INDEX_HEADS});
    reserve(&layer->q, kDLBfloat, 16, 3, (int64_t[]){T, HEADS, QUERY_WIDTH});
    reserve(&layer->context_lens, kDLInt, 32, 1, (int64_t[]){T});
    reserve(&layer->row_requests, kDLInt, 32, 1, (int64_t[]){T});
    reserve(&layer->table, kDLInt, 32, 2, (int64_t[]){T, BLOCKS});
    reserve(&layer->ids, kDLInt, 32, 2, (int64_t[]){T, TOPK});
    reserve(&layer->indptr, kDLInt, 32, 1, (int64_t[]){T + 1});
    reserve(&layer->indices, kDLInt, 32, 1, (int64_t[]){(int64_t)T * TOPK});
    reserve(&layer->out, kDLBfloat, 16, 3, (int64_t[]){T, HEADS, DSAJIT_KV_LORA_RANK});
    reserve_workspace(layer);
    float ones[D], zeros[D] = {0};
    for (int i = 0; i < D; i++)
        ones[i] = 1;
    upload(&layer->norm_weight, ones);
    upload(&layer->norm_bias, zeros);
}

/* The arguments name the step's buffers, whose content changes from step to step. */
static void describe_step(struct layer *layer)
{
    layer->cache_write = (dsajit_mla_cache_write_arguments){
        .struct_size = sizeof layer->cache_write,
        .kv_c = &layer->tokens.kv_c.tensor,
        .k_pe = &layer->tokens.k_pe.tensor,
        .slot_mapping = &layer->tokens.slots.tensor,
        .cache = &layer->kv_cache.tensor,
    };
    layer->indexer = (dsajit_indexer_arguments){
        .struct_size = sizeof layer->indexer,
        .format = DSAJIT_INDEXER_FP8,
        .index_k = &layer->tokens.index_k.tensor,
        .slot_mapping = &layer->tokens.slots.tensor,
        .norm = DSAJIT_KEY_NORM_LAYERNORM,
        .norm_weight = &layer->norm_weight.tensor,
        .norm_bias = &layer->norm_bias.tensor,
        .norm_eps = rms_norm_eps,
        .index_q = &layer->index_q.tensor,
        .index_v = &layer->index_v.tensor,
        .cache = &layer->index_cache.tensor,
        .block_table = &layer->table.tensor,
        .context_lens = &layer->context_lens.tensor,
        .row_requests = &layer->row_requests.tensor,
        .max_context = MAX_CONTEXT,
        .ids = &layer->ids.tensor,
        .stable = true, /* the same logits always select the same keys */
        .kv_indptr = &layer->indptr.tensor,
        .kv_indices = &layer->indices.tensor,
        .kv_pages = PAGES,
        .kv_page_tokens = PAGE_TOKENS,
        .workspace = &layer->workspace.tensor,
    };
    layer->attention = (dsajit_sparse_mla_arguments){
        .struct_size = sizeof layer->attention,
        .q = &layer->q.tensor,
        .kv = &layer->kv_cache.tensor,
        .out = &layer->out.tensor,
        .softmax_scale = softmax_scale,
    };
    layer->step = (dsajit_sparse_attention_arguments){
        .struct_size = sizeof layer->step,
        .cache_write = &layer->cache_write,
        .indexer = &layer->indexer,
        .attention = &layer->attention,
    };
}

static void release_layer(struct layer *layer)
{
    struct buffer *const buffers[] = {
        &layer->index_cache,  &layer->kv_cache, &layer->norm_weight, &layer->norm_bias,
        &layer->index_q,      &layer->index_v,  &layer->q,           &layer->context_lens,
        &layer->row_requests, &layer->table,    &layer->ids,         &layer->indptr,
        &layer->indices,      &layer->out,      &layer->workspace,   NULL,
    };
    for (struct buffer *const *buffer = buffers; *buffer; buffer++)
        release(*buffer);
    release_tokens(&layer->tokens);
}

/* ---- The batch, on the host: who has which pages ---- */

struct batch {
    int32_t lengths[REQUESTS]; /* tokens so far; 0: the row is padding */
    int32_t rows[REQUESTS];    /* the request of each row; -1: padding */
    int32_t table[REQUESTS][BLOCKS];
    int32_t next_page;
};

/* The slot of a request's next token. */
static int64_t take_slot(struct batch *batch, int request)
{
    const int32_t token = batch->lengths[request]++;
    if (token % PAGE_TOKENS == 0)
        batch->table[request][token / PAGE_TOKENS] = batch->next_page++;
    return (int64_t)batch->table[request][token / PAGE_TOKENS] * PAGE_TOKENS + token % PAGE_TOKENS;
}

/* A request has ended; its row stays in the graph. */
static void end_request(struct batch *batch, int request)
{
    batch->lengths[request] = 0;
    batch->rows[request] = -1;
}

/* The keys of random prompts. A real prefill also attends; it calls dsajit_sparse_attention with
   `ends` and `row_requests` in place of `context_lens`. */
static void prefill(dsajit_context *context, const struct layer *layer, struct batch *batch)
{
    static const int prompts[REQUESTS] = {2600, 2047, 700, 1};
    enum { TOTAL = 2600 + 2047 + 700 + 1 };
    static int64_t slots[TOTAL];
    struct tokens tokens;
    dsajit_error error;
    *batch = (struct batch){.next_page = 1};
    for (int request = 0, token = 0; request < REQUESTS; request++) {
        batch->rows[request] = request;
        for (int i = 0; i < prompts[request]; i++)
            slots[token++] = take_slot(batch, request);
    }
    reserve_tokens(&tokens, TOTAL);
    upload_tokens(&tokens, slots);
    dsajit_mla_cache_write_arguments records = layer->cache_write;
    records.kv_c = &tokens.kv_c.tensor;
    records.k_pe = &tokens.k_pe.tensor;
    records.slot_mapping = &tokens.slots.tensor;
    const dsajit_indexer_key_arguments keys = {
        .struct_size = sizeof keys,
        .index_k = &tokens.index_k.tensor,
        .slot_mapping = &tokens.slots.tensor,
        .cache = &layer->index_cache.tensor,
        .format = layer->indexer.format,
        .norm = layer->indexer.norm,
        .norm_weight = layer->indexer.norm_weight,
        .norm_bias = layer->indexer.norm_bias,
        .norm_eps = layer->indexer.norm_eps,
    };
    check("prefill", dsajit_mla_cache_write(context, &records, NULL, &error), &error);
    check("prefill", dsajit_indexer_key(context, &keys, NULL, &error), &error);
    check_hip("hipStreamSynchronize", hip.stream_synchronize(NULL));
    release_tokens(&tokens);
}

/* ---- Decoding ---- */

/* Every kernel of a step is compiled, or found in the cache, loaded and launched once. After that a
   compile is a mistake, and refused. */
static void warm_up(dsajit_context *context, const struct layer *layer)
{
    dsajit_plan *plan;
    dsajit_error error;
    dsajit_warm_report report;
    dsajit_warm_options options = DSAJIT_WARM_OPTIONS_DEFAULT;
    options.level = DSAJIT_WARM_RESIDENT;
    check("plan", dsajit_plan_create(&plan, &error), &error);
    check("plan", dsajit_plan_add_sparse_attention(plan, context, &layer->step, &error), &error);
    check("warmup", dsajit_warmup(context, plan, &options, &report, &error), &error);
    for (size_t i = 0; i < report.count; i++)
        printf("warm      %s\n", report.results[i].variant);
    check("seal", dsajit_seal(context, DSAJIT_SEAL_ERROR, &error), &error);
    dsajit_warm_report_free(&report);
    dsajit_plan_free(plan);
}

/* What a step does, as something that can be launched with one call. */
static void *capture(dsajit_context *context, const struct layer *layer, void *stream)
{
    void *graph, *executable;
    dsajit_error error;
    check_hip("hipStreamBeginCapture", hip.begin_capture(stream, 0));
    check("capture", dsajit_sparse_attention(context, &layer->step, stream, &error), &error);
    check_hip("hipStreamEndCapture", hip.end_capture(stream, &graph));
    check_hip("hipGraphInstantiate", hip.instantiate(&executable, graph, NULL, NULL, 0));
    check_hip("hipGraphDestroy", hip.graph_destroy(graph));
    return executable;
}

/* New tokens, in the buffers that the graph knows. */
static void upload_step(const struct layer *layer, struct batch *batch)
{
    int64_t slots[REQUESTS];
    for (int request = 0; request < REQUESTS; request++)
        slots[request] = batch->rows[request] < 0 ? -1 : take_slot(batch, request);
    upload_tokens(&layer->tokens, slots);
    upload_activations(&layer->index_q);
    upload_activations(&layer->index_v);
    upload_activations(&layer->q);
    upload(&layer->context_lens, batch->lengths);
    upload(&layer->row_requests, batch->rows);
    upload(&layer->table, batch->table);
}

static void print_step(const struct layer *layer, const struct batch *batch, int step)
{
    int32_t *indptr = download(&layer->indptr);
    printf("step %d    attended", step);
    for (int row = 0; row < REQUESTS; row++)
        printf("  %d of %d", indptr[row + 1] - indptr[row], batch->lengths[row]);
    printf("\n");
    free(indptr);
}

static float read_bf16(uint16_t value)
{
    const uint32_t bits = (uint32_t)value << 16;
    float number;
    memcpy(&number, &bits, sizeof number);
    return number;
}

/* The same step without a graph gives the same, up to the order in which a GPU adds. */
static void check_step(dsajit_context *context, const struct layer *layer, void *stream)
{
    const float tolerance = 0x1p-6f;
    dsajit_error error;
    uint16_t *replayed = download(&layer->out);
    check("step", dsajit_sparse_attention(context, &layer->step, stream, &error), &error);
    check_hip("hipStreamSynchronize", hip.stream_synchronize(stream));
    uint16_t *called = download(&layer->out);
    for (size_t i = 0; i < layer->out.size / sizeof *called; i++) {
        const float difference = read_bf16(replayed[i]) - read_bf16(called[i]);
        if (!(difference <= tolerance && difference >= -tolerance))
            fail("step", "the graph's output isn't the call's");
    }
    free(replayed);
    free(called);
}

static void decode(dsajit_context *context, const struct layer *layer, struct batch *batch)
{
    void *stream;
    check_hip("hipStreamCreateWithFlags", hip.stream_create(&stream, HIP_STREAM_NON_BLOCKING));
    void *graph = capture(context, layer, stream);
    for (int step = 0; step < STEPS; step++) {
        if (step == STEPS - 1)
            end_request(batch, 2);
        upload_step(layer, batch);
        check_hip("hipGraphLaunch", hip.launch(graph, stream));
        check_hip("hipStreamSynchronize", hip.stream_synchronize(stream));
        print_step(layer, batch, step);
        check_step(context, layer, stream);
    }
    check_hip("hipGraphExecDestroy", hip.executable_destroy(graph));
    check_hip("hipStreamDestroy", hip.stream_destroy(stream));
}

int main(void)
{
    static struct layer layer;
    static struct batch batch;
    dsajit_context *context;
    dsajit_device_info device;
    dsajit_error error;
    check("open", dsajit_open(NULL, &context, &error), &error);
    check("device", dsajit_get_device_info(context, &device, &error), &error);
    printf("device    %s\n", device.name);
    load_hip(context);
    reserve_layer(&layer);
    describe_step(&layer);
    warm_up(context, &layer);
    prefill(context, &layer, &batch);
    decode(context, &layer, &batch);
    release_layer(&layer);
    dsajit_close(context);
    return 0;
}
