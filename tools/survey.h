/* Which variants of a plan are in the cache, found out without compiling anything. */
#ifndef TOOLS_SURVEY_H
#define TOOLS_SURVEY_H

#include "command.h"

#include <dsajit/warmup.h>

enum survey_state {
    SURVEY_WARM,
    SURVEY_MISSING, /* would be compiled */
    SURVEY_BAD      /* would be too, since the entry that is there is damaged */
};

struct survey_item {
    const char *variant; /* the plan's */
    enum survey_state state;
    char *path;   /* of the entry; NULL when it isn't warm */
    char *reason; /* why it is in this state, in words */
};

struct survey {
    struct survey_item *items; /* in the plan's order */
    size_t count, missing, bad;
};

/* Looks every variant up as a serving process would: in strict mode, where a damaged entry is moved
   aside. The caller frees the result. */
dsajit_status survey_make(struct common_options *common, const dsajit_plan *plan,
                          struct survey *survey, dsajit_error *error);

/* Tells what a warmup into `directory` alone (NULL: as the environment has it) would find there.
   Changes nothing on the disk: it makes no directory and moves nothing aside. */
dsajit_status survey_make_dry(struct common_options *common, const dsajit_plan *plan,
                              const char *directory, struct survey *survey, dsajit_error *error);
void survey_free(struct survey *survey);

/* Standard output: a line for each variant that isn't warm. */
void survey_print(const struct survey *survey);
/* Adds the members total, missing, bad and variants. */
void survey_add_json(const struct survey *survey, json_t *object);

#endif
