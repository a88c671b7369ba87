#include "series.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void series_add(struct series *series, double value)
{
    if (series->count < SERIES_MAX)
        series->values[series->count++] = value;
}

static int compare(const void *left, const void *right)
{
    const double a = *(const double *)left, b = *(const double *)right;
    return (a > b) - (a < b);
}

static void sort(const struct series *series, struct series *sorted)
{
    *sorted = *series;
    qsort(sorted->values, sorted->count, sizeof *sorted->values, compare);
}

static double middle(const struct series *sorted)
{
    const size_t half = sorted->count / 2;
    if (sorted->count == 0)
        return 0;
    return sorted->count % 2 ? sorted->values[half]
                             : (sorted->values[half - 1] + sorted->values[half]) / 2;
}

double series_median(const struct series *series)
{
    struct series sorted;
    sort(series, &sorted);
    return middle(&sorted);
}

void series_print(const char *name, const struct series *series, const char *unit)
{
    struct series sorted;
    sort(series, &sorted);
    if (sorted.count == 0)
        return;
    printf("%-44s %10.4g %-4s (%.4g to %.4g, of %zu)\n", name, middle(&sorted), unit,
           sorted.values[0], sorted.values[sorted.count - 1], sorted.count);
}
