/* A decoded gfx950 instruction, and the tables that give mnemonics their meaning.

   LLVM's disassembler (in the compiler helper) turns bytes into text; decode.c turns that text into
   `struct instruction` once per kernel; an opcode row's `execute` runs it for one wave. Adding an
   instruction is one row in one of the tables below and one function. */
#ifndef EMULATOR_INSTRUCTION_H
#define EMULATOR_INSTRUCTION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct wave;
struct instruction;

enum { LANES = 64 };

/* Scalar registers are named by their encoding, so one array of 128 holds them all. */
enum scalar_register {
    SCALAR_FLAT_SCRATCH = 102,
    SCALAR_XNACK_MASK = 104,
    SCALAR_VCC = 106,
    SCALAR_TTMP = 108,
    SCALAR_M0 = 124,
    SCALAR_EXEC = 126,
    SCALAR_COUNT = 128
};

/* Vector registers: v0…v255 are 0…255, the accumulation registers a0…a255 are 256…511. */
enum { VECTOR_ACCUMULATOR = 256, VECTOR_COUNT = 512 };

/* The widest operand, in dwords. Both register files have this many spare rows behind the last
   register, so that an operation that reads the width it knows never leaves the file, whatever the
   text of the operand said. */
enum { OPERAND_WIDTH_MAX = 32 };

enum operand_kind {
    OPERAND_NONE,     /* "off", "null" */
    OPERAND_SCALAR,   /* index into the scalar file, `width` dwords */
    OPERAND_VECTOR,   /* index into the vector file, `width` dwords */
    OPERAND_CONSTANT, /* inline constant or literal, converted for the operand's type */
    OPERAND_SCC,      /* src_scc, as a value of 0 or 1 */
    OPERAND_VCCZ,
    OPERAND_EXECZ,
    OPERAND_APERTURE, /* src_shared_base and the like: `value` */
    OPERAND_LABEL     /* a branch's simm16 or any other immediate written as an operand: `value` */
};

/* How constants convert and what neg/abs mean. Wider integers than 64 bits are plain B32 groups. */
enum operand_type {
    TYPE_B32, /* also what is only moved: b96, b128, addresses, descriptors */
    TYPE_B64,
    TYPE_I16, /* also u16 and b16: low 16 bits of a dword */
    TYPE_I32, /* as B32, but a 64-bit use would sign-extend */
    TYPE_I64,
    TYPE_F16,
    TYPE_BF16,
    TYPE_F32,
    TYPE_F64,
    TYPE_PK_I16, /* packed pairs: constants replicate by op_sel rules */
    TYPE_PK_F16,
    TYPE_PK_BF16,
    TYPE_PK_F32, /* two f32 in two dwords */
    TYPE_MATRIX  /* MFMA operand: constants broadcast to each dword as f32 (or i32) */
};

enum operand_access { ACCESS_READ = 1, ACCESS_WRITE = 2 };

struct operand {
    uint8_t kind;
    uint8_t access; /* enum operand_access, from the opcode's row */
    uint8_t type;
    uint8_t width; /* dwords */
    bool modified; /* wave_source has more to do than to find the register */
    bool negate;   /* of a float; of each half of packed types: instruction.neg_lo, neg_hi */
    bool absolute;
    bool sign_extend; /* SDWA sext() */
    uint16_t index;
    uint64_t value;
};

/* SDWA selections, in encoding order. */
enum sdwa_select {
    SDWA_BYTE_0,
    SDWA_BYTE_1,
    SDWA_BYTE_2,
    SDWA_BYTE_3,
    SDWA_WORD_0,
    SDWA_WORD_1,
    SDWA_DWORD
};
enum sdwa_unused { SDWA_PAD, SDWA_SEXT, SDWA_PRESERVE };

enum dpp_kind {
    DPP_NONE,
    DPP_QUAD_PERM, /* dpp_value: four 2-bit selections */
    DPP_ROW_SHL,
    DPP_ROW_SHR,
    DPP_ROW_ROR,
    DPP_WAVE_SHL,
    DPP_WAVE_ROL,
    DPP_WAVE_SHR,
    DPP_WAVE_ROR,
    DPP_ROW_MIRROR,
    DPP_ROW_HALF_MIRROR,
    DPP_ROW_BCAST_15,
    DPP_ROW_BCAST_31,
    DPP_ROW_NEWBCAST
};

