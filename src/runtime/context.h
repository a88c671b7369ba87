/* The context's insides, for the files of this folder. */
#ifndef RUNTIME_CONTEXT_H
#define RUNTIME_CONTEXT_H

#include "cache/cache.h"
#include "codegen/specialise.h"
#include "compiler/compiler.h"
#include "runtime/hip.h"

#include "dsajit/warmup.h"

#include <pthread.h>
#include <stdatomic.h>

struct slot;

struct dsajit_context {
    struct hip hip;
    struct cache *cache;
    struct compiler *compiler;
    struct logger log;
    struct template_source templates;
    char *template_directory;   /* NULL: the built-in ones */
    unsigned fork_generation;   /* of the process that opened it */
    struct slot **slots;        /* [device * family_count + family] -> one slot a variant */
    bool strict;                /* sealed from the start and for good */
    atomic_int seal_mode;       /* dsajit_seal_mode */
    atomic_ullong hits, misses; /* code objects found in a layer or not, waits included */
    atomic_ullong compiles, sealed_compiles;
    pthread_mutex_t toolchain_mutex;
    bool toolchain_known;
    dsajit_status toolchain_status; /* why there is none */
    dsajit_error toolchain_error;
    struct toolchain toolchain;
};

/* FORKED when the context was opened by a parent process, INVALID_ARGUMENT when it is NULL. One
 * load and a comparison. */
dsajit_status context_check(const dsajit_context *context, dsajit_error *error);

/* The toolchain, looked for until there is an answer: it, or TOOLCHAIN_MISSING. The result is owned
   by the context. */
dsajit_status context_toolchain(dsajit_context *context, const struct toolchain **toolchain,
                                dsajit_error *error);

#endif
