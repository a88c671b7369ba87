#include "runtime/family_launch.h"

#include "runtime/family_problem.h"
#include "runtime/launch.h"

static dsajit_status prepare_memory(const struct hip *hip, char *memory, dsajit_error *error)
{
    static const int64_t one[] = {0, 1};
    dsajit_status status =
        hip_check(hip, hip->table.hipMemset(memory, 0, PROBLEM_PLACES * PROBLEM_PLACE_BYTES),
                  "hipMemset", error);
    if (status)
        return status;
    return hip_check(hip,
                     hip->table.hipMemcpy(memory + PROBLEM_ONE * PROBLEM_PLACE_BYTES, one,
                                          sizeof one, hipMemcpyHostToDevice),
                     "hipMemcpy", error);
}

dsajit_status launch_one_token(const dsajit_context *context, const struct variant *variant,
                               const struct resident *resident, dsajit_error *error)
{
    const struct hip *hip = &context->hip;
    struct call call = {0};
    void *memory;
    dsajit_status status =
        hip_check(hip, hip->table.hipMalloc(&memory, PROBLEM_PLACES * PROBLEM_PLACE_BYTES),
                  "hipMalloc", error);
    if (status)
        return status;
    family_problems[variant->family](memory, &call);
    const struct launch launch = {
        .grid = {1, 1, 1},
        .workgroup = call.workgroup_size,
        .arguments = call.arguments,
        .arguments_size = call.arguments_size,
    };
    if (!(status = prepare_memory(hip, memory, error)) &&
        !(status = launch_resident(context, resident, &launch, NULL, error)))
        status = hip_check(hip, hip->table.hipDeviceSynchronize(), "hipDeviceSynchronize", error);
    hip->table.hipFree(memory);
    return status;
}
