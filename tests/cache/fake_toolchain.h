/* A toolchain without ROCm: fake_helper and two empty files for libraries. */
#ifndef TESTS_CACHE_FAKE_TOOLCHAIN_H
#define TESTS_CACHE_FAKE_TOOLCHAIN_H

#include "dsajit/dsajit.h"
#include "support.h"

struct fake_toolchain {
    char folder[PATH_SIZE]; /* of the test's own */
    char helper[PATH_SIZE + 32], rocm[PATH_SIZE + 32];
};

void fake_toolchain_make(const char *name, struct fake_toolchain *toolchain);
/* Compiles so far, by any process. */
int fake_toolchain_compiles(const struct fake_toolchain *toolchain);

/* A context without a device that compiles with it, and keeps what it compiled in `cache`. */
dsajit_context *fake_toolchain_open(const struct fake_toolchain *toolchain, const char *cache,
                                    struct log_lines *lines);

/* Variant `index` of sparse MLA; there are FAKE_VARIANTS. */
enum { FAKE_VARIANTS = 48 };
void fake_toolchain_variant(int index, char text[128]);

#endif
