#include "support/gpu.h"

#include "compiler/compiler.h"

#include <dlfcn.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

void gpu_check(const struct gpu *gpu, hipError_t error, const char *call, const char *file,
               int line)
{
    if (!error)
        return;
    print_error("%s: %s: %s\n", call, gpu->hip.hipGetErrorName(error), gpu->error());
    _fail(file, line);
}

void gpu_open(struct gpu *gpu)
{
    *gpu = (struct gpu){0};
    const char *path = getenv("DSAJIT_EMULATOR");
    gpu->library = dlopen(path ? path : "libdsajit_emulator.so", RTLD_NOW | RTLD_LOCAL);
    if (!gpu->library)
        fail_msg("%s", dlerror());
    const char *missing;
    if (!hip_table_fill(gpu->library, &gpu->hip, &missing))
        fail_msg("the emulator lacks %s", missing);
    const struct {
        const char *name;
        void *function;
    } extras[] = {
        {"dsajit_emulator_error", &gpu->error},
        {"dsajit_emulator_fault", &gpu->fault},
        {"dsajit_emulator_clear_fault", &gpu->clear_fault},
        {"dsajit_emulator_counters", &gpu->counters},
        {"dsajit_emulator_reset_counters", &gpu->reset_counters},
        {"dsajit_emulator_configure", &gpu->configure},
    };
    for (size_t i = 0; i < sizeof extras / sizeof *extras; i++) {
        void *symbol = dlsym(gpu->library, extras[i].name);
        if (!symbol)
            fail_msg("the emulator lacks %s", extras[i].name);
        memcpy(extras[i].function, &symbol, sizeof symbol);
    }
    dsajit_error error;
    if (compiler_create(&(struct compiler_options){0}, &gpu->compiler, &error))
        fail_msg("%s", error.message);
}

void gpu_close(struct gpu *gpu)
{
    gpu->clear_fault();
    for (size_t i = 0; i < gpu->allocation_count; i++)
        assert_hip(gpu, gpu->hip.hipFree(gpu->allocations[i]));
    for (size_t i = 0; i < gpu->module_count; i++)
        assert_hip(gpu, gpu->hip.hipModuleUnload(gpu->modules[i]));
    compiler_destroy(gpu->compiler);
    dlclose(gpu->library);
}

void gpu_compile_code(struct gpu *gpu, const char *source, const char *const *options,
                      struct bytes *code)
{
    const char *flags[16] = {"-O3", "-std=c++17"};
    for (size_t i = 0; options && options[i]; i++) {
        assert_true(i + 3 < sizeof flags / sizeof *flags);
        flags[i + 2] = options[i];
    }
    const struct compile_request request = {
        .source = source, .name = "test.hip", .target = "gfx950", .options = flags};
    struct compile_result result = {0};
    dsajit_error error;
    if (compiler_compile(gpu->compiler, &request, &result, &error))
        fail_msg("%s\n%s", error.message, bytes_text(&result.log));
    *code = result.code;
    result.code = (struct bytes){0};
    compile_result_free(&result);
}

hipFunction_t gpu_load(struct gpu *gpu, const void *code, const char *name)
{
    hipModule_t module;
    hipFunction_t function;
    assert_hip(gpu, gpu->hip.hipModuleLoadData(&module, code));
    assert_true(gpu->module_count < GPU_MODULES_MAX);
    gpu->modules[gpu->module_count++] = module;
    assert_hip(gpu, gpu->hip.hipModuleGetFunction(&function, module, name));
    return function;
}

hipFunction_t gpu_compile(struct gpu *gpu, const char *source, const char *name)
{
    struct bytes code;
    gpu_compile_code(gpu, source, NULL, &code);
    hipFunction_t function = gpu_load(gpu, code.data, name);
    bytes_free(&code);
    return function;
}

void *gpu_allocate(struct gpu *gpu, size_t size)
{
    void *pointer;
    assert_hip(gpu, gpu->hip.hipMalloc(&pointer, size));
    assert_true(gpu->allocation_count < GPU_ALLOCATIONS_MAX);
    gpu->allocations[gpu->allocation_count++] = pointer;
    return pointer;
}

void *gpu_upload(struct gpu *gpu, const void *data, size_t size)
{
    void *pointer = gpu_allocate(gpu, size);
    assert_hip(gpu, gpu->hip.hipMemcpy(pointer, data, size, hipMemcpyHostToDevice));
    return pointer;
}

void gpu_download(struct gpu *gpu, void *data, const void *device, size_t size)
{
    assert_hip(gpu, gpu->hip.hipMemcpy(data, device, size, hipMemcpyDeviceToHost));
}

hipError_t gpu_try_launch(struct gpu *gpu, hipFunction_t function, const unsigned grid[3],
                          const unsigned block[3], unsigned dynamic_lds, void **arguments)
{
    return gpu->hip.hipModuleLaunchKernel(function, grid[0], grid[1], grid[2], block[0], block[1],
                                          block[2], dynamic_lds, NULL, arguments, NULL);
}

void gpu_launch_with(struct gpu *gpu, hipFunction_t function, const unsigned grid[3],
                     const unsigned block[3], unsigned dynamic_lds, void **arguments)
{
    assert_hip(gpu, gpu_try_launch(gpu, function, grid, block, dynamic_lds, arguments));
    assert_hip(gpu, gpu->hip.hipDeviceSynchronize());
}
