#include "emulator/workgroup.h"
#include "emulator/fault.h"
#include "emulator/register_index.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* In a fixed order waves change turns only now and then, so that one that waits for another by
   polling memory does not wait forever; in a pseudo-random one they change often. */
enum { TURN_FIXED = 1 << 16, TURN_RANDOM_MAX = 64 };

enum { SCRATCH_POISON = 0xcb, ROWS_PER_WAVE = VECTOR_COUNT + OPERAND_WIDTH_MAX };

/* ---- Life ---- */

static unsigned count_waves(const struct dispatch *dispatch)
{
    return (dispatch->block[0] * dispatch->block[1] * dispatch->block[2] + LANES - 1) / LANES;
}

bool workgroup_create(struct workgroup *workgroup, struct grid *grid)
{
    const struct dispatch *dispatch = grid->dispatch;
    size_t lds_bytes_needed = (size_t)dispatch->kernel->lds_size + dispatch->dynamic_lds;
    unsigned waves = count_waves(dispatch);
    size_t scratch = (size_t)waves * LANES * dispatch->kernel->scratch_size;
    *workgroup = (struct workgroup){.grid = grid, .wave_count = waves};
    workgroup->lds = lds_create(lds_bytes_needed);
    workgroup->waves = calloc(waves, sizeof *workgroup->waves);
    workgroup->vectors =
        aligned_alloc(LANES, (size_t)waves * ROWS_PER_WAVE * sizeof(uint32_t[LANES]));
    workgroup->scratch = scratch ? malloc(scratch) : NULL;
    return workgroup->lds && workgroup->waves && workgroup->vectors &&
           (workgroup->scratch || !scratch);
}

void workgroup_free(struct workgroup *workgroup)
{
    if (workgroup->lds)
        lds_destroy(workgroup->lds);
    free(workgroup->waves);
    free(workgroup->vectors);
    free(workgroup->scratch);
}

void workgroup_start(struct workgroup *workgroup, uint64_t index)
{
    const struct dispatch *dispatch = workgroup->grid->dispatch;
    const uint32_t *grid = dispatch->grid;
    size_t scratch = (size_t)LANES * dispatch->kernel->scratch_size;
    workgroup->index = index;
    workgroup->id[0] = (uint32_t)(index % grid[0]);
    workgroup->id[1] = (uint32_t)(index / grid[0] % grid[1]);
    workgroup->id[2] = (uint32_t)(index / grid[0] / grid[1]);
    memset(workgroup->executed, 0, sizeof workgroup->executed);
    lds_reset(workgroup->lds, (size_t)dispatch->kernel->lds_size + dispatch->dynamic_lds);
    if (scratch)
        memset(workgroup->scratch, SCRATCH_POISON, scratch * workgroup->wave_count);
    for (unsigned i = 0; i < workgroup->wave_count; ++i) {
        struct wave *wave = &workgroup->waves[i];
        struct memory_hint hint = wave->memory_hint;
        *wave = (struct wave){
            .workgroup = workgroup,
            .lds = workgroup->lds,
            .memory = dispatch->memory,
            .memory_hint = hint,
            .program = dispatch->program,
            .index = i,
            .vector = workgroup->vectors + (size_t)i * ROWS_PER_WAVE,
            .scratch_base = scratch ? (uintptr_t)workgroup->scratch + i * scratch : 0,
            .scratch_size = dispatch->kernel->scratch_size,
            .check_initialised = dispatch->check_initialised,
        };
        wave_start(wave);
    }
}

/* ---- Turns ---- */

