#include "small_cache.h"

#include "../runtime/small_templates.h"
#include "process.h"

#include <fcntl.h>
#include <ftw.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <cmocka.h>

int small_cache_set_up(void **state)
{
    (void)state;
    char *cache = make_directory("cache-small"), *templates = make_directory("templates-small");
    setenv("DSAJIT_CACHE_DIR", cache, 1);
    setenv("DSAJIT_TEMPLATE_DIR", templates, 1);
    small_cache_write_template("");
    free(cache);
    free(templates);
    return 0;
}

void small_cache_write_template(const char *extra)
{
    const char *templates = getenv("DSAJIT_TEMPLATE_DIR");
    assert_non_null(templates);
    write_template(templates, extra);
}

static size_t entries, things;
static char entry[4096];

static int count(const char *path, const struct stat *about, int kind, struct FTW *place)
{
    static const char suffix[] = ".dsajit";
    const size_t size = strlen(path);
    (void)about, (void)place;
    things++;
    if (kind != FTW_F || size < sizeof suffix ||
        strcmp(path + size - (sizeof suffix - 1), suffix) != 0)
        return 0;
    entries++;
    snprintf(entry, sizeof entry, "%s", path);
    return 0;
}

static void walk(const char *path)
{
    assert_non_null(path);
    entries = things = 0;
    nftw(path, count, 16, FTW_PHYS);
}

size_t small_cache_count(void)
{
    walk(getenv("DSAJIT_CACHE_DIR"));
    return entries;
}

const char *small_cache_entry(void)
{
    walk(getenv("DSAJIT_CACHE_DIR"));
    assert_true(entries > 0);
    return entry;
}

size_t small_cache_count_below(const char *name)
{
    walk(state_path(name));
    return things;
}

void small_cache_damage(const char *path)
{
    enum { OFFSET = 200 };
    uint8_t byte;
    const int file = open(path, O_RDWR | O_CLOEXEC);
    assert_true(file >= 0);
    assert_int_equal(pread(file, &byte, 1, OFFSET), 1);
    byte = (uint8_t)~byte;
    assert_int_equal(pwrite(file, &byte, 1, OFFSET), 1);
    close(file);
}

const char *small_variant(int heads)
{
    static char text[128];
    snprintf(text, sizeof text,
             "sparse_mla/gfx950/heads=%d,has_invalid=0,return_lse=0,index=i32,scale=pow2,math=bf16",
             heads);
    return text;
}
