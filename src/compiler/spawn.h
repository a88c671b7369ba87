/* Starting a helper process so that it and its host can't disturb each other. */
#ifndef COMPILER_SPAWN_H
#define COMPILER_SPAWN_H

#include "base/error.h"

#include <sys/types.h>

/* How to start a helper. */
struct spawn_command {
    const char *helper;       /* its path */
    const char *loader;       /* the dynamic loader to start it with; NULL: the system's */
    const char *library_path; /* for that loader, or as LD_LIBRARY_PATH; NULL: none */
    const char *comgr;        /* library files the helper is to load */
    const char *hiprtc;
};

struct spawned {
    pid_t pid;
    int socket;   /* the helper's standard input and output */
    int log_pipe; /* its standard error; non-blocking */
};

/* TOOLCHAIN_MISSING when the program isn't there or can't be executed, IO for anything else. */
dsajit_status spawn_helper(const struct spawn_command *command, struct spawned *spawned,
                           dsajit_error *error);

#endif