/* Runs at most `turn` instructions; false after a fault. */
static bool run_wave(struct workgroup *workgroup, struct wave *wave, uint64_t turn)
{
    const struct instruction *instructions = wave->program->instructions;
    uint64_t left = turn;
    do {
        const struct instruction *instruction = &instructions[wave->pc++];
        struct instruction indexed;
        if (wave->mode & MODE_REGISTER_INDEX) {
            instruction = register_index_apply(wave, instruction, &indexed);
            if (!instruction)
                return false;
        }
        if ((wave->registers_in_flight || wave->check_initialised) &&
            !wave_check_operands(wave, instruction))
            return false;
        ++workgroup->counts[instruction->class];
        if (!instruction->opcode->execute(wave, instruction))
            return false;
    } while (--left && wave->state == WAVE_RUNNING);
    workgroup->executed[wave->index] += turn - left;
    if (workgroup->executed[wave->index] > workgroup->grid->instruction_limit)
        return wave_fault(wave, &instructions[wave->pc], -1,
                          "the wave has not ended after %" PRIu64 " instructions",
                          workgroup->executed[wave->index]);
    return true;
}

/* SplitMix64 */
static uint64_t next_random(uint64_t *state)
{
    uint64_t z = *state += UINT64_C(0x9e3779b97f4a7c15);
    z = (z ^ z >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ z >> 27) * UINT64_C(0x94d049bb133111eb);
    return z ^ z >> 31;
}

/* Picks the next wave that can run, at or behind `from`; NULL: none. */
static struct wave *pick(struct workgroup *workgroup, unsigned from)
{
    for (unsigned i = 0; i < workgroup->wave_count; ++i) {
        struct wave *wave = &workgroup->waves[(from + i) % workgroup->wave_count];
        if (wave->state == WAVE_RUNNING)
            return wave;
    }
    return NULL;
}

/* ---- Barriers ---- */

static unsigned count_in_state(const struct workgroup *workgroup, enum wave_state state)
{
    unsigned count = 0;
    for (unsigned i = 0; i < workgroup->wave_count; ++i)
        count += workgroup->waves[i].state == state;
    return count;
}

static void append_waves(const struct workgroup *workgroup, enum wave_state state, char *text,
                         size_t size)
{
    const struct instruction *instructions = workgroup->grid->dispatch->program->instructions;
    size_t used = 0;
    for (unsigned i = 0; i < workgroup->wave_count && used < size; ++i) {
        const struct wave *wave = &workgroup->waves[i];
        const struct instruction *last = &instructions[wave->pc - 1];
        if (wave->state == state)
            used += (size_t)snprintf(text + used, size - used, "%s%u (pc 0x%x)", used ? ", " : "",
                                     i, last->offset);
    }
}

static bool fault_barrier(struct workgroup *workgroup)
{
    char waiting[400] = "", ended[400] = "";
    append_waves(workgroup, WAVE_AT_BARRIER, waiting, sizeof waiting);
    append_waves(workgroup, WAVE_ENDED, ended, sizeof ended);
    return workgroup_fault(workgroup, "a barrier that not all waves reach: waiting %s; ended %s",
                           waiting, ended);
}

/* When no wave can run: all at the barrier pass it, and *ended says whether there was nobody. */
static bool pass_barrier(struct workgroup *workgroup, bool *ended)
{
    unsigned waiting = count_in_state(workgroup, WAVE_AT_BARRIER);
    *ended = waiting == 0;
    if (waiting == 0)
        return true;
    if (waiting != workgroup->wave_count)
        return fault_barrier(workgroup);
    lds_barrier(workgroup->lds);
    for (unsigned i = 0; i < workgroup->wave_count; ++i)
        workgroup->waves[i].state = WAVE_RUNNING;
    return true;
}

bool workgroup_finish(struct workgroup *workgroup)
{
    uint64_t seed = workgroup->grid->dispatch->schedule_seed;
    uint64_t random = seed ^ workgroup->index * UINT64_C(0xd1342543de82ef95);
    unsigned from = 0;
    for (bool ended = false; !ended && !atomic_load(&workgroup->grid->stopped);) {
        uint64_t draw = seed ? next_random(&random) : 0;
        uint64_t turn = seed ? 1 + (draw >> 32) % TURN_RANDOM_MAX : TURN_FIXED;
        struct wave *wave = pick(workgroup, seed ? (unsigned)(draw & 0xffff) : from);
        if (!wave) {
            if (!pass_barrier(workgroup, &ended))
                return false;
            continue;
        }
        if (!run_wave(workgroup, wave, turn))
            return false;
        from = wave->index + 1;
    }
    return true;
}
