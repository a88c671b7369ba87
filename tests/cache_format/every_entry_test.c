/* Every entry that the tests before this one have left, read by the library and by another reader:
   both must come to the same verdict and to the same content. */
#include "entry_reader.h"

#include "dsajit/cache.h"

#include <errno.h>
#include <ftw.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <cmocka.h>

/* What the library must find in the file at hand. */
static struct {
    const char *problem; /* NULL: a good entry */
    struct reader_entry entry;
} other;
static size_t entries_seen, good_entries;

static void compare_text(const char *path, const char *theirs, const struct reader_block *ours)
{
    if (strlen(theirs) != ours->size || memcmp(theirs, ours->data, ours->size) != 0)
        fail_msg("%s: the keys differ", path);
}

static bool compare(void *user, const dsajit_cache_entry *entry)
{
    (void)user;
    const char *path = entry->path;
    if ((entry->state == DSAJIT_ENTRY_OK) != (other.problem == NULL))
        fail_msg("%s: the library says '%s', the other reader '%s'", path, entry->problem,
                 other.problem ? other.problem : "");
    if (other.problem)
        return true;
    compare_text(path, entry->key_base, &other.entry.base);
    compare_text(path, entry->key_toolchain, &other.entry.toolchain);
    assert_int_equal(entry->section_count, other.entry.section_count);
    for (size_t i = 0; i < entry->section_count; i++) {
        const dsajit_cache_section *theirs = &entry->sections[i];
        const struct reader_block *ours = &other.entry.sections[i];
        if (strcmp(theirs->name, ours->name) != 0 || theirs->size != ours->size ||
            memcmp(theirs->data, ours->data, ours->size) != 0)
            fail_msg("%s: section %zu differs", path, i);
    }
    return true;
}

/* A good entry under a name like a layer's is found under no other name. */
static void check_name(const char *path)
{
    enum { BUCKET = 3 };
    char wanted[READER_FILE_NAME_SIZE];
    reader_file_name(&other.entry, wanted);
    const size_t size = strlen(path), expected = strlen(wanted);
    if (size > expected && path[size - expected - 1] == '/' &&
        path[size - expected + BUCKET - 1] == '/' && strcmp(path + size - expected, wanted) == 0)
        good_entries++;
}

static int read_file(const char *path, const struct stat *about, int kind, struct FTW *place)
{
    static const char suffix[] = ".dsajit";
    const char *end = path + strlen(path) - (sizeof suffix - 1);
    (void)place;
    if (kind != FTW_F || !S_ISREG(about->st_mode) || end < path || strcmp(end, suffix) != 0)
        return 0;
    const size_t size = (size_t)about->st_size;
    uint8_t *bytes = malloc(size + 1);
    assert_non_null(bytes);
    FILE *file = fopen(path, "re");
    if (!file && errno == EACCES) { /* a test's own doing */
        free(bytes);
        return 0;
    }
    assert_non_null(file);
    assert_int_equal(fread(bytes, 1, size, file), size);
    fclose(file);
    entries_seen++;
    other.problem = reader_read(bytes, size, &other.entry);
    if (!other.problem)
        check_name(path);
    dsajit_error error;
    if (dsajit_cache_inspect(path, compare, NULL, &error))
        fail_msg("%s", error.message);
    free(bytes);
    return 0;
}

static void both_readers_agree_on_every_entry(void **state)
{
    (void)state;
    char path[4096];
    snprintf(path, sizeof path, "%s/..", getenv("DSAJIT_TEST_STATE"));
    assert_int_equal(nftw(path, read_file, 16, FTW_PHYS), 0);
    if (entries_seen == 0)
        skip(); /* it runs alone */
    print_message("%zu entries, %zu good ones under their keys' names\n", entries_seen,
                  good_entries);
    assert_true(good_entries > 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(both_readers_agree_on_every_entry)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
