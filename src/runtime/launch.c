#include "runtime/launch.h"

dsajit_status launch_resident(const dsajit_context *context, const struct resident *resident,
                              const struct launch *launch, hipStream_t stream, dsajit_error *error)
{
    size_t size = launch->arguments_size;
    void *extra[] = {HIP_LAUNCH_PARAM_BUFFER_POINTER, (void *)(uintptr_t)launch->arguments,
                     HIP_LAUNCH_PARAM_BUFFER_SIZE, &size, HIP_LAUNCH_PARAM_END};
    hipError_t result = context->hip.table.hipModuleLaunchKernel(
        resident->function, launch->grid[0], launch->grid[1], launch->grid[2], launch->workgroup, 1,
        1, 0, stream, NULL, extra);
    return result == hipSuccess ? DSAJIT_OK
                                : hip_check(&context->hip, result, "hipModuleLaunchKernel", error);
}

dsajit_status launch_kernel(dsajit_context *context, const struct launch *launch,
                            hipStream_t stream, dsajit_error *error)
{
    if (!launch->grid[0] || !launch->grid[1] || !launch->grid[2])
        return DSAJIT_OK;
    const struct resident *resident;
    dsajit_status status =
        resident_get(context, launch->device, launch->variant, stream, &resident, error);
    return status ? status : launch_resident(context, resident, launch, stream, error);
}
