/* Which variants a command is about: the options that warmup and check share. */
#ifndef TOOLS_SELECTION_H
#define TOOLS_SELECTION_H

#include "model_file.h"

/* The fields of sparse MLA, in the order of a variant's text. */
enum selection_field {
    SELECTION_HEADS,
    SELECTION_HAS_INVALID,
    SELECTION_RETURN_LSE,
    SELECTION_INDEX,
    SELECTION_SCALE,
    SELECTION_MATH,
    SELECTION_FIELD_COUNT
};

/* Paths and texts are the command line's own. */
struct selection_list {
    const char **items;
    size_t count;
};

struct selection_options {
    const char *architectures;                 /* a list; NULL: not given */
    const char *fields[SELECTION_FIELD_COUNT]; /* a list of values each; NULL: not given */
    struct selection_list selections;
    struct selection_list plan_files;
    const char *model; /* path of a config.json; NULL: none */
    struct model_layout layout;
};

#define SELECTION_DEFAULT                                                                          \
    {                                                                                              \
        .layout = MODEL_LAYOUT_DEFAULT                                                             \
    }

/* An argp child whose input is a struct selection_options. */
extern const struct argp selection_argp;
void selection_free(struct selection_options *options);

/* True when no option chose anything. */
bool selection_is_empty(const struct selection_options *options);

/* Everything that the options ask for, together; the library's default plan when they ask for
   nothing. The caller frees the plan. INVALID_ARGUMENT names what doesn't exist. */
dsajit_status selection_build_plan(const struct selection_options *options, dsajit_plan **plan,
                                   dsajit_error *error);

#endif
