/* Loaded code objects and their kernels, as HIP's module and function handles. */
#ifndef EMULATOR_HIP_MODULE_H
#define EMULATOR_HIP_MODULE_H

#include "emulator/code_object.h"
#include "emulator/handles.h"
#include "emulator/hip_device.h"

struct ihipModuleSymbol_t {
    hipModule_t module;
    const struct kernel *kernel;
};

struct ihipModule_t {
    atomic_uint references; /* hipModuleUnload drops one; each kept launch holds one */
    struct device *device;
    struct code_object object; /* its bytes are the caller's and gone: segments and symbols only */
    struct program program;
    struct ihipModuleSymbol_t *functions; /* one a kernel of the program */
};

void module_retain(hipModule_t module);

/* Takes device->execution if it was the last. */
void module_release(hipModule_t module);

#endif
