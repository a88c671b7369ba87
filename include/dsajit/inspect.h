/* Looking into a context: what it compiles with and where it caches. For people and tools; no
   launch needs any of it. */
#ifndef DSAJIT_INSPECT_H
#define DSAJIT_INSPECT_H

#include "dsajit/dsajit.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Strings are owned by the context. */
typedef struct dsajit_toolchain_info {
    const char *helper;   /* path of the dsajit-compiler program */
    const char *prefix;   /* the ROCm that it loads hipRTC and comgr from */
    const char *origin;   /* what named that ROCm: "DSAJIT_ROCM_PATH", "/opt/rocm", … */
    const char *version;  /* of hipRTC, comgr and LLVM, for people */
    const char *identity; /* as it stands in cache keys: a line for each library loaded */
} dsajit_toolchain_info;

/* Looks for a toolchain the first time; may start the helper then. TOOLCHAIN_MISSING says what was
   looked for and where. */
DSAJIT_API dsajit_status dsajit_get_toolchain_info(dsajit_context *context,
                                                   dsajit_toolchain_info *info,
                                                   dsajit_error *error);

/* Strings are owned by the context. */
typedef struct dsajit_cache_info {
    const char *directory;       /* the writable cache directory; NULL: running without one */
    const char *problem;         /* why there is none although one is wanted; else NULL */
    const char *const *prebuilt; /* NULL-terminated list of the read-only layers in use */
} dsajit_cache_info;

DSAJIT_API dsajit_status dsajit_get_cache_info(const dsajit_context *context,
                                               dsajit_cache_info *info, dsajit_error *error);

/* ---- Code ---- */

/* The disassembly of a code object, a line for each instruction, as dsajit_get_isa gives it. Starts
   a helper. The bytes may be anything: CORRUPT when they are no code object. */
DSAJIT_API dsajit_status dsajit_disassemble(dsajit_context *context, const void *code, size_t size,
                                            dsajit_text *isa, dsajit_error *error);

/* ---- Settings ---- */

/* An environment variable, and what it makes of a context whose options leave the choice to it. */
typedef struct dsajit_setting {
    const char *variable;
    const char *meaning; /* in a few words; NULL: nothing here knows the variable */
    const char *value;   /* in force; NULL: none */
    const char *origin;  /* what gave the value: the variable itself, another one, "default", … */
} dsajit_setting;

/* Called with each setting, valid during the call; return false to stop. */
typedef bool (*dsajit_setting_function)(void *user, const dsajit_setting *setting);

/* Shows every setting, then every variable of the environment whose name begins with DSAJIT_ and
   that nothing knows: most likely a misspelled one. (Names that begin with DSAJIT_TEST_ are left to
   tests.) Opens, makes and starts nothing. INVALID_ARGUMENT, when all have been shown, for a value
   that dsajit_open would refuse. */
DSAJIT_API dsajit_status dsajit_visit_settings(dsajit_setting_function function, void *user,
                                               dsajit_error *error);

#ifdef __cplusplus
}
#endif
#endif
