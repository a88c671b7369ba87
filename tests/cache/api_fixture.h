/* What the tests of the public API share: a context with its own cache, and what a visit shows. */
#ifndef TESTS_CACHE_API_FIXTURE_H
#define TESTS_CACHE_API_FIXTURE_H

#include "fake_toolchain.h"

#include "dsajit/cache.h"

extern struct fake_toolchain toolchain;
int make_toolchain(void **state); /* a cmocka group fixture */

/* A context on an empty cache that has compiled the first `count` variants. */
struct fixture {
    char cache[PATH_SIZE];
    struct log_lines lines;
    dsajit_context *context;
};
void open_fixture(struct fixture *fixture, const char *name, int count);
void close_fixture(struct fixture *fixture);

/* What a visit showed; the texts are the last entry's. */
struct seen {
    int count, states[3];
    int stop_after; /* 0: never */
    char path[PATH_SIZE], problem[256], variant[256], kind[32];
    dsajit_cache_entry last;
    size_t code_size;
};
bool see(void *user, const dsajit_cache_entry *entry);

#endif
