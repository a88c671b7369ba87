/* The HIP runtime a context uses: the real libamdhip64 or the emulator, through one table of
 * functions. */
#ifndef RUNTIME_HIP_H
#define RUNTIME_HIP_H

#include "base/error.h"
#include "base/hip_table.h"
#include "dsajit/dsajit.h"

struct hip_device {
    char name[256];
    char target[256]; /* full target id, as the runtime names it */
    int architecture; /* index into codegen's architectures; -1: none of them */
};

struct hip {
    void *library; /* dlopen handle; NULL: no device */
    char *path;
    dsajit_device_kind kind;
    int runtime_version;
    int device_count;
    struct hip_device *devices;
    struct hip_table table;
    /* The emulator's accounts of the last kernel fault and of this thread's last failed call; NULL
       on a GPU. */
    const char *(*describe_fault)(void);
    const char *(*describe_error)(void);
};

struct hip_options {
    dsajit_device_kind kind;
    const char *library;   /* path to open as the real runtime; NULL: searched */
    const char *rocm_path; /* a prefix to search first; NULL: none */
    struct logger log;
    /* For the emulator, which reads code objects through the compiler helper and remembers what it
       read in the cache; NULL: the defaults. */
    const char *cache_directory;
    const char *const *prebuilt;
    const char *compiler;
};

/* Opens a runtime as dsajit_device_kind says. NO_DEVICE tells what was tried. */
dsajit_status hip_open(const struct hip_options *options, struct hip *hip, dsajit_error *error);
void hip_close(struct hip *hip);

/* A function of the library by name; NULL when it has none or there is no library. */
void *hip_symbol(const struct hip *hip, const char *name);

/* Turns a HIP result into a status; `what` is the call, for the message. */
dsajit_status hip_check(const struct hip *hip, hipError_t result, const char *what,
                        dsajit_error *error);

#endif
