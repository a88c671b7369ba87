#include "emulator/dispatch.h"
#include "emulator/workgroup.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { INSTRUCTION_LIMIT_LOG2 = 36, LDS_SIZE_MAX = 163840 };

/* ---- The dispatch packet ---- */

/* The fields of an AQL kernel dispatch packet that device code reads. */
struct dispatch_packet {
    uint16_t header, setup;
    uint16_t workgroup_size[3], reserved0;
    uint32_t grid_size[3]; /* in threads */
    uint32_t private_segment_size, group_segment_size;
    uint64_t kernel_object, kernarg_address, reserved2, completion_signal;
};

static void fill_packet(struct dispatch_packet *packet, const struct dispatch *dispatch)
{
    enum { HEADER_KERNEL_DISPATCH = 2, SETUP_THREE_DIMENSIONS = 3 };
    *packet = (struct dispatch_packet){
        .header = HEADER_KERNEL_DISPATCH,
        .setup = SETUP_THREE_DIMENSIONS,
        .private_segment_size = dispatch->kernel->scratch_size,
        .group_segment_size = dispatch->kernel->lds_size + dispatch->dynamic_lds,
        .kernarg_address = (uintptr_t)dispatch->kernarg,
    };
    for (unsigned i = 0; i < 3; ++i) {
        packet->workgroup_size[i] = (uint16_t)dispatch->block[i];
        packet->grid_size[i] = dispatch->grid[i] * dispatch->block[i];
    }
}

/* ---- Workers ---- */

static void fail_without_memory(struct grid *grid)
{
    pthread_mutex_lock(&grid->mutex);
    if (grid->error.status == DSAJIT_OK)
        error_set(&grid->error, DSAJIT_ERROR_OUT_OF_MEMORY,
                  "no memory for the registers and the LDS of a workgroup of kernel %s",
                  grid->dispatch->kernel->name);
    pthread_mutex_unlock(&grid->mutex);
    atomic_store(&grid->stopped, true);
}

static void *work(void *argument)
{
    struct grid *grid = argument;
    struct workgroup workgroup;
    if (!workgroup_create(&workgroup, grid))
        fail_without_memory(grid);
    while (!atomic_load(&grid->stopped)) {
        uint64_t index = atomic_fetch_add(&grid->next, 1);
        if (index >= grid->workgroup_count)
            break;
        workgroup_start(&workgroup, index);
        if (!workgroup_finish(&workgroup))
            break;
    }
    pthread_mutex_lock(&grid->mutex);
    for (unsigned i = 0; i < CLASS_COUNT; ++i)
        grid->counts[i] += workgroup.counts[i];
    pthread_mutex_unlock(&grid->mutex);
    workgroup_free(&workgroup);
    return NULL;
}

/* The calling thread is a worker too; one that cannot be started is not missed. */
static void run_workers(struct grid *grid, unsigned count)
{
    pthread_t *threads = count > 1 ? calloc(count - 1, sizeof *threads) : NULL;
    unsigned started = 0;
    while (threads && started < count - 1 &&
           pthread_create(&threads[started], NULL, work, grid) == 0)
        ++started;
    work(grid);
    for (unsigned i = 0; i < started; ++i)
        pthread_join(threads[i], NULL);
    free(threads);
}

static unsigned count_workers(const struct dispatch *dispatch, uint64_t workgroups)
{
    uint64_t count = dispatch->threads;
    if (count == 0) {
        long cores = sysconf(_SC_NPROCESSORS_ONLN);
        count = cores > 0 ? (uint64_t)cores : 1;
    }
    return (unsigned)(count < workgroups ? count : workgroups);
}

/* ---- The dispatch ---- */

