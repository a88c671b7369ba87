/* A template directory of the test's own, whose kernels compile in a moment and do nothing. */
#ifndef TESTS_RUNTIME_SMALL_TEMPLATES_H
#define TESTS_RUNTIME_SMALL_TEMPLATES_H

/* Makes an empty directory below the test's state folder, removing what an earlier run left; the
   caller frees the path. Fails the running test when it can't. */
char *make_directory(const char *name);

/* Writes a sparse_mla.hip there, with `extra` lines in front of an empty kernel. */
void write_template(const char *directory, const char *extra);

#endif
