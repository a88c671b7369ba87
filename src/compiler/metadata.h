/* Reads the metadata text that compiler.h describes. */
#ifndef COMPILER_METADATA_H
#define COMPILER_METADATA_H

#include "compiler/compiler.h"

/* The first kernel's name (to be freed) and resources. COMPILER_CRASHED when there is none. */
dsajit_status compiler_metadata_first_kernel(const char *text, char **symbol,
                                             struct kernel_resources *resources,
                                             dsajit_error *error);

#endif
