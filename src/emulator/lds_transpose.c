/* LDS reads that transpose: ds_read_b64_tr_b16, _b8, _b4 and ds_read_b96_tr_b6.

   AMD has not published what these do; this is the reading of public compilers and kernels that use
   them, and the only place where it is written down as code.

   Sixteen lanes work together. What they read, one after the other, makes up the rows of a matrix
   of 16 columns, and lane j of the group receives column j:

       bits of    elements    lanes that make    rows
       element    of a lane   up one row
       16         4           4                  4
        8         8           2                  8
        6         16          1                  16
        4         16          1                  16

   Each lane has an address of its own, so the pieces of a row need not be neighbours. */
#include "emulator/lds_operations.h"

#include <inttypes.h>

enum { GROUP_LANES = 16 };

static uint32_t get_bits(const uint32_t dwords[], unsigned from, unsigned count)
{
    uint64_t pair = dwords[from / 32];
    if (from % 32 + count > 32)
        pair |= (uint64_t)dwords[from / 32 + 1] << 32;
    return (uint32_t)(pair >> from % 32) & ((1u << count) - 1);
}

static void add_bits(uint32_t dwords[], unsigned from, unsigned count, uint32_t value)
{
    uint64_t pair = (uint64_t)value << from % 32;
    dwords[from / 32] |= (uint32_t)pair;
    if (from % 32 + count > 32)
        dwords[from / 32 + 1] |= (uint32_t)(pair >> 32);
}

bool lds_read_transposed(struct wave *wave, const struct instruction *instruction)
{
    unsigned bits = opcode_variant(instruction->opcode);
    enum memory_format format = bits == 6 ? FORMAT_B96 : FORMAT_B64;
    size_t size = memory_format_bytes(format);
    unsigned dwords = memory_format_dwords(format);
    unsigned elements = dwords * 32 / bits;
    if (~wave_exec(wave) != 0)
        return wave_fault(wave, instruction, -1,
                          "a transposing read needs all lanes, EXEC is 0x%016" PRIx64,
                          wave_exec(wave));
    struct lane_memory memory;
    if (!lds_locate(wave, instruction, &instruction->operands[1], (uint32_t)instruction->offset0,
                    size, lds_alignment(size), LDS_READ, &memory))
        return false;

    uint32_t data[LANE_DWORDS_MAX][LANES];
    lane_memory_load(&memory, format, data);
    uint32_t rows[LANES][LANE_DWORDS_MAX];
    for (unsigned lane = 0; lane < LANES; ++lane) {
        for (unsigned part = 0; part < dwords; ++part)
            rows[lane][part] = data[part][lane];
    }
    for (unsigned lane = 0; lane < LANES; ++lane) {
        unsigned group = lane / GROUP_LANES * GROUP_LANES, column = lane % GROUP_LANES;
        uint32_t result[LANE_DWORDS_MAX] = {0};
        for (unsigned row = 0; row < elements; ++row) {
            unsigned position = row * GROUP_LANES + column;
            uint32_t element =
                get_bits(rows[group + position / elements], position % elements * bits, bits);
            add_bits(result, row * bits, bits, element);
        }
        for (unsigned part = 0; part < dwords; ++part)
            data[part][lane] = result[part];
    }
    for (unsigned part = 0; part < dwords; ++part)
        wave_result(wave, instruction, 0, part, data[part]);
    lds_issue(wave, instruction, true);
    return true;
}