static dsajit_status check(const struct dispatch *dispatch, dsajit_error *error)
{
    const struct kernel *kernel = dispatch->kernel;
    uint64_t threads = 1, workgroups = 1;
    for (unsigned i = 0; i < 3; ++i) {
        if (__builtin_mul_overflow(workgroups, dispatch->grid[i], &workgroups))
            return error_set(error, DSAJIT_ERROR_INVALID_ARGUMENT, "kernel %s: a grid of %ux%ux%u",
                             kernel->name, dispatch->grid[0], dispatch->grid[1], dispatch->grid[2]);
        if (dispatch->block[i] == 0 || dispatch->block[i] > WORKGROUP_THREADS_MAX)
            return error_set(error, DSAJIT_ERROR_INVALID_ARGUMENT, "kernel %s: a block of %ux%ux%u",
                             kernel->name, dispatch->block[0], dispatch->block[1],
                             dispatch->block[2]);
        threads *= dispatch->block[i];
    }
    if (threads > WORKGROUP_THREADS_MAX)
        return error_set(error, DSAJIT_ERROR_INVALID_ARGUMENT,
                         "kernel %s: a block of %llu threads, of at most %d", kernel->name,
                         (unsigned long long)threads, WORKGROUP_THREADS_MAX);
    if ((uint64_t)kernel->lds_size + dispatch->dynamic_lds > LDS_SIZE_MAX)
        return error_set(error, DSAJIT_ERROR_INVALID_ARGUMENT,
                         "kernel %s: %u + %u bytes of LDS, of at most %d", kernel->name,
                         kernel->lds_size, dispatch->dynamic_lds, LDS_SIZE_MAX);
    if (wave_entry(dispatch) >= dispatch->program->instruction_count)
        return error_set(error, DSAJIT_ERROR_INVALID_ARGUMENT,
                         "kernel %s: its entry is no instruction", kernel->name);
    const char *defect = wave_start_defect(kernel);
    if (defect)
        return error_set(error, DSAJIT_ERROR_UNSUPPORTED, "kernel %s asks for %s", kernel->name,
                         defect);
    return DSAJIT_OK;
}

static void add_counts(struct dispatch_counters *counters, const struct grid *grid)
{
    const struct dispatch *dispatch = grid->dispatch;
    const uint64_t *counts = grid->counts;
    uint32_t threads = dispatch->block[0] * dispatch->block[1] * dispatch->block[2];
    *counters = (struct dispatch_counters){
        .vector = counts[CLASS_VECTOR],
        .scalar = counts[CLASS_SCALAR],
        .matrix = counts[CLASS_MATRIX],
        .lds = counts[CLASS_LDS],
        .vector_memory = counts[CLASS_VECTOR_MEMORY],
        .scalar_memory = counts[CLASS_SCALAR_MEMORY],
        .barriers = counts[CLASS_BARRIER],
        .workgroups = grid->workgroup_count,
        .waves = grid->workgroup_count * ((threads + LANES - 1) / LANES),
    };
    for (unsigned i = 0; i < CLASS_COUNT; ++i)
        counters->instructions += counts[i];
}

dsajit_status dispatch_run(const struct dispatch *dispatch, struct dispatch_counters *counters,
                           dsajit_error *error)
{
    dsajit_status status = check(dispatch, error);
    if (status != DSAJIT_OK)
        return status;
    struct dispatch_packet packet;
    fill_packet(&packet, dispatch);
    struct grid grid = {
        .dispatch = dispatch,
        .packet = &packet,
        .instruction_limit = dispatch->instruction_limit ? dispatch->instruction_limit
                                                         : UINT64_C(1) << INSTRUCTION_LIMIT_LOG2,
        .workgroup_count = (uint64_t)dispatch->grid[0] * dispatch->grid[1] * dispatch->grid[2],
        .mutex = PTHREAD_MUTEX_INITIALIZER,
    };
    if (!device_memory_register(dispatch->memory, &packet, sizeof packet, false))
        return error_set(error, DSAJIT_ERROR_OUT_OF_MEMORY, "no memory for a dispatch packet");
    run_workers(&grid, count_workers(dispatch, grid.workgroup_count));
    device_memory_unregister(dispatch->memory, &packet);
    pthread_mutex_destroy(&grid.mutex);
    if (counters)
        add_counts(counters, &grid);
    if (grid.error.status != DSAJIT_OK && error)
        *error = grid.error;
    return grid.error.status;
}
