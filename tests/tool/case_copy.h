/* A copy of one of tests/vectors' cases to spoil, and the command that reads it. */
#ifndef TESTS_TOOL_CASE_COPY_H
#define TESTS_TOOL_CASE_COPY_H

#include <stddef.h>

/* What the functions below are about. */
struct case_copy {
    const char *command; /* "run sparse-mla" */
    const char *name;    /* of the case in tests/vectors */
};
extern struct case_copy case_copy;

/* A fresh copy, with nothing else in its folder. */
void case_copy_make(void);

/* A file of the copy. */
void case_copy_path(char path[4096], const char *name);
void case_copy_write(const char *name, const void *data, size_t size);
void case_copy_remove(const char *name);
/* Puts `size` bytes in the place of entry `entry`, each entry being of that size. */
void case_copy_set(const char *name, long entry, const void *value, size_t size);

/* The command, run on the copy, ends with exit code 1 and one line that has both words. */
void case_copy_expect_error(const char *word, const char *other_word);

/* A file of `size` bytes in a folder below the test's own; the caller frees it. */
void *case_copy_read(const char *folder, const char *name, size_t size);

#endif
