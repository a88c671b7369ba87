/* The built command on a terminal of its own. */
#ifndef TESTS_TOOL_TERMINAL_H
#define TESTS_TOOL_TERMINAL_H

#include <stddef.h>
#include <sys/types.h>

struct terminal {
    pid_t pid;
    int descriptor;
    char *text; /* all that was written to the terminal so far */
    size_t size;
};

/* Starts the command as process_run does, its three streams being a terminal of that width. */
void terminal_start(struct terminal *terminal, unsigned short width, const char *const *environment,
                    const char *arguments, ...) __attribute__((format(printf, 4, 5)));

/* Reads until `word` has been written; fails the test when the command ends before. */
void terminal_wait_for(struct terminal *terminal, const char *word);

/* Types a character: Ctrl-C is 3. */
void terminal_type(const struct terminal *terminal, char character);

/* Reads until the command has ended; its exit code, or 128 + signal. */
int terminal_end(struct terminal *terminal);
void terminal_free(struct terminal *terminal);

#endif
