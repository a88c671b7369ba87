/* What the files of the vector ALU share.

   An instruction is a row of a family: its mnemonic and one expression over a, b and c, the sources
   of one lane. A family's macro turns each row into a loop over lanes, an execute function, and a
   row of the opcode table. The functions here fetch the sources of such a loop, and finish its
   results by the rules of the MODE register and the instruction's output modifiers. */
#ifndef EMULATOR_VECTOR_ALU_H
#define EMULATOR_VECTOR_ALU_H

#include "emulator/float_mode.h"

/* What arithmetic cannot do if MODE asks for it: other roundings than to nearest even, and
   saturating f16. */
enum { UNSERVED_F32 = 0x3, UNSERVED_F64 = 0xc, UNSERVED_F16 = UNSERVED_F64 | MODE_SATURATE_NARROW };

enum { SOURCES_MAX = 3 };

/* Computes all lanes of one result from the lanes of each source. */
typedef void (*lane_loop)(uint32_t *restrict result, const uint32_t *const *sources);
typedef void (*lane_loop64)(uint64_t *restrict result, const uint64_t *const *sources);

/* Loops over lanes exist twice, for AVX2 and for any x86-64, where the linker can choose at load
   time. Sanitizers' run time is not up yet at that time. */
#if defined(__x86_64__) && defined(__GLIBC__) && defined(__GNUC__) && !defined(__clang__) &&       \
    !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
#define LANE_LOOP __attribute__((target_clones("arch=haswell", "default")))
#else
#define LANE_LOOP
#endif

/* What differs in a loop by the number of sources: statements without the last semicolon. */
#define LOOP_SOURCES_1(bits) const bits *restrict lanes_a = sources[0]
#define LOOP_SOURCES_2(bits)                                                                       \
    LOOP_SOURCES_1(bits);                                                                          \
    const bits *restrict lanes_b = sources[1]
#define LOOP_SOURCES_3(bits)                                                                       \
    LOOP_SOURCES_2(bits);                                                                          \
    const bits *restrict lanes_c = sources[2]
#define LOOP_VALUES_1(type, load) const type a = load(lanes_a[lane])
#define LOOP_VALUES_2(type, load)                                                                  \
    LOOP_VALUES_1(type, load);                                                                     \
    const type b = load(lanes_b[lane])
#define LOOP_VALUES_3(type, load)                                                                  \
    LOOP_VALUES_2(type, load);                                                                     \
    const type c = load(lanes_c[lane])

/* A loop `name` over `count` sources: `load` makes a source of C type `type` from a lane's bits,
   `store` makes bits from the expression's value. Both are functions or parenthesised casts. */
#define DEFINE_LOOP_OF(bits, name, count, type, load, store, expression)                           \
    LANE_LOOP static void name(bits *restrict result, const bits *const *sources)                  \
    {                                                                                              \
        LOOP_SOURCES_##count(bits);                                                                \
        for (unsigned lane = 0; lane < LANES; lane++) {                                            \
            LOOP_VALUES_##count(type, load);                                                       \
            result[lane] = store(expression);                                                      \
        }                                                                                          \
    }

#define DEFINE_LOOP(name, count, type, load, store, expression)                                    \
    DEFINE_LOOP_OF(uint32_t, name, count, type, load, store, expression)
#define DEFINE_LOOP64(name, count, type, load, store, expression)                                  \
    DEFINE_LOOP_OF(uint64_t, name, count, type, load, store, expression)

/* The execute function of a mnemonic: `run` is one of the functions below. */
#define DEFINE_EXECUTE(mnemonic, run, ...)                                                         \
    static bool execute_##mnemonic(struct wave *wave, const struct instruction *instruction)       \
    {                                                                                              \
        return run(wave, instruction, __VA_ARGS__);                                                \
    }

#define OPCODE_ROW(mnemonic, operands, flags) {#mnemonic, operands, execute_##mnemonic, flags},

/* Where a loop's sources lie. */
enum source_order {
    SOURCES_AFTER_RESULT, /* operands 1, 2, … */
    SOURCES_ACCUMULATE    /* operands 1, 2, and then operand 0 as it is: v_fmac */
};

/* ---- Running a loop; each returns what an execute function returns ---- */

/* Integers and bits. */
bool alu_run(struct wave *wave, const struct instruction *instruction, lane_loop loop,
             unsigned count);

/* As alu_run with 64-bit lanes; operands whose type is narrower are zero-extended or cut. */
bool alu_run64(struct wave *wave, const struct instruction *instruction, lane_loop64 loop,
               unsigned count);

/* Arithmetic that rounds. A NaN result becomes the first source that is a NaN, made quiet, or the
   default NaN. Then omod, clamp and the flushing of subnormals. */
bool alu_run_f32(struct wave *wave, const struct instruction *instruction, lane_loop loop,
                 unsigned count, enum source_order order);
bool alu_run_f16(struct wave *wave, const struct instruction *instruction, lane_loop loop,
                 unsigned count, enum source_order order);
bool alu_run_f64(struct wave *wave, const struct instruction *instruction, lane_loop64 loop,
                 unsigned count, enum source_order order);

/* Operations that choose among their sources (min, max, med3): NaNs are the loop's concern. Out of
   IEEE mode signaling NaNs count as quiet. */
bool alu_select_f32(struct wave *wave, const struct instruction *instruction, lane_loop loop,
                    unsigned count);
bool alu_select_f16(struct wave *wave, const struct instruction *instruction, lane_loop loop,
                    unsigned count);
bool alu_select_f64(struct wave *wave, const struct instruction *instruction, lane_loop64 loop,
                    unsigned count);

/* ---- Pieces, for functions that no family fits ---- */

/* As wave_source, with subnormals flushed as MODE asks where the operand's type is a float. */
const uint32_t *alu_source(struct wave *wave, const struct instruction *instruction,
                           unsigned operand, uint32_t scratch[LANES]);
const uint64_t *alu_source64(struct wave *wave, const struct instruction *instruction,
                             unsigned operand, uint64_t scratch[LANES]);

/* Writes 64-bit lanes to operand 0. */
void alu_result64(struct wave *wave, const struct instruction *instruction,
                  const uint64_t lanes[LANES]);

/* omod, clamp and flushing of results in place. f16 lanes hold one half in their low 16 bits. */
void alu_finish_f32(const struct wave *wave, const struct instruction *instruction,
                    uint32_t result[LANES]);
void alu_finish_f16(const struct wave *wave, const struct instruction *instruction,
                    uint32_t result[LANES]);
void alu_finish_f64(const struct wave *wave, const struct instruction *instruction,
                    uint64_t result[LANES]);

/* Replaces NaNs among results by the first NaN of `sources`, quiet, or the default NaN. */
void alu_settle_nans_f32(uint32_t result[LANES], const uint32_t *const *sources, unsigned count);
void alu_settle_nans_f16(uint32_t result[LANES], const uint32_t *const *sources, unsigned count);
void alu_settle_nans_f64(uint64_t result[LANES], const uint64_t *const *sources, unsigned count);

/* Subnormals in `lanes` (f16: in the low half) become zeros of their sign. */
void alu_flush_f32(uint32_t lanes[LANES]);
void alu_flush_f16(uint32_t lanes[LANES]);
void alu_flush_f64(uint64_t lanes[LANES]);

/* False after a fault if MODE has any of the bits `unserved`. */
bool alu_check_mode(struct wave *wave, const struct instruction *instruction, uint32_t unserved);

/* A bit per lane from a flag (0 or 1) per lane. */
uint64_t alu_pack_mask(const uint8_t flags[LANES]);

#endif
