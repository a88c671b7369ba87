/* A HIP runtime whose modules load and whose kernels are launched at once, without doing anything.
   What is measured with it is dsajit's own part. Everything else is the emulator's. */
#define FORWARD_PROLOGUE(name) ""
#include "support/forward_hip.h"

static int load_data(void **module, const void *image)
{
    (void)image;
    *module = &forwards;
    return 0;
}

static int unload(void *module)
{
    (void)module;
    return 0;
}

static int get_function(void **function, void *module, const char *name)
{
    (void)module, (void)name;
    *function = &forwards;
    return 0;
}

static int launch_kernel(void *function, unsigned grid_x, unsigned grid_y, unsigned grid_z,
                         unsigned block_x, unsigned block_y, unsigned block_z, unsigned lds,
                         void *stream, void **arguments, void **extra)
{
    (void)function, (void)grid_x, (void)grid_y, (void)grid_z, (void)block_x, (void)block_y;
    (void)block_z, (void)lds, (void)stream, (void)arguments, (void)extra;
    return 0;
}

/* C has no conversion from function to object pointer; POSIX promises the same bytes. */
#define REPLACE(name, function)                                                                    \
    do {                                                                                           \
        __typeof__(&(function)) own = (function);                                                  \
        memcpy(&target_##name, &own, sizeof own);                                                  \
    } while (0)

static void forward_adjust(void)
{
    REPLACE(hipModuleLoadData, load_data);
    REPLACE(hipModuleUnload, unload);
    REPLACE(hipModuleGetFunction, get_function);
    REPLACE(hipModuleLaunchKernel, launch_kernel);
}
