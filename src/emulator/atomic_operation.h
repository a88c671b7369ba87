/* The arithmetic of atomic instructions, LDS's and global memory's. */
#ifndef EMULATOR_ATOMIC_OPERATION_H
#define EMULATOR_ATOMIC_OPERATION_H

#include <stdint.h>

enum atomic_operation_id {
    ATOMIC_ADD,
    ATOMIC_SUB,
    ATOMIC_REVERSE_SUB,
    ATOMIC_INC,
    ATOMIC_DEC,
    ATOMIC_SMIN,
    ATOMIC_SMAX,
    ATOMIC_UMIN,
    ATOMIC_UMAX,
    ATOMIC_AND,
    ATOMIC_OR,
    ATOMIC_XOR,
    ATOMIC_SWAP,
    ATOMIC_COMPARE_SWAP,  /* data0 replaces what equals data1 (global) */
    ATOMIC_COMPARE_STORE, /* data1 replaces what equals data0 (LDS) */
    ATOMIC_MASK_OR,
    ATOMIC_WRAP,
    ATOMIC_ADD_X2, /* 64 bits from here */
    ATOMIC_SUB_X2,
    ATOMIC_REVERSE_SUB_X2,
    ATOMIC_INC_X2,
    ATOMIC_DEC_X2,
    ATOMIC_SMIN_X2,
    ATOMIC_SMAX_X2,
    ATOMIC_UMIN_X2,
    ATOMIC_UMAX_X2,
    ATOMIC_AND_X2,
    ATOMIC_OR_X2,
    ATOMIC_XOR_X2,
    ATOMIC_SWAP_X2,
    ATOMIC_COMPARE_SWAP_X2,
    ATOMIC_COMPARE_STORE_X2,
    ATOMIC_MASK_OR_X2,
    ATOMIC_ADD_F32, /* floating-point from here */
    ATOMIC_MIN_F32,
    ATOMIC_MAX_F32,
    ATOMIC_COMPARE_STORE_F32,
    ATOMIC_ADD_F64,
    ATOMIC_MIN_F64,
    ATOMIC_MAX_F64,
    ATOMIC_COMPARE_STORE_F64,
    ATOMIC_PK_ADD_F16,
    ATOMIC_PK_ADD_BF16,
    ATOMIC_OPERATION_COUNT
};

/* What memory holds afterwards. 32-bit values come and go in the lower half. */
typedef uint64_t (*atomic_function)(uint64_t old, uint64_t data0, uint64_t data1);

struct atomic_operation {
    atomic_function combine;
    uint8_t dwords;     /* in memory */
    uint8_t data_count; /* operands of that size: 1 or 2 */
};

extern const struct atomic_operation atomic_operations[ATOMIC_OPERATION_COUNT];

#endif
