/* SOPP, the calls and the jumps: everything that decides what a wave runs next, and when. */
#include "emulator/dispatch.h"
#include "emulator/wave.h"

static bool execute_nothing(struct wave *wave, const struct instruction *instruction)
{
    (void)wave;
    (void)instruction;
    return true;
}

static bool execute_end(struct wave *wave, const struct instruction *instruction)
{
    (void)instruction;
    wave->state = WAVE_ENDED;
    return true;
}

static bool execute_barrier(struct wave *wave, const struct instruction *instruction)
{
    (void)instruction;
    wave->state = WAVE_AT_BARRIER;
    return true;
}

static bool execute_trap(struct wave *wave, const struct instruction *instruction)
{
    return wave_fault(wave, instruction, -1, "the kernel trapped");
}

static bool execute_halt(struct wave *wave, const struct instruction *instruction)
{
    if (instruction->immediate & 1)
        return wave_fault(wave, instruction, -1, "the wave halted, and nothing resumes it");
    return true;
}

static bool execute_waitcnt(struct wave *wave, const struct instruction *instruction)
{
    wave_wait(wave, instruction->waitcnt_vm, instruction->waitcnt_lgkm);
    return true;
}

/* ---- Branches ---- */

static bool branch(struct wave *wave, const struct instruction *instruction, bool taken)
{
    if (!taken)
        return true;
    if (instruction->target == TARGET_NONE)
        return wave_fault(wave, instruction, -1,
                          "the target is no instruction of this code object");
    wave->pc = instruction->target;
    return true;
}

#define DEFINE_BRANCH(name, condition)                                                             \
    static bool execute_##name(struct wave *wave, const struct instruction *instruction)           \
    {                                                                                              \
        return branch(wave, instruction, condition);                                               \
    }

DEFINE_BRANCH(s_branch, true)
DEFINE_BRANCH(s_cbranch_scc0, !wave->scc)
DEFINE_BRANCH(s_cbranch_scc1, wave->scc)
DEFINE_BRANCH(s_cbranch_vccz, wave_vcc(wave) == 0)
DEFINE_BRANCH(s_cbranch_vccnz, wave_vcc(wave) != 0)
DEFINE_BRANCH(s_cbranch_execz, wave_exec(wave) == 0)
DEFINE_BRANCH(s_cbranch_execnz, wave_exec(wave) != 0)

/* ---- Jumps to an address in registers ---- */

static uint64_t next_address(const struct wave *wave, const struct instruction *instruction)
{
    return wave->program->text_address + instruction->offset + instruction->size;
}

static bool jump(struct wave *wave, const struct instruction *instruction, uint64_t address)
{
    uint32_t target =
        program_find_instruction(wave->program, address - wave->program->text_address);
    if (target == TARGET_NONE)
        return wave_fault(wave, instruction, -1, "0x%llx is no instruction of this code object",
                          (unsigned long long)address);
    wave->pc = target;
    return true;
}

static bool execute_s_getpc_b64(struct wave *wave, const struct instruction *instruction)
{
    wave_scalar_result64(wave, &instruction->operands[0], next_address(wave, instruction));
    return true;
}

static bool execute_s_setpc_b64(struct wave *wave, const struct instruction *instruction)
{
    return jump(wave, instruction, wave_scalar_source64(wave, &instruction->operands[0]));
}

static bool execute_s_swappc_b64(struct wave *wave, const struct instruction *instruction)
{
    uint64_t target = wave_scalar_source64(wave, &instruction->operands[1]);
    wave_scalar_result64(wave, &instruction->operands[0], next_address(wave, instruction));
    return jump(wave, instruction, target);
}

static bool execute_s_call_b64(struct wave *wave, const struct instruction *instruction)
{
    wave_scalar_result64(wave, &instruction->operands[0], next_address(wave, instruction));
    return branch(wave, instruction, true);
}

#define BRANCH_ROW(name)                                                                           \
    {                                                                                              \
#name, "s:lbl", execute_##name, OPCODE_BRANCH                                              \
    }

static const struct opcode rows[] = {
    BRANCH_ROW(s_branch),
    BRANCH_ROW(s_cbranch_scc0),
    BRANCH_ROW(s_cbranch_scc1),
    BRANCH_ROW(s_cbranch_vccz),
    BRANCH_ROW(s_cbranch_vccnz),
    BRANCH_ROW(s_cbranch_execz),
    BRANCH_ROW(s_cbranch_execnz),
    {"s_call_b64", "d:b64 s:lbl", execute_s_call_b64, OPCODE_BRANCH},
    {"s_getpc_b64", "d:b64", execute_s_getpc_b64, 0},
    {"s_setpc_b64", "s:b64", execute_s_setpc_b64, 0},
    {"s_swappc_b64", "d:b64 s:b64", execute_s_swappc_b64, 0},

    {"s_barrier", "", execute_barrier, 0},
    {"s_endpgm", "[s:lbl]", execute_end, 0},
    {"s_endpgm_saved", "", execute_end, 0},
    {"s_trap", "s:lbl", execute_trap, 0},
    {"s_sethalt", "s:lbl", execute_halt, 0},
    {"s_waitcnt", "[s:lbl]", execute_waitcnt, 0},

    /* Hints and signals to what is not there: timing, caches, the host's message handler. */
    {"s_nop", "s:lbl", execute_nothing, 0},
    {"s_sleep", "s:lbl", execute_nothing, 0},
    {"s_setprio", "s:lbl", execute_nothing, 0},
    {"s_sendmsg", "s:lbl", execute_nothing, 0},
    {"s_icache_inv", "", execute_nothing, 0},
    {"s_incperflevel", "s:lbl", execute_nothing, 0},
    {"s_decperflevel", "s:lbl", execute_nothing, 0},
    {"s_ttracedata", "", execute_nothing, 0},
};

const struct opcode_table opcodes_control = {rows, sizeof rows / sizeof rows[0]};
