/* Runs the built command and keeps what it said. */
#ifndef TESTS_TOOL_PROCESS_H
#define TESTS_TOOL_PROCESS_H

#include <jansson.h>
#include <stdarg.h>
#include <stddef.h>
#include <sys/types.h>

struct process {
    int exit_code; /* 128 + signal for one that was killed */
    char *out, *err;
};

/* Runs DSAJIT_TEST_TOOL with `arguments`, words separated by blanks (a word may hold none), in this
   process's environment with `environment` on top: NULL or a NULL-terminated list of NAME=VALUE. */
void process_run(struct process *process, const char *const *environment, const char *arguments,
                 ...) __attribute__((format(printf, 3, 4)));
void process_free(struct process *process);

/* The same in two steps, so that a test can do something while it runs. One at a time. */
pid_t process_start(const char *const *environment, const char *arguments, ...)
    __attribute__((format(printf, 2, 3)));
void process_wait(struct process *process, pid_t pid);

/* What an exec needs of it. */
enum { PROCESS_WORDS_MAX = 64, PROCESS_VARIABLES_MAX = 256 };
struct process_command {
    char text[8192]; /* the words are in it */
    char *words[PROCESS_WORDS_MAX];
    const char *variables[PROCESS_VARIABLES_MAX];
};
void process_prepare(struct process_command *command, const char *const *environment,
                     const char *arguments, va_list list) __attribute__((format(printf, 3, 0)));
/* 0 … 255, or 128 + signal. */
int process_exit_code(int status);

/* The standard output as one JSON object of schema 1 for `command`; fails the test otherwise. The
   caller releases it. */
json_t *process_json(const struct process *process, const char *command);

/* A member by its path, "kernel.origin" for instance; fails the test when there is none. */
const json_t *json_at(const json_t *object, const char *path);

/* Non-overlapping occurrences. */
size_t count_of(const char *text, const char *word);
void assert_contains(const char *text, const char *word);

/* A path below the test's own folder, in static storage until the next call. */
const char *state_path(const char *name);

#endif
