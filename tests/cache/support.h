/* What the cache's tests share: fresh folders, a log that counts, and one simple entry. */
#ifndef TESTS_CACHE_SUPPORT_H
#define TESTS_CACHE_SUPPORT_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "cache/cache.h"

enum { PATH_SIZE = 1024 };

/* An empty folder NAME of this test, on a disk or (memory) in a tmpfs where there is one. */
void fresh_folder(const char *name, char path[PATH_SIZE]);

/* Runs a shell command, which has to succeed. */
void shell(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* Writes BLAKE2b-256 of a text, as another program computes it, in hexadecimal. */
void b2sum(const void *data, size_t size, char hex[65]);

/* Lines that a cache logged. */
struct log_lines {
    int warnings, information;
    int waits;  /* lines about waiting for a lock */
    int places; /* lines about where the cache is; they are no information in the sense above */
    char last[2048];
};
struct logger counting_logger(struct log_lines *lines);

/* Opens a cache in these layers; `prebuilt` may be NULL. */
struct cache *open_layers(const char *directory, const char *const *prebuilt,
                          struct log_lines *lines);

/* The key of variant NAME under toolchain TOOLCHAIN (NULL: unknown). */
struct cache_key make_key(const char *name, const char *toolchain);

/* Publishes an entry whose code is `code`. */
void publish_text(struct cache *cache, const struct cache_key *key, const char *code);

/* An entry of `size` bytes of code, last used `age` seconds ago. */
void publish_aged(struct cache *cache, const char *name, size_t size, int64_t age);
void set_age(const char *path, int64_t age);
bool holds(struct cache *cache, const char *name);

/* The code of the entry for a key as text; fails when there is none. */
void assert_holds(struct cache *cache, const struct cache_key *key, const char *code);
void assert_absent(struct cache *cache, const struct cache_key *key);

/* The path of the only entry file in a layer. */
void only_entry(const char *directory, char path[PATH_SIZE]);

/* Files of any kind in a layer whose name matches a shell pattern. */
int count_files(const char *directory, const char *pattern);

void assert_contains(const char *text, const char *part);

#endif
