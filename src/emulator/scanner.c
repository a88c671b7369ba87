#include "emulator/scanner.h"

static int digit_value(char c)
{
    if (c >= '0' && c <= '9')
        return c - '0';
    if (c >= 'a' && c <= 'f')
        return c - 'a' + 10;
    if (c >= 'A' && c <= 'F')
        return c - 'A' + 10;
    return 99;
}

bool scanner_integer(struct scanner *scanner, int64_t *value)
{
    struct scanner s = *scanner;
    bool negative = scanner_take(&s, "-");
    unsigned base = scanner_take(&s, "0x") ? 16 : 10;
    uint64_t magnitude = 0;
    const char *digits = s.at;
    for (; digit_value(*s.at) < (int)base; ++s.at) {
        unsigned digit = (unsigned)digit_value(*s.at);
        if (magnitude > (UINT64_MAX - digit) / base)
            return false;
        magnitude = magnitude * base + digit;
    }
    if (s.at == digits || scanner_is_word(*s.at))
        return false;
    /* 64-bit literals are written as unsigned bits. */
    *value = (int64_t)(negative ? 0 - magnitude : magnitude);
    *scanner = s;
    return true;
}

bool scanner_integer_within(struct scanner *scanner, int64_t low, int64_t high, int64_t *value)
{
    struct scanner s = *scanner;
    if (!scanner_integer(&s, value) || *value < low || *value > high)
        return false;
    *scanner = s;
    return true;
}
