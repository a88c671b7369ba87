/* The state in which the hardware starts a wave, as LLVM's AMDGPU usage guide describes it for
   code object version 5 and gfx950: packed work-item ids, architected flat scratch. */
#include "emulator/workgroup.h"

#include <string.h>

/* kernel_code_properties of the kernel descriptor. */
enum code_properties {
    PROPERTY_PRIVATE_SEGMENT_BUFFER = 1 << 0,
    PROPERTY_DISPATCH_PTR = 1 << 1,
    PROPERTY_QUEUE_PTR = 1 << 2,
    PROPERTY_KERNARG_SEGMENT_PTR = 1 << 3,
    PROPERTY_DISPATCH_ID = 1 << 4,
    PROPERTY_FLAT_SCRATCH_INIT = 1 << 5,
    PROPERTY_PRIVATE_SEGMENT_SIZE = 1 << 6,
    PROPERTY_WAVEFRONT_SIZE_32 = 1 << 10
};

/* compute_pgm_rsrc2 */
enum rsrc2_bits {
    RSRC2_WORKGROUP_ID_X = 1 << 7,
    RSRC2_WORKGROUP_ID_Y = 1 << 8,
    RSRC2_WORKGROUP_ID_Z = 1 << 9,
    RSRC2_WORKGROUP_INFO = 1 << 10
};

enum { VECTOR_POISON = 0x7fc0dead, SCALAR_POISON = 0x5ca1dead, PRELOAD_PROLOGUE_SIZE = 256 };

const char *wave_start_defect(const struct kernel *kernel)
{
    static const struct {
        uint16_t property;
        const char *text;
    } defects[] = {
        {PROPERTY_PRIVATE_SEGMENT_BUFFER, "a private segment buffer, which gfx950 does not have"},
        {PROPERTY_WAVEFRONT_SIZE_32, "waves of 32 lanes, which gfx950 does not have"},
    };
    for (size_t i = 0; i < sizeof defects / sizeof defects[0]; ++i) {
        if (kernel->code_properties & defects[i].property)
            return defects[i].text;
    }
    return NULL;
}

/* ---- Scalar registers, in the order of their initialisation ---- */

static void push(struct wave *wave, unsigned *next, uint32_t value)
{
    wave->scalar[(*next)++] = value;
}

static void push64(struct wave *wave, unsigned *next, uint64_t value)
{
    push(wave, next, (uint32_t)value);
    push(wave, next, (uint32_t)(value >> 32));
}

static unsigned preload_count(const struct kernel *kernel)
{
    return kernel->kernarg_preload & 0x7f;
}

/* The user registers' count is a field of five bits; the descriptor may promise no more. */
static void push_preloaded(struct wave *wave, unsigned *next, const struct dispatch *dispatch)
{
    const struct kernel *kernel = dispatch->kernel;
    unsigned user_count = kernel->rsrc2 >> 1 & 0x1f;
    size_t offset = 4 * (size_t)(kernel->kernarg_preload >> 7);
    for (unsigned i = 0; i < preload_count(kernel) && *next < user_count; ++i, offset += 4) {
        uint32_t value = 0;
        if (offset + 4 <= kernel->kernarg_size)
            memcpy(&value, (const char *)dispatch->kernarg + offset, sizeof value);
        push(wave, next, value);
    }
}

