/* The client of the compiler helper: the only part that knows how a HIP source becomes a code
   object. hipRTC, comgr and LLVM are loaded in the helper process and never here. */
#ifndef COMPILER_COMPILER_H
#define COMPILER_COMPILER_H

#include "base/bytes.h"
#include "base/error.h"

#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>

/* Where the toolchain is looked for; NULL members mean the search order in docs/toolchain.md. */
struct compiler_options {
    const char *helper_path; /* the dsajit-compiler program */
    const char *rocm_path;   /* a ROCm prefix: holds lib/libhiprtc.so.* or usr/lib/<triple>/… */
    int timeout_ms;          /* for one request; <= 0: the default of 120 s */
    struct logger log;
};

struct compiler;

/* Finds nothing and starts nothing yet, so it can't fail but for memory. Thread-safe from then on:
   concurrent requests each get a helper process of their own. */
dsajit_status compiler_create(const struct compiler_options *options, struct compiler **compiler,
                              dsajit_error *error);
void compiler_destroy(struct compiler *compiler);

/* ---- Toolchain ---- */
/* What compiles: found without starting the helper where it is remembered. */
struct toolchain {
    char *helper;   /* the dsajit-compiler program */
    char *prefix;   /* the ROCm prefix chosen, and why: for people */
    char *origin;   /* "DSAJIT_ROCM_PATH", "/opt/rocm", "private copy", … */
    char *version;  /* "hipRTC 7.2, comgr 3.0, LLVM 22.1.8": for people */
    char *identity; /* canonical text: one "name=build-id-or-digest" per library really loaded; goes
                       into the key */
};
/* `memory_directory` (may be NULL) is where the identity is remembered per library file (device,
   inode, size, times), so that a cache hit starts no process and hashes nothing.
   DSAJIT_ERROR_TOOLCHAIN_MISSING when there is none. */
dsajit_status compiler_toolchain(struct compiler *compiler, const char *memory_directory,
                                 struct toolchain *toolchain, dsajit_error *error);
void toolchain_free(struct toolchain *toolchain);

/* ---- Compile ---- */
/* A helper process kept from one compile to the next, since starting one takes about as long as
   compiling a small kernel. A zeroed struct has none yet. Belongs to the thread that uses it and is
   ended by that thread. */
struct compiler_worker {
    struct session *session;
};
void compiler_worker_end(struct compiler_worker *worker);

struct compile_request {
    const char *source;
    const char *name;               /* shown in diagnostics as the file name */
    const char *target;             /* "gfx950" */
    const char *const *options;     /* NULL-terminated, for hipRTC, without --offload-arch */
    struct compiler_worker *worker; /* NULL: a helper of its own */
    int timeout_ms;                 /* 0: the compiler's */
    const atomic_bool *cancel;      /* gives up with CANCELLED when it turns true; NULL: never */
};

/* What the code object's metadata say of one kernel. */
struct kernel_resources {
    uint32_t vgprs, agprs, sgprs; /* vgprs: total of the unified file, as metadata count it */
    uint32_t lds_bytes, scratch_bytes;
    uint32_t vgpr_spills, sgpr_spills;
    uint32_t kernarg_bytes, workgroup_size;
};

struct compile_result {
    struct bytes code;     /* the code object */
    struct bytes log;      /* what the compiler said, whether or not it succeeded */
    struct bytes metadata; /* text, as described for struct inspection */
    char *symbol;          /* name of the (first) kernel */
    struct kernel_resources resources;
    double milliseconds; /* in the helper, without starting it */
};

/* Statuses: COMPILE (log filled), COMPILER_CRASHED (log filled as far as it came), TIMEOUT,
   TOOLCHAIN_MISSING, IO. `result` is to be freed in every case. */
dsajit_status compiler_compile(struct compiler *compiler, const struct compile_request *request,
                               struct compile_result *result, dsajit_error *error);
void compile_result_free(struct compile_result *result);

/* ---- Inspect ---- */
/* What LLVM reads back from a code object, as text.

   `metadata`: a line per kernel, followed by a line per argument of it; value kinds as in the
   AMDGPU metadata:
       kernel NAME vgprs=… agprs=… sgprs=… lds=… scratch=… vgpr_spills=… sgpr_spills=… kernarg=… \
              kernarg_align=… workgroup=…                     (one line)
       argument OFFSET SIZE VALUE_KIND

   `listing`: a line per instruction of .text:
       OFFSET SIZE TEXT
   OFFSET hexadecimal, from .text's first byte; SIZE in bytes, decimal; TEXT in MC assembly with
   single blanks. What LLVM can't decode is listed word by word as ".long 0x…". */
struct inspection {
    struct bytes metadata;
    struct bytes listing;
};
dsajit_status compiler_inspect(struct compiler *compiler, const void *code, size_t size,
                               struct inspection *inspection, dsajit_error *error);
void inspection_free(struct inspection *inspection);

/* How many helper processes this process has started. */
uint64_t compiler_start_count(void);

#endif
