/* Repeated measurements of one thing. */
#ifndef BENCH_SERIES_H
#define BENCH_SERIES_H

#include <stddef.h>

enum { SERIES_MAX = 4096 };

/* Start from a zeroed struct. Values beyond SERIES_MAX are dropped. */
struct series {
    double values[SERIES_MAX];
    size_t count;
};

void series_add(struct series *series, double value);
double series_median(const struct series *series);

/* "name   median unit   (least … most, of n)" */
void series_print(const char *name, const struct series *series, const char *unit);

#endif
