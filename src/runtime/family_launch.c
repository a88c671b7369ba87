#include "runtime/family_launch.h"

#include "runtime/launch.h"

#include "sparse_mla_arguments.h"

/* One token that attends one zero record: as small as a problem gets, in one zeroed block of
 * memory. */
static dsajit_status launch_sparse_mla(const dsajit_context *context, const struct variant *variant,
                                       const struct resident *resident, char *memory,
                                       dsajit_error *error)
{
    enum { Q = 0, KV = 32768, OUT = 36864, LSE = 65536, INDPTR = 66560, INDICES = 67584 };
    const struct hip_table *hip = &context->hip.table;
    const long long row_end = 1; /* read as i32 or i64 alike: little-endian */
    int heads = variant_value(variant, SPARSE_MLA_HEADS);
    sparse_mla_arguments arguments = {
        .q = memory + Q,
        .kv = memory + KV,
        .indptr = memory + INDPTR,
        .indices = memory + INDICES,
        .out = memory + OUT,
        .lse = (float *)(void *)(memory + LSE),
        .q_token_stride = (long long)heads * 576,
        .q_head_stride = 576,
        .out_token_stride = (long long)heads * 512,
        .out_head_stride = 512,
        .indptr_stride = 1,
        .indices_stride = 1,
        .index_count = 1,
        .scale_log2e = 1,
        .tokens = 1,
        .indptr_is_i64 = 1,
    };
    dsajit_status status = hip_check(
        &context->hip,
        hip->hipMemcpy(memory + INDPTR + 8, &row_end, sizeof row_end, hipMemcpyHostToDevice),
        "hipMemcpy", error);
    if (status)
        return status;
    const struct launch launch = {
        .grid = {1, 1, 1},
        .workgroup = SPARSE_MLA_WORKGROUP_SIZE,
        .arguments = &arguments,
        .arguments_size = sizeof arguments,
    };
    return launch_resident(context, resident, &launch, NULL, error);
}

static const struct {
    dsajit_status (*launch)(const dsajit_context *context, const struct variant *variant,
                            const struct resident *resident, char *memory, dsajit_error *error);
    size_t memory;
} problems[] = {
    [FAMILY_SPARSE_MLA] = {launch_sparse_mla, 68608},
};

dsajit_status launch_one_token(const dsajit_context *context, const struct variant *variant,
                               const struct resident *resident, dsajit_error *error)
{
    const struct hip_table *hip = &context->hip.table;
    size_t size = problems[variant->family].memory;
    void *memory;
    dsajit_status status =
        hip_check(&context->hip, hip->hipMalloc(&memory, size), "hipMalloc", error);
    if (status)
        return status;
    status = hip_check(&context->hip, hip->hipMemset(memory, 0, size), "hipMemset", error);
    if (!status)
        status = problems[variant->family].launch(context, variant, resident, memory, error);
    if (!status)
        status =
            hip_check(&context->hip, hip->hipDeviceSynchronize(), "hipDeviceSynchronize", error);
    hip->hipFree(memory);
    return status;
}