enum { OPERANDS_MAX = 8 };

/* What dispatch_counters counts an instruction as. */
enum instruction_class {
    CLASS_SCALAR,
    CLASS_VECTOR,
    CLASS_MATRIX,
    CLASS_LDS,
    CLASS_VECTOR_MEMORY,
    CLASS_SCALAR_MEMORY,
    CLASS_BARRIER,
    CLASS_COUNT
};

#define TARGET_NONE UINT32_MAX

struct instruction {
    const struct opcode *opcode;
    const char *text;   /* the disassembly, for messages */
    const char *defect; /* why it cannot run, or NULL; its opcode then faults with this text */
    uint32_t offset;    /* from the first byte of .text */
    uint32_t target;    /* branches: index of the instruction jumped to, or TARGET_NONE */
    uint8_t size;       /* bytes */
    uint8_t operand_count;
    uint8_t source0; /* index of the first operand that is only read: DPP, SDWA and op_sel count
                        sources from there */
    uint8_t class;   /* enum instruction_class */
    struct operand operands[OPERANDS_MAX]; /* in the order of the text */

    /* Modifiers; all zero unless the text says otherwise, except where noted. */
    bool clamp;
    uint8_t omod;              /* 0 none, 1 *2, 2 *4, 3 /2 */
    uint8_t op_sel, op_sel_hi; /* bit i: source i; bit 3 of op_sel: destination. op_sel_hi
                                  defaults to all ones for OPCODE_PACKED rows */
    uint8_t op_sel_count;      /* how many bits of op_sel the text has */
    uint8_t neg_lo, neg_hi;    /* bit i: source i; "neg:" of f64 MFMA is in neg_lo */
    uint8_t bitop3;            /* v_bitop3's truth table */
    uint8_t dpp;               /* enum dpp_kind, applies to the first source */
    uint16_t dpp_value;
    uint8_t row_mask, bank_mask; /* default 0xf */
    bool bound_ctrl;             /* text "bound_ctrl:0" or ":1": invalid source lanes read 0 */
    bool fetch_inactive;         /* v_permlane*_swap "fi:1": lanes that are off can be read */
    bool sdwa;
    uint8_t dst_sel, dst_unused, src0_sel, src1_sel;
    int32_t offset0, offset1;         /* memory: "offset:"/"offset0:"; "offset1:"; the 16 bits that
                                         ds_swizzle's "offset:swizzle(...)" stands for */
    bool sc0;                         /* memory; on an atomic: returns the value before */
    bool offen, idxen, lds, gds;      /* buffer addressing; loads to LDS; the global data share */
    uint8_t cbsz, abid, blgp;         /* MFMA: formats or broadcasts, as the opcode reads them */
    uint8_t waitcnt_vm, waitcnt_lgkm; /* s_waitcnt; 0xff: not named, no wait */
    int32_t immediate;                /* s_nop, s_setprio, s_sendmsg, s_movk… and the like */
};

/* Runs one instruction for one wave. Returns false after wave_fault(). */
typedef bool (*execute_function)(struct wave *wave, const struct instruction *instruction);

/* Flat instructions have both VECTOR_MEMORY and LDS: they count in vmcnt and lgkmcnt. */
enum opcode_flags {
    OPCODE_BRANCH = 1 << 0, /* operand 0 is a relative target */
    OPCODE_VECTOR_MEMORY = 1 << 1,
    OPCODE_LDS = 1 << 2,
    OPCODE_SCALAR_MEMORY = 1 << 3,
    OPCODE_MATRIX = 1 << 4,
    OPCODE_PACKED = 1 << 5, /* op_sel_hi defaults to ones: v_pk_*, v_dot*, v_mfma_scale_* */
    /* 16-bit result: the other half of the register stays (v_mad_f16, v_fma_f16, v_div_fixup_f16,
       v_mad_i16, v_mad_u16). Without the flag an operation hands wave_result a zero upper half. */
    OPCODE_KEEPS_HALF = 1 << 6,
    /* The upper dwords of 64-bit sources matter to that of the result only. LLVM leaves them
       unwritten where it wants the lower one. */
    OPCODE_UPPER_TO_UPPER = 1 << 7,
    OPCODE_VARIANT_SHIFT = 16 /* the upper half is the table's own: which of a family this row is */
};

