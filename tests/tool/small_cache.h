/* An empty cache and templates that compile in a moment, for the commands that a test runs. */
#ifndef TESTS_TOOL_SMALL_CACHE_H
#define TESTS_TOOL_SMALL_CACHE_H

#include <stddef.h>

/* A cmocka setup function: empties the folders "cache-small" and "templates-small" below the test's
   own, and names them in this process's environment, which the commands inherit. */
int small_cache_set_up(void **state);

/* Replaces the template by one with `extra` lines in front of its empty kernel. */
void small_cache_write_template(const char *extra);

/* Entry files in the cache. */
size_t small_cache_count(void);

/* The path of an entry, in static storage until the next call. Fails the test without one. */
const char *small_cache_entry(void);

/* Everything below a path of the test's folder, files and folders; 0 when it doesn't exist. */
size_t small_cache_count_below(const char *name);

/* Turns the bits of a byte over. */
void small_cache_damage(const char *path);

/* A variant with that many heads, in static storage until the next call. */
const char *small_variant(int heads);

#endif
