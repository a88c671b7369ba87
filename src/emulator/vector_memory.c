/* Global, flat and scratch loads and stores. Any alignment is permitted, as HSA sets the hardware
   up to; atomics (vector_atomic.c) are the exception. */
#include "emulator/vector_access.h"

#define FLAGS_GLOBAL  OPCODE_VECTOR_MEMORY
#define FLAGS_SCRATCH OPCODE_VECTOR_MEMORY
#define FLAGS_FLAT    (OPCODE_VECTOR_MEMORY | OPCODE_LDS)

#define LOAD(prefix, segment, base, name, type, format)                                            \
    {                                                                                              \
        prefix "_load_" name, "d:" type " s:b32" base, vector_load,                                \
            FLAGS_##segment | VECTOR_VARIANT(SEGMENT_##segment, format)                            \
    }
#define STORE(prefix, segment, base, name, type, format)                                           \
    {                                                                                              \
        prefix "_store_" name, "s:b32 s:" type base, vector_store,                                 \
            FLAGS_##segment | VECTOR_VARIANT(SEGMENT_##segment, format)                            \
    }
#define TO_LDS(prefix, segment, name, format)                                                      \
    {                                                                                              \
        prefix "_load_lds_" name, "s:b32 s:b32", vector_load_to_lds,                               \
            FLAGS_##segment | VECTOR_VARIANT(SEGMENT_##segment, format)                            \
    }

/* What all segments have. `base` is the token of the address's scalar part. */
#define LOADS_AND_STORES(prefix, segment, base)                                                    \
    LOAD(prefix, segment, base, "ubyte", "b32", FORMAT_U8),                                        \
        LOAD(prefix, segment, base, "sbyte", "b32", FORMAT_I8),                                    \
        LOAD(prefix, segment, base, "ushort", "b32", FORMAT_U16),                                  \
        LOAD(prefix, segment, base, "sshort", "b32", FORMAT_I16),                                  \
        LOAD(prefix, segment, base, "dword", "b32", FORMAT_B32),                                   \
        LOAD(prefix, segment, base, "dwordx2", "b64", FORMAT_B64),                                 \
        LOAD(prefix, segment, base, "dwordx3", "b96", FORMAT_B96),                                 \
        LOAD(prefix, segment, base, "dwordx4", "b128", FORMAT_B128),                               \
        LOAD(prefix, segment, base, "ubyte_d16", "b32", FORMAT_U8_D16),                            \
        LOAD(prefix, segment, base, "ubyte_d16_hi", "b32", FORMAT_U8_D16_HI),                      \
        LOAD(prefix, segment, base, "sbyte_d16", "b32", FORMAT_I8_D16),                            \
        LOAD(prefix, segment, base, "sbyte_d16_hi", "b32", FORMAT_I8_D16_HI),                      \
        LOAD(prefix, segment, base, "short_d16", "b32", FORMAT_B16_D16),                           \
        LOAD(prefix, segment, base, "short_d16_hi", "b32", FORMAT_B16_D16_HI),                     \
        STORE(prefix, segment, base, "byte", "b32", FORMAT_U8),                                    \
        STORE(prefix, segment, base, "byte_d16_hi", "b32", FORMAT_U8_D16_HI),                      \
        STORE(prefix, segment, base, "short", "b32", FORMAT_U16),                                  \
        STORE(prefix, segment, base, "short_d16_hi", "b32", FORMAT_B16_D16_HI),                    \
        STORE(prefix, segment, base, "dword", "b32", FORMAT_B32),                                  \
        STORE(prefix, segment, base, "dwordx2", "b64", FORMAT_B64),                                \
        STORE(prefix, segment, base, "dwordx3", "b96", FORMAT_B96),                                \
        STORE(prefix, segment, base, "dwordx4", "b128", FORMAT_B128)

#define NARROW_TO_LDS(prefix, segment)                                                             \
    TO_LDS(prefix, segment, "ubyte", FORMAT_U8), TO_LDS(prefix, segment, "sbyte", FORMAT_I8),      \
        TO_LDS(prefix, segment, "ushort", FORMAT_U16),                                             \
        TO_LDS(prefix, segment, "sshort", FORMAT_I16),                                             \
        TO_LDS(prefix, segment, "dword", FORMAT_B32)

static const struct opcode rows[] = {
    LOADS_AND_STORES("global", GLOBAL, " s:b32"),
    LOADS_AND_STORES("scratch", SCRATCH, " s:b32"),
    LOADS_AND_STORES("flat", FLAT, ""),
    NARROW_TO_LDS("global", GLOBAL),
    NARROW_TO_LDS("scratch", SCRATCH),
    TO_LDS("global", GLOBAL, "dwordx3", FORMAT_B96),
    TO_LDS("global", GLOBAL, "dwordx4", FORMAT_B128),
};

const struct opcode_table opcodes_vector_memory = {rows, sizeof rows / sizeof rows[0]};
