/* Cache keys line by line. */
#ifndef RUNTIME_KEY_COMPARISON_H
#define RUNTIME_KEY_COMPARISON_H

#include "dsajit/cache.h"

/* How many lines differ; and, for choosing the most alike of several keys, how much: parts of the
   variant count most. OUT_OF_MEMORY, INVALID_ARGUMENT. */
dsajit_status key_difference(const char *wanted, const char *found, size_t *lines, size_t *weight,
                             dsajit_error *error);

/* The value of a line of a key, copied; NULL when there is none or memory ran out. */
char *key_value(const char *key, const char *name);

#endif
