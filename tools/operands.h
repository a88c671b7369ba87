/* The arguments of a command beside its options. */
#ifndef TOOLS_OPERANDS_H
#define TOOLS_OPERANDS_H

#include "command.h"

enum { OPERANDS_MAX = 2 };

/* A command's options begin with one of these. */
struct operands {
    struct common_options common;
    const char *items[OPERANDS_MAX]; /* NULL: not given */
    size_t least, most;              /* how many there may be */
    const char *question;            /* asked when there are too few */
};

/* A parser, whole or for the keys that another doesn't know; common_argp is the first child. */
error_t operands_parse(int key, char *argument, struct argp_state *state);

#endif
