/* The names that the disassembler gives to the 16-bit offset of ds_swizzle_b32. */
#include "emulator/parse.h"

/* Bit-mask mode: lane' = ((lane & and_mask) | or_mask) ^ xor_mask, five bits each from bit 0 up. */
static int64_t bit_masks(unsigned and_mask, unsigned or_mask, unsigned xor_mask)
{
    return and_mask | or_mask << 5 | xor_mask << 10;
}

static bool take_list(struct scanner *scanner, int64_t maximum, unsigned count, int64_t values[])
{
    for (unsigned i = 0; i < count; ++i) {
        if (!scanner_take(scanner, ",") || !scanner_integer_within(scanner, 0, maximum, &values[i]))
            return false;
    }
    return true;
}

/* ",\"01pi0\"": for each of the five bits, the highest first: cleared, set, kept or inverted */
static bool take_mask_text(struct scanner *scanner, int64_t *offset)
{
    unsigned and_mask = 0, or_mask = 0, xor_mask = 0;
    if (!scanner_take(scanner, ",\""))
        return false;
    for (unsigned bit = 16; bit; bit >>= 1) {
        if (scanner_take(scanner, "1"))
            or_mask |= bit;
        else if (scanner_take(scanner, "p"))
            and_mask |= bit;
        else if (scanner_take(scanner, "i"))
            and_mask |= bit, xor_mask |= bit;
        else if (!scanner_take(scanner, "0"))
            return false;
    }
    *offset = bit_masks(and_mask, or_mask, xor_mask);
    return scanner_take(scanner, "\"");
}

static bool take_mode(struct scanner *scanner, int64_t *offset)
{
    int64_t v[4];
    if (scanner_take_word(scanner, "BITMASK_PERM"))
        return take_mask_text(scanner, offset);
    if (scanner_take_word(scanner, "QUAD_PERM")) {
        if (!take_list(scanner, 3, 4, v))
            return false;
        *offset = 0x8000 | v[0] | v[1] << 2 | v[2] << 4 | v[3] << 6;
    } else if (scanner_take_word(scanner, "SWAP")) {
        if (!take_list(scanner, 16, 1, v))
            return false;
        *offset = bit_masks(31, 0, (unsigned)v[0]);
    } else if (scanner_take_word(scanner, "REVERSE")) {
        if (!take_list(scanner, 32, 1, v) || v[0] == 0)
            return false;
        *offset = bit_masks(31, 0, (unsigned)v[0] - 1);
    } else if (scanner_take_word(scanner, "BROADCAST")) {
        if (!take_list(scanner, 32, 2, v) || v[0] == 0 || v[1] >= v[0])
            return false;
        *offset = bit_masks(32 - (unsigned)v[0], (unsigned)v[1], 0);
    } else if (scanner_take_word(scanner, "ROTATE")) {
        if (!take_list(scanner, 1, 1, v) || !take_list(scanner, 31, 1, v + 1))
            return false;
        *offset = 0xc000 | v[0] << 10 | v[1] << 5;
    } else if (scanner_take_word(scanner, "FFT")) {
        if (!take_list(scanner, 31, 1, v))
            return false;
        *offset = 0xe000 | v[0];
    } else {
        return false;
    }
    return true;
}

bool parse_swizzle(struct scanner *scanner, int64_t *offset)
{
    struct scanner s = *scanner;
    if (!scanner_take(&s, "swizzle(") || !take_mode(&s, offset) || !scanner_take(&s, ")"))
        return false;
    *scanner = s;
    return true;
}
