/* A variant's code object: from the cache, or compiled and put there. */
#ifndef RUNTIME_CODE_H
#define RUNTIME_CODE_H

#include "codegen/variant.h"
#include "runtime/context.h"

#include <stdatomic.h>

/* A code object with what is known about it. */
struct code {
    const void *image;
    size_t size;
    char *symbol; /* the kernel function's name */
    dsajit_kernel_info info;
    struct cache_entry entry; /* owns `image` when it came from the cache */
    struct bytes compiled;    /* owns it when it was compiled */
};

struct code_request {
    const struct variant *variant;
    bool recompile;                 /* what the cache holds is of no use: compile and replace it */
    struct compiler_worker *worker; /* compiles here; NULL: in a helper of its own */
    int timeout_ms;                 /* 0: the context's */
    const atomic_bool *cancel;      /* a compile is given up when it turns true; NULL: never */
};

dsajit_status code_obtain(dsajit_context *context, const struct code_request *request,
                          struct code *code, dsajit_error *error);
void code_free(struct code *code);

/* The cache key of a variant. The toolchain part stays empty when there is no toolchain. Gives the
 * source, too, which is part of it. */
dsajit_status code_key(dsajit_context *context, const struct variant *variant,
                       struct cache_key *key, struct bytes *source, dsajit_error *error);

#endif
