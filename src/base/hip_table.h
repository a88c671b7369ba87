/* A HIP runtime library as a table of function pointers: the real libamdhip64 or the emulator. */
#ifndef BASE_HIP_TABLE_H
#define BASE_HIP_TABLE_H

#include "base/hip_abi.h"

#include <stdbool.h>

/* One member a function, named like it: table.hipMalloc(&pointer, size). */
struct hip_table {
/* NOLINTNEXTLINE(bugprone-macro-parentheses): a declarator */
#define HIP_FUNCTION(result, name, parameters) result(*name) parameters;
#include "base/hip_functions.def"
};

/* Fills `table` from a library that dlopen returned. False when it lacks a function: `*missing` is
   then that function's name, in static storage. */
bool hip_table_fill(void *library, struct hip_table *table, const char **missing);

#endif
