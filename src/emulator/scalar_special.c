/* Scalar instructions on what is not an ordinary register: EXEC with its saved copy, registers
   chosen by M0, and the hardware registers. */
#include "emulator/dispatch.h"
#include "emulator/scalar_alu.h"
#include "emulator/workgroup.h"

/* ---- EXEC ---- */

static void set_exec(struct wave *wave, uint64_t value)
{
    wave->scalar[SCALAR_EXEC] = (uint32_t)value;
    wave->scalar[SCALAR_EXEC + 1] = (uint32_t)(value >> 32);
    wave->scc = value != 0;
}

/* a: the source, e: EXEC before. The result is EXEC before, or for wrexec after. */
#define DEFINE_EXEC(name, new_exec, result)                                                        \
    static bool execute_##name(struct wave *wave, const struct instruction *instruction)           \
    {                                                                                              \
        const uint64_t a = scalar_read_b64(wave, instruction, 1), e = wave_exec(wave);             \
        scalar_write_b64(wave, instruction, result);                                               \
        set_exec(wave, new_exec);                                                                  \
        return true;                                                                               \
    }

#define EXEC_OPERATIONS(X)                                                                         \
    X(s_and_saveexec_b64, a &e, e)                                                                 \
    X(s_or_saveexec_b64, a | e, e)                                                                 \
    X(s_xor_saveexec_b64, a ^ e, e)                                                                \
    X(s_andn1_saveexec_b64, ~a &e, e)                                                              \
    X(s_andn2_saveexec_b64, a & ~e, e)                                                             \
    X(s_orn1_saveexec_b64, ~a | e, e)                                                              \
    X(s_orn2_saveexec_b64, a | ~e, e)                                                              \
    X(s_nand_saveexec_b64, ~(a & e), e)                                                            \
    X(s_nor_saveexec_b64, ~(a | e), e)                                                             \
    X(s_xnor_saveexec_b64, ~(a ^ e), e)                                                            \
    X(s_andn1_wrexec_b64, ~a &e, ~a &e)                                                            \
    X(s_andn2_wrexec_b64, a & ~e, a & ~e)

EXEC_OPERATIONS(DEFINE_EXEC)

/* ---- Registers chosen by M0 ---- */

/* The operand M0 registers behind `operand`; false after a fault. */
static bool displace(struct wave *wave, const struct instruction *instruction,
                     const struct operand *operand, struct operand *displaced)
{
    uint64_t index = (uint64_t)operand->index + wave->scalar[SCALAR_M0];
    if (operand->kind != OPERAND_SCALAR || index + operand->width > SCALAR_FLAT_SCRATCH)
        return wave_fault(wave, instruction, -1, "M0 = %u leads beyond the scalar registers",
                          wave->scalar[SCALAR_M0]);
    *displaced = *operand;
    displaced->index = (uint16_t)index;
    return wave_check_scalar(wave, instruction, SCALAR_M0, 1) &&
           wave_check_scalar(wave, instruction, displaced->index, displaced->width);
}

static void move(struct wave *wave, const struct operand *to, const struct operand *from)
{
    if (to->width == 2)
        wave_scalar_result64(wave, to, wave_scalar_source64(wave, from));
    else
        wave_scalar_result(wave, to, wave_scalar_source(wave, from));
}

static bool execute_movrels(struct wave *wave, const struct instruction *instruction)
{
    struct operand source = {0};
    if (!displace(wave, instruction, &instruction->operands[1], &source))
        return false;
    move(wave, &instruction->operands[0], &source);
    return true;
}

static bool execute_movreld(struct wave *wave, const struct instruction *instruction)
{
    struct operand destination = {0};
    if (!displace(wave, instruction, &instruction->operands[0], &destination))
        return false;
    move(wave, &destination, &instruction->operands[1]);
    return true;
}

/* ---- Hardware registers ---- */

enum hardware_register {
    REGISTER_MODE = 1,
    REGISTER_STATUS = 2,
    REGISTER_TRAPSTS = 3,
    REGISTER_HW_ID = 4,
    REGISTER_LDS_ALLOC = 6,
    REGISTER_SH_MEM_BASES = 15,
    REGISTER_XCC_ID = 20
};

