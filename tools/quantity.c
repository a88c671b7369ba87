#include "quantity.h"

#include <errno.h>
#include <inttypes.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>

struct unit {
    char letter;
    uint64_t factor;
    const char *name;
};

/* Smallest first. */
static const struct unit sizes[] = {
    {'\0', 1, "B"},        {'K', 1 << 10, "KiB"},    {'M', 1 << 20, "MiB"},
    {'G', 1 << 30, "GiB"}, {'T', 1ULL << 40, "TiB"},
};
static const struct unit ages[] = {
    {'s', 1, "s"}, {'m', 60, "min"}, {'h', 3600, "h"}, {'d', 86400, "d"}};
enum { SIZE_COUNT = sizeof sizes / sizeof *sizes, AGE_COUNT = sizeof ages / sizeof *ages };

struct quantity_text duration_format(double milliseconds)
{
    struct quantity_text result;
    const double seconds = milliseconds / 1e3;
    if (milliseconds < 999.5) {
        snprintf(result.text, sizeof result.text, "%.0f ms", milliseconds);
    } else if (seconds < 9.95) {
        snprintf(result.text, sizeof result.text, "%.1f s", seconds);
    } else if (seconds < 99.5) {
        snprintf(result.text, sizeof result.text, "%.0f s", seconds);
    } else {
        const unsigned long whole = (unsigned long)(seconds + 0.5);
        snprintf(result.text, sizeof result.text, "%lu min %02lu s", whole / 60, whole % 60);
    }
    return result;
}

/* The largest unit that `value` has at least one of. */
static const struct unit *choose(const struct unit *units, size_t count, uint64_t value)
{
    size_t i = count - 1;
    while (i > 0 && value < units[i].factor)
        i--;
    return &units[i];
}

struct quantity_text age_format(int64_t seconds)
{
    struct quantity_text result;
    const uint64_t value = seconds > 0 ? (uint64_t)seconds : 0;
    const struct unit *unit = choose(ages, AGE_COUNT, value);
    snprintf(result.text, sizeof result.text, "%" PRIu64 " %s", value / unit->factor, unit->name);
    return result;
}

struct quantity_text size_format(uint64_t bytes)
{
    struct quantity_text result;
    const struct unit *unit = choose(sizes, SIZE_COUNT, bytes);
    const double value = (double)bytes / (double)unit->factor;
    snprintf(result.text, sizeof result.text, "%.*f %s", unit->factor > 1 && value < 9.95 ? 1 : 0,
             value, unit->name);
    return result;
}

/* False when the letter after the digits is none of the units', or the value too large. */
static bool parse(const char *text, const struct unit *units, size_t count, uint64_t *value)
{
    char *end;
    errno = 0;
    if (*text < '0' || *text > '9')
        return false;
    const unsigned long long number = strtoull(text, &end, 10);
    if (errno)
        return false;
    for (size_t i = 0; i < count; i++)
        if (*end == units[i].letter && (!*end || !end[1]))
            return !__builtin_mul_overflow(number, units[i].factor, value);
    return false;
}

bool size_parse(const char *text, uint64_t *bytes)
{
    return parse(text, sizes, SIZE_COUNT, bytes);
}

bool age_parse(const char *text, int64_t *seconds)
{
    uint64_t value;
    if (!parse(text, ages, AGE_COUNT, &value) || value > INT64_MAX)
        return false;
    *seconds = (int64_t)value;
    return true;
}
