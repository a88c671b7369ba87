/* Instructions that move data between lanes through LDS's crossbar and touch no memory. */
#include "emulator/lds_operations.h"

/* A lane that takes from an inactive one receives 0. */
static void pull(struct wave *wave, const struct instruction *instruction, const uint32_t values[],
                 const uint8_t sources[LANES])
{
    uint64_t exec = wave_exec(wave);
    uint32_t result[LANES];
    for (unsigned lane = 0; lane < LANES; ++lane)
        result[lane] = exec >> sources[lane] & 1 ? values[sources[lane]] : 0;
    wave_result(wave, instruction, 0, 0, result);
    lds_issue(wave, instruction, true);
}

/* An address of these instructions: a lane's index times 4; bits above and below don't count. */
static unsigned lane_at(const struct instruction *instruction, uint32_t address)
{
    return (address + (uint32_t)instruction->offset0) / 4 % LANES;
}

static bool backward_permute(struct wave *wave, const struct instruction *instruction)
{
    uint32_t address_scratch[LANES], value_scratch[LANES];
    const uint32_t *addresses = wave_register(wave, &instruction->operands[1], 0, address_scratch);
    const uint32_t *values = wave_register(wave, &instruction->operands[2], 0, value_scratch);
    uint8_t sources[LANES];
    for (unsigned lane = 0; lane < LANES; ++lane)
        sources[lane] = (uint8_t)lane_at(instruction, addresses[lane]);
    pull(wave, instruction, values, sources);
    return true;
}

/* Pushes; of several lanes that push to one, the highest wins. Where nobody pushes, 0 arrives. */
static bool permute(struct wave *wave, const struct instruction *instruction)
{
    uint32_t address_scratch[LANES], value_scratch[LANES], result[LANES] = {0};
    const uint32_t *addresses = wave_register(wave, &instruction->operands[1], 0, address_scratch);
    const uint32_t *values = wave_register(wave, &instruction->operands[2], 0, value_scratch);
    unsigned lane;
    for (uint64_t rest = wave_exec(wave); next_lane(&rest, &lane);)
        result[lane_at(instruction, addresses[lane])] = values[lane];
    wave_result(wave, instruction, 0, 0, result);
    lds_issue(wave, instruction, true);
    return true;
}

static unsigned reverse_5_bits(unsigned value)
{
    unsigned reversed = 0;
    for (unsigned bit = 0; bit < 5; ++bit)
        reversed |= (value >> bit & 1) << (4 - bit);
    return reversed;
}

/* The lane, among 32, that lane `at` takes from. The 16-bit offset chooses one of four modes. */
static unsigned swizzle_source(uint32_t offset, unsigned at)
{
    unsigned low = offset & 31, middle = offset >> 5 & 31, high = offset >> 10 & 31;
    if (offset >= 0xe000) /* order of a fast Fourier transform */
        return reverse_5_bits(at) >> __builtin_popcount(low) | (at & low);
    if (offset >= 0xc000) { /* rotation by `middle` of the bits that `low` leaves; bit 10: right */
        unsigned from = offset >> 10 & 1 ? at - middle : at + middle;
        return (at & low) | (from & ~low & 31);
    }
    if (offset & 0x8000) /* any permutation of four neighbours */
        return (at & ~3u) | (offset >> 2 * (at & 3) & 3);
    return ((at & low) | middle) ^ high;
}

static bool swizzle(struct wave *wave, const struct instruction *instruction)
{
    uint32_t scratch[LANES];
    const uint32_t *values = wave_register(wave, &instruction->operands[1], 0, scratch);
    uint8_t sources[LANES];
    for (unsigned lane = 0; lane < LANES; ++lane)
        sources[lane] =
            (uint8_t)((lane & 32) | swizzle_source((uint32_t)instruction->offset0, lane & 31));
    pull(wave, instruction, values, sources);
    return true;
}

static const struct opcode rows[] = {
    LDS_ROW("ds_permute_b32", "d:b32 s:b32 s:b32", permute, 0),
    LDS_ROW("ds_bpermute_b32", "d:b32 s:b32 s:b32", backward_permute, 0),
    LDS_ROW("ds_swizzle_b32", "d:b32 s:b32", swizzle, 0),
};

const struct opcode_table opcodes_lds_exchange = {rows, sizeof rows / sizeof rows[0]};
