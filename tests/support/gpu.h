/* Small HIP kernels on the emulator, for tests: compiled by hipRTC in the helper, loaded and
   launched through HIP's own entry points.

       static const char source[] = "extern \"C\" __global__ void twice(int *x)"
                                    "{ x[threadIdx.x] *= 2; }";
       struct gpu gpu;
       gpu_open(&gpu);
       hipFunction_t twice = gpu_compile(&gpu, source, "twice");
       int values[64] = {1, 2, 3};
       void *device = gpu_upload(&gpu, values, sizeof values);
       gpu_launch(&gpu, twice, 1, 64, &device);
       gpu_download(&gpu, values, device, sizeof values);
       gpu_close(&gpu);

   Whatever fails fails the running test, with HIP's error and the emulator's reason. */
#ifndef TESTS_SUPPORT_GPU_H
#define TESTS_SUPPORT_GPU_H

#include "base/bytes.h"
#include "base/hip_table.h"
#include "emulator/emulator.h"

enum { GPU_MODULES_MAX = 256, GPU_ALLOCATIONS_MAX = 1024 };

struct gpu {
    void *library;
    struct hip_table hip;
    struct compiler *compiler;
    /* What the emulator has beside HIP. */
    const char *(*error)(void);
    const char *(*fault)(void);
    void (*clear_fault)(void);
    void (*counters)(struct dsajit_emulator_counters *);
    void (*reset_counters)(void);
    dsajit_status (*configure)(const struct dsajit_emulator_options *, dsajit_error *);
    /* What gpu_close gives back. */
    hipModule_t modules[GPU_MODULES_MAX];
    size_t module_count;
    void *allocations[GPU_ALLOCATIONS_MAX];
    size_t allocation_count;
};

/* Opens the emulator that DSAJIT_EMULATOR names. */
void gpu_open(struct gpu *gpu);

/* Frees what was loaded and allocated with the functions below, and forgets a fault. */
void gpu_close(struct gpu *gpu);

/* Compiles `source` with hipRTC for gfx950 (-O3 and `options`, NULL-terminated or NULL). The caller
   frees *code. */
void gpu_compile_code(struct gpu *gpu, const char *source, const char *const *options,
                      struct bytes *code);

/* Loads a code object, and finds its kernel `name`. */
hipFunction_t gpu_load(struct gpu *gpu, const void *code, const char *name);

/* gpu_compile_code and gpu_load in one. */
hipFunction_t gpu_compile(struct gpu *gpu, const char *source, const char *name);

/* Device memory: as hipMalloc leaves it, or with a copy of `data`. */
void *gpu_allocate(struct gpu *gpu, size_t size);
void *gpu_upload(struct gpu *gpu, const void *data, size_t size);
void gpu_download(struct gpu *gpu, void *data, const void *device, size_t size);

/* Launches in one dimension; what follows are pointers to the arguments. */
#define gpu_launch(gpu, function, grid, block, ...)                                                \
    gpu_launch_with((gpu), (function), (unsigned[3]){(grid), 1, 1}, (unsigned[3]){(block), 1, 1},  \
                    0, (void *[]){__VA_ARGS__})

/* Launches in the null stream; on an error the test fails. */
void gpu_launch_with(struct gpu *gpu, hipFunction_t function, const unsigned grid[3],
                     const unsigned block[3], unsigned dynamic_lds, void **arguments);

/* As gpu_launch_with, for launches that are meant to fault: returns HIP's error. */
hipError_t gpu_try_launch(struct gpu *gpu, hipFunction_t function, const unsigned grid[3],
                          const unsigned block[3], unsigned dynamic_lds, void **arguments);

/* assert_hip(&gpu, gpu.hip.hipFree(p)): the call succeeds. */
#define assert_hip(gpu, call) gpu_check((gpu), (call), #call, __FILE__, __LINE__)
void gpu_check(const struct gpu *gpu, hipError_t error, const char *call, const char *file,
               int line);

#endif
