/* The state of one wave, and the only ways an instruction's function touches it. */
#ifndef EMULATOR_WAVE_H
#define EMULATOR_WAVE_H

#include "emulator/instruction.h"
#include "emulator/memory.h"

enum wave_state { WAVE_RUNNING, WAVE_AT_BARRIER, WAVE_ENDED, WAVE_FAULTED };

/* One memory operation that the wave has issued and not yet waited for. What it writes is there at
   once, but reading it before the s_waitcnt that covers it is a fault, as on the machine it would
   be a race. */
struct outstanding {
    bool scalar_memory;                    /* these complete out of order */
    const struct instruction *instruction; /* filled in by wave_issue, for messages */
    uint16_t first, count; /* registers in flight: vector file, or scalar file if `scalar` */
    bool scalar;
    uint32_t lds_address,
        lds_size; /* LDS bytes in flight (direct-to-LDS loads), or size 0:
                     wave_issue marks them by lds_set_in_flight, the wait unmarks */
};

enum { OUTSTANDING_MAX = 64 };

struct outstanding_queue {
    struct outstanding items[OUTSTANDING_MAX];
    unsigned first, count; /* a ring, oldest first */
};

struct workgroup;

/* Where a flat address means LDS or scratch: its upper half is the base's, its lower half the
   offset. Outside the user-space addresses of the host, so that no allocation can lie there. The
   limits are base + 0xffffffff. */
static const uint64_t APERTURE_SHARED_BASE = (uint64_t)1 << 48;
static const uint64_t APERTURE_PRIVATE_BASE = (uint64_t)2 << 48;

struct wave {
    struct workgroup *workgroup;
    struct lds *lds;                    /* the workgroup's */
    const struct device_memory *memory; /* the dispatch's */
    struct memory_hint memory_hint;     /* for device_memory_check; zero at first */
    const struct program *program;
    uint32_t index; /* in the workgroup */
    uint32_t pc;    /* index into program->instructions; the dispatcher has already advanced it past
                       the running instruction, so a branch just stores its target */
    enum wave_state state;
    bool scc;
    uint32_t mode; /* the MODE register: rounding and denormal controls of the descriptor */
    uint32_t scalar[SCALAR_COUNT + OPERAND_WIDTH_MAX];
    uint32_t (*vector)[LANES]; /* VECTOR_COUNT + OPERAND_WIDTH_MAX rows */
    uint64_t scratch_base;     /* private segment of lane 0; lane l's lies at + l * scratch_size */
    uint32_t scratch_size;     /* bytes per lane */
    uint64_t initialised[VECTOR_COUNT / 64]; /* bit per vector register: written at least once */
    bool check_initialised; /* reading a vector register never written is a fault */
    /* Loads per register that nobody has waited for. */
    uint8_t vector_in_flight[VECTOR_COUNT + OPERAND_WIDTH_MAX];
    uint8_t scalar_in_flight[SCALAR_COUNT + OPERAND_WIDTH_MAX];
    unsigned registers_in_flight;           /* sum of both; 0 skips the checks */
    struct outstanding_queue vector_memory; /* vmcnt */
    struct outstanding_queue lds_memory;    /* lgkmcnt */
};

static inline uint64_t wave_exec(const struct wave *wave)
{
    return (uint64_t)wave->scalar[SCALAR_EXEC + 1] << 32 | wave->scalar[SCALAR_EXEC];
}

static inline uint64_t wave_vcc(const struct wave *wave)
{
    return (uint64_t)wave->scalar[SCALAR_VCC + 1] << 32 | wave->scalar[SCALAR_VCC];
}

/* ---- Vector operands ----
   `part` is the dword within a wider operand. Sources come with SDWA selection, DPP movement, neg
   and abs applied (for 16-bit types: in the low half; op_sel for plain VOP3 16-bit types has picked
   the half). The result points either into the register file or at `scratch`. Scalars and constants
   are broadcast. */
const uint32_t *wave_source(struct wave *wave, const struct instruction *instruction,
                            unsigned operand, unsigned part, uint32_t scratch[LANES]);

/* As wave_source, but the raw register: no neg, abs, SDWA, DPP, op_sel. */
const uint32_t *wave_register(struct wave *wave, const struct operand *operand, unsigned part,
                              uint32_t scratch[LANES]);

/* Writes lanes enabled by EXEC (and by DPP's masks) of dword `part` of destination operand 0 or
   another; applies SDWA destination selection and, for 16-bit types, op_sel's destination half.
   Clamp and omod are the caller's (they depend on the operation). `lanes` may be the register
   itself. */
void wave_result(struct wave *wave, const struct instruction *instruction, unsigned operand,
                 unsigned part, const uint32_t lanes[LANES]);

/* The lanes that `instruction` may write: EXEC less the lanes DPP switches off. */
uint64_t wave_write_mask(const struct wave *wave, const struct instruction *instruction);

/* ---- Scalar operands ---- */
uint32_t wave_scalar_source(struct wave *wave, const struct operand *operand);   /* 32 bits */
uint64_t wave_scalar_source64(struct wave *wave, const struct operand *operand); /* 64 bits */
void wave_scalar_result(struct wave *wave, const struct operand *operand, uint32_t value);
void wave_scalar_result64(struct wave *wave, const struct operand *operand, uint64_t value);

/* ---- Memory bookkeeping ---- */

/* The running instruction has issued an operation that `queue` counts. A full counter makes the
   machine wait for the oldest; so does this. */
void wave_issue(struct wave *wave, struct outstanding_queue *queue, const struct outstanding *item);

/* s_waitcnt: until at most this many are outstanding; 0xff waits for nothing. */
void wave_wait(struct wave *wave, unsigned vector_memory, unsigned lds_memory);

/* For operations that touch registers no operand names (M0-relative moves, implicit M0 or VCC):
   false after a fault if one is in flight. The dispatcher has done this for every operand. */
bool wave_check_scalar(struct wave *wave, const struct instruction *instruction, unsigned first,
                       unsigned count);
bool wave_check_vector(struct wave *wave, const struct instruction *instruction, unsigned first,
                       unsigned count);

/* The dispatcher's check of all operands before they are used. */
bool wave_check_operands(struct wave *wave, const struct instruction *instruction);

/* ---- Faults ----
   Records the first fault of the dispatch: "kernel NAME, workgroup (x,y,z), wave W[, lane L], pc
   0x…: TEXT: " and then the message. Returns false so that an execute function can `return
   wave_fault(…)`. `lane` may be -1. */
bool wave_fault(struct wave *wave, const struct instruction *instruction, int lane,
                const char *format, ...) __attribute__((format(printf, 4, 5)));

#endif