static uint32_t status(const struct wave *wave)
{
    enum { EXECZ = 9, VCCZ = 10, IN_WORKGROUP = 11, VALID = 16 };
    return (uint32_t)wave->scc | (uint32_t)(wave_exec(wave) == 0) << EXECZ |
           (uint32_t)(wave_vcc(wave) == 0) << VCCZ |
           (uint32_t)(wave->workgroup->wave_count > 1) << IN_WORKGROUP | UINT32_C(1) << VALID;
}

/* The virtual device has one compute unit on one die; a wave's slot and SIMD follow its index. */
static uint32_t hardware_id(const struct wave *wave)
{
    return (wave->index / 4 & 0xf) | (wave->index % 4) << 4;
}

/* LDS_ALLOC's size, in the 64 dwords that its field counts. */
static uint32_t lds_allocation(const struct wave *wave)
{
    return (uint32_t)((lds_size(wave->lds) + 255) / 256) << 12;
}

/* The upper halves of the apertures: private in the low 16 bits, shared in the high ones. */
static uint32_t aperture_bases(void)
{
    return (uint32_t)(APERTURE_PRIVATE_BASE >> 48) | (uint32_t)(APERTURE_SHARED_BASE >> 48) << 16;
}

static bool read_register(const struct wave *wave, unsigned id, uint32_t *value)
{
    switch (id) {
    case REGISTER_MODE:
        *value = wave->mode;
        return true;
    case REGISTER_STATUS:
        *value = status(wave);
        return true;
    case REGISTER_HW_ID:
        *value = hardware_id(wave);
        return true;
    case REGISTER_LDS_ALLOC:
        *value = lds_allocation(wave);
        return true;
    case REGISTER_SH_MEM_BASES:
        *value = aperture_bases();
        return true;
    case REGISTER_TRAPSTS: /* no exception is enabled, so none is ever recorded */
    case REGISTER_XCC_ID:
        *value = 0;
        return true;
    default:
        return false;
    }
}

/* The three fields of the immediate that "hwreg(…)" stands for. */
struct register_field {
    unsigned id, first;
    uint32_t mask;
};

static struct register_field field(const struct instruction *instruction, unsigned operand)
{
    uint32_t immediate = (uint32_t)instruction->operands[operand].value;
    return (struct register_field){.id = immediate & 0x3f,
                                   .first = immediate >> 6 & 0x1f,
                                   .mask = UINT32_MAX >> (31 - (immediate >> 11 & 0x1f))};
}

static bool execute_s_getreg_b32(struct wave *wave, const struct instruction *instruction)
{
    struct register_field f = field(instruction, 1);
    uint32_t value;
    if (!read_register(wave, f.id, &value))
        return wave_fault(wave, instruction, -1, "the emulator has no hardware register %u", f.id);
    scalar_write_b32(wave, instruction, value >> f.first & f.mask);
    return true;
}

static bool set_register(struct wave *wave, const struct instruction *instruction, uint32_t value)
{
    struct register_field f = field(instruction, 0);
    if (f.id != REGISTER_MODE)
        return wave_fault(wave, instruction, -1, "hardware register %u is not to be written", f.id);
    uint32_t mask = f.mask << f.first;
    wave->mode = (wave->mode & ~mask) | (value << f.first & mask);
    return true;
}

static bool execute_s_setreg(struct wave *wave, const struct instruction *instruction)
{
    return set_register(wave, instruction, scalar_read_b32(wave, instruction, 1));
}

#define ROW_EXEC(name, new_exec, result) {#name, "d:b64 s:b64", execute_##name, 0},

static const struct opcode rows[] = {
    EXEC_OPERATIONS(ROW_EXEC){"s_movrels_b32", "d:b32 s:b32", execute_movrels, 0},
    {"s_movrels_b64", "d:b64 s:b64", execute_movrels, 0},
    {"s_movreld_b32", "d:b32 s:b32", execute_movreld, 0},
    {"s_movreld_b64", "d:b64 s:b64", execute_movreld, 0},
    {"s_getreg_b32", "d:b32 s:lbl", execute_s_getreg_b32, 0},
    {"s_setreg_b32", "s:lbl s:b32", execute_s_setreg, 0},
    {"s_setreg_imm32_b32", "s:lbl s:lbl", execute_s_setreg, 0},
};

const struct opcode_table opcodes_scalar_special = {rows, sizeof rows / sizeof rows[0]};
