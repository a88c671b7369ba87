/* Finds the helper program and a ROCm for it, in the order that docs/toolchain.md gives. Looks at
   file names only: loads nothing and starts nothing. */
#ifndef COMPILER_LOCATE_H
#define COMPILER_LOCATE_H

#include "compiler/compiler.h"

struct location {
    char *helper;       /* the program */
    char *prefix;       /* the ROCm prefix, or the folder of the system's library path */
    const char *origin; /* what named it: "DSAJIT_ROCM_PATH", "/opt/rocm", … */
    char *loader;       /* the prefix's own dynamic loader; NULL: the system's */
    char *library_path; /* folders for the loader */
    char *comgr;        /* library files */
    char *hiprtc;
};

/* TOOLCHAIN_MISSING says what was looked for and where. */
dsajit_status locate_toolchain(const struct compiler_options *options, struct location *location,
                               dsajit_error *error);
void location_free(struct location *location);

#endif