static void start_scalars(struct wave *wave)
{
    const struct workgroup *workgroup = wave->workgroup;
    const struct dispatch *dispatch = workgroup->grid->dispatch;
    const struct kernel *kernel = dispatch->kernel;
    unsigned properties = kernel->code_properties, next = 0;
    for (unsigned i = 0; i < SCALAR_COUNT; ++i)
        wave->scalar[i] = SCALAR_POISON;
    if (properties & PROPERTY_DISPATCH_PTR)
        push64(wave, &next, (uintptr_t)workgroup->grid->packet);
    if (properties & PROPERTY_QUEUE_PTR) /* there is none: who follows it faults */
        push64(wave, &next, 0);
    if (properties & PROPERTY_KERNARG_SEGMENT_PTR)
        push64(wave, &next, (uintptr_t)dispatch->kernarg);
    if (properties & PROPERTY_DISPATCH_ID)
        push64(wave, &next, 0);
    if (properties & PROPERTY_FLAT_SCRATCH_INIT)
        push64(wave, &next, wave->scratch_base);
    if (properties & PROPERTY_PRIVATE_SEGMENT_SIZE)
        push(wave, &next, kernel->scratch_size);
    push_preloaded(wave, &next, dispatch);
    if (kernel->rsrc2 & RSRC2_WORKGROUP_ID_X)
        push(wave, &next, workgroup->id[0]);
    if (kernel->rsrc2 & RSRC2_WORKGROUP_ID_Y)
        push(wave, &next, workgroup->id[1]);
    if (kernel->rsrc2 & RSRC2_WORKGROUP_ID_Z)
        push(wave, &next, workgroup->id[2]);
    if (kernel->rsrc2 & RSRC2_WORKGROUP_INFO)
        push(wave, &next, workgroup->wave_count);
    wave->scalar[SCALAR_FLAT_SCRATCH] = (uint32_t)wave->scratch_base;
    wave->scalar[SCALAR_FLAT_SCRATCH + 1] = (uint32_t)(wave->scratch_base >> 32);
}

/* ---- Vector registers and EXEC ---- */

/* Work-item ids, 10 bits each for x, y and z, in v0; y and z only as far as the kernel asks. */
static void start_vectors(struct wave *wave)
{
    const struct dispatch *dispatch = wave->workgroup->grid->dispatch;
    const uint32_t *block = dispatch->block;
    unsigned dimensions = dispatch->kernel->rsrc2 >> 11 & 0x3;
    uint32_t thread_count = block[0] * block[1] * block[2];
    uint64_t exec = 0;
    for (unsigned i = 0; i < VECTOR_COUNT + OPERAND_WIDTH_MAX; ++i) {
        for (unsigned lane = 0; lane < LANES; ++lane)
            wave->vector[i][lane] = VECTOR_POISON;
    }
    for (unsigned lane = 0; lane < LANES; ++lane) {
        uint32_t thread = wave->index * LANES + lane;
        uint32_t x = thread % block[0], y = thread / block[0] % block[1];
        uint32_t z = thread / block[0] / block[1];
        exec |= (uint64_t)(thread < thread_count) << lane;
        wave->vector[0][lane] =
            x | (dimensions >= 1 ? y << 10 : 0) | (dimensions >= 2 ? (z & 0x3ff) << 20 : 0);
    }
    wave->scalar[SCALAR_EXEC] = (uint32_t)exec;
    wave->scalar[SCALAR_EXEC + 1] = (uint32_t)(exec >> 32);
    wave->initialised[0] = 1;
}

/* MODE's bits 0…7 are rsrc1's float modes; then DX10_CLAMP and IEEE. */
static uint32_t start_mode(uint32_t rsrc1)
{
    return (rsrc1 >> 12 & 0xff) | (rsrc1 >> 21 & 1) << 8 | (rsrc1 >> 23 & 1) << 9;
}

/* Code with preloaded arguments begins with a prologue for firmware that cannot preload. */
uint32_t wave_entry(const struct dispatch *dispatch)
{
    const struct kernel *kernel = dispatch->kernel;
    const struct program *program = dispatch->program;
    if (preload_count(kernel) == 0 || kernel->entry >= program->instruction_count)
        return kernel->entry;
    uint64_t start = program->instructions[kernel->entry].offset;
    return program_find_instruction(program, start + PRELOAD_PROLOGUE_SIZE);
}

void wave_start(struct wave *wave)
{
    const struct dispatch *dispatch = wave->workgroup->grid->dispatch;
    start_scalars(wave);
    start_vectors(wave);
    wave->mode = start_mode(dispatch->kernel->rsrc1);
    wave->pc = wave_entry(dispatch);
    wave->state = WAVE_RUNNING;
}