/* One mnemonic, without the encoding suffixes _e32, _e64, _dpp, _sdwa, _e64_dpp.
   `operands` describes the operands in textual order, one token each, separated by blanks: 'd'
   written, 's' read, 'x' both, then the type's letters: b32 b64 i16 i32 i64 f16 bf16 f32 f64 pi16
   pf16 pbf16 pf32 m (matrix), lbl (immediate or label). b64 i64 f64 pf32, and the untyped groups
   b96 b128 b256 b512, require registers of just that width; b32 takes any. "d:f32 s:f32 s:f32" for
   v_add_f32. A token in brackets may be absent: at the end "[s:f32]"; in front "[d:b32]", for
   memory operations whose text names the result only when there is one. Which one is absent follows
   from the number of operands, so a row has brackets on one side only. */
struct opcode {
    const char *mnemonic;
    const char *operands;
    execute_function execute;
    uint32_t flags;
};

struct opcode_table {
    const struct opcode *rows;
    size_t count;
};

/* Each file's table, named after the file; opcode.c searches their union. */
extern const struct opcode_table opcodes_scalar_unary;     /* SOP1 */
extern const struct opcode_table opcodes_scalar_binary;    /* SOP2, and SOPK that compute */
extern const struct opcode_table opcodes_scalar_compare;   /* SOPC, and SOPK that compare */
extern const struct opcode_table opcodes_scalar_special;   /* EXEC, M0, hardware registers */
extern const struct opcode_table opcodes_register_index;   /* s_set_gpr_idx_* */
extern const struct opcode_table opcodes_control;          /* SOPP, calls and jumps */
extern const struct opcode_table opcodes_scalar_memory;    /* SMEM */
extern const struct opcode_table opcodes_vector_integer;   /* 32 and 64 bits */
extern const struct opcode_table opcodes_vector_integer16; /* 16 bits */
extern const struct opcode_table opcodes_vector_bytes;     /* SAD, perm, lerp */
extern const struct opcode_table opcodes_vector_float;     /* f32 */
extern const struct opcode_table opcodes_vector_float16;   /* f16, fma_mix */
extern const struct opcode_table opcodes_vector_float64;   /* f64 */
extern const struct opcode_table opcodes_vector_packed;    /* v_pk_* */
extern const struct opcode_table opcodes_transcendental;   /* rcp, exp, sin… */
extern const struct opcode_table opcodes_division;         /* div_scale, fmas, fixup */
extern const struct opcode_table opcodes_vector_compare;   /* v_cmp, v_cmpx, v_cndmask, class */
extern const struct opcode_table opcodes_vector_convert;   /* number formats */
extern const struct opcode_table opcodes_vector_convert_scaled; /* v_cvt_scalef32_* */
extern const struct opcode_table opcodes_cross_lane;  /* readlane, permlane, moves, mbcnt */
extern const struct opcode_table opcodes_matrix;      /* MFMA, v_accvgpr_* */
extern const struct opcode_table opcodes_dot_product; /* v_dot2_*, v_dot4_*, v_dot8_* */
extern const struct opcode_table opcodes_lds;         /* lds_operations.c: reads and writes */
extern const struct opcode_table opcodes_lds_atomic;
extern const struct opcode_table opcodes_lds_exchange;  /* permutes, swizzles */
extern const struct opcode_table opcodes_vector_memory; /* global, flat, scratch */
extern const struct opcode_table opcodes_vector_atomic; /* global, flat, buffer */
extern const struct opcode_table opcodes_buffer_memory; /* loads and stores */

/* What a row says in the upper half of its flags. */
static inline uint32_t opcode_variant(const struct opcode *opcode)
{
    return opcode->flags >> OPCODE_VARIANT_SHIFT;
}

#endif
