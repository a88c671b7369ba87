/* Times and sizes as people write and read them. */
#ifndef TOOLS_QUANTITY_H
#define TOOLS_QUANTITY_H

#include <stdbool.h>
#include <stdint.h>

struct quantity_text {
    char text[32];
};

/* "3 ms", "1.9 s", "42 s", "3 min 05 s". */
struct quantity_text duration_format(double milliseconds);
/* "40 s", "12 min", "3 h", "9 d". */
struct quantity_text age_format(int64_t seconds);
/* "512 B", "12 KiB", "1.4 MiB". */
struct quantity_text size_format(uint64_t bytes);

/* Digits and perhaps K, M, G or T, for powers of 1024; false for anything else. */
bool size_parse(const char *text, uint64_t *bytes);
/* Digits and one of s, m, h or d; false for anything else. */
bool age_parse(const char *text, int64_t *seconds);

#endif
