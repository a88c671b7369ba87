/* Remembers a toolchain's identity in a file, as long as its libraries' files stay the same. */
#ifndef COMPILER_TOOLCHAIN_MEMORY_H
#define COMPILER_TOOLCHAIN_MEMORY_H

#include "compiler/compiler.h"
#include "compiler/locate.h"

#include <stdbool.h>

/* Fills version and identity. False when nothing is remembered or any library file has changed. */
bool toolchain_recall(const char *directory, const struct location *location,
                      struct toolchain *toolchain);

/* `paths`: the files of all libraries that the identity covers. Best effort: what can't be
   remembered is found out again. */
void toolchain_remember(const char *directory, const struct location *location,
                        const struct toolchain *toolchain, const char *const *paths,
                        size_t path_count);

#endif
