/* What LLVM reads back from a code object, asked of the compiler helper once and remembered in the
   on-disk cache, so that a later process that loads the same code object starts no helper. */
#ifndef EMULATOR_INSPECTOR_H
#define EMULATOR_INSPECTOR_H

#include "compiler/compiler.h"

#include <stddef.h>
#include <stdint.h>

struct inspector;

struct inspector_options {
    const char *cache_directory; /* as cache_options.directory */
    const char *compiler;        /* as compiler_options.helper_path */
    const char *rocm_path;       /* as compiler_options.rocm_path */
    struct logger log;
    const char *const *prebuilt; /* as cache_options.prebuilt */
};

/* Thread-safe from then on. */
dsajit_status inspector_create(const struct inspector_options *options, struct inspector **result,
                               dsajit_error *error);
void inspector_destroy(struct inspector *inspector);

/* `text_size`: the size of the code object's .text, which the listing must cover exactly. */
dsajit_status inspector_inspect(struct inspector *inspector, const void *code, size_t size,
                                uint64_t text_size, struct inspection *inspection,
                                dsajit_error *error);

/* Whether `listing` has a line for every byte of a .text of `text_size` bytes, in order, with no
   gap and no overlap. */
dsajit_status inspector_check_listing(const char *listing, uint64_t text_size, dsajit_error *error);

#endif
