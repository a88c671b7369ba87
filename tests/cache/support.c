#include "support.h"

#include "cache/walk.h"

#include <fcntl.h>
#include <fnmatch.h>
#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

void shell(const char *format, ...)
{
    char *line = NULL;
    va_list arguments;
    va_start(arguments, format);
    assert_true(vasprintf(&line, format, arguments) >= 0);
    va_end(arguments);
    assert_int_equal(system(line), 0);
    free(line);
}

static int remove_one(const char *path, const struct stat *state, int type, struct FTW *walk)
{
    (void)state;
    (void)type;
    (void)walk;
    return remove(path);
}

void fresh_folder(const char *name, char path[PATH_SIZE])
{
    snprintf(path, PATH_SIZE, "%s/%s", getenv("DSAJIT_TEST_STATE"), name);
    nftw(path, remove_one, 16, FTW_DEPTH | FTW_PHYS);
    assert_int_equal(mkdir(path, 0700), 0);
}

void b2sum(const void *data, size_t size, char hex[65])
{
    char folder[PATH_SIZE], path[PATH_SIZE + 16];
    fresh_folder("b2sum", folder);
    snprintf(path, sizeof path, "%s/data", folder);
    FILE *file = fopen(path, "we");
    assert_non_null(file);
    assert_int_equal(fwrite(data, 1, size, file), size);
    fclose(file);
    shell("cd '%s' && b2sum -l 256 data >sum", folder);
    snprintf(path, sizeof path, "%s/sum", folder);
    file = fopen(path, "re");
    assert_non_null(file);
    assert_int_equal(fscanf(file, "%64s", hex), 1);
    fclose(file);
}

static void count_line(void *user, dsajit_log_level level, const char *message)
{
    struct log_lines *lines = user;
    lines->warnings += level == DSAJIT_LOG_WARNING;
    const bool is_place = !strncmp(message, "kernels are kept in", 19);
    lines->information += level == DSAJIT_LOG_INFO && !is_place;
    lines->places += is_place;
    lines->waits += !strncmp(message, "waited", 6);
    if (!is_place)
        snprintf(lines->last, sizeof lines->last, "%s", message);
}

struct logger counting_logger(struct log_lines *lines)
{
    *lines = (struct log_lines){0};
    return (struct logger){count_line, lines};
}

struct cache *open_layers(const char *directory, const char *const *prebuilt,
                          struct log_lines *lines)
{
    static const char *const none[] = {NULL};
    const struct cache_options options = {.directory = directory,
                                          .prebuilt = prebuilt ? prebuilt : none,
                                          .log = counting_logger(lines)};
    struct cache *cache;
    assert_int_equal(cache_open(&options, &cache, NULL), DSAJIT_OK);
    return cache;
}

struct cache_key make_key(const char *name, const char *toolchain)
{
    struct cache_key key = {0};
    cache_key_append(&key, "variant", name);
    cache_key_append(&key, "target", "gfx950");
    if (toolchain)
        bytes_append_format(&key.toolchain, "libcompiler.so=build-id:%s\n", toolchain);
    assert_false(bytes_failed(&key.base));
    return key;
}

void publish_text(struct cache *cache, const struct cache_key *key, const char *code)
{
    const struct cache_section sections[] = {{"code", code, strlen(code)}, {"log", "", 0}};
    dsajit_error error = {0};
    if (cache_publish(cache, key, sections, 2, &error))
        fail_msg("%s", error.message);
}

void assert_holds(struct cache *cache, const struct cache_key *key, const char *code)
{
    struct cache_entry entry;
    dsajit_error error = {0};
    if (cache_get(cache, key, &entry, &error))
        fail_msg("%s", error.message);
    const struct cache_section *section = cache_entry_section(&entry, "code");
    assert_non_null(section);
    assert_int_equal(section->size, strlen(code));
    assert_memory_equal(section->data, code, section->size);
    cache_entry_free(&entry);
}

void set_age(const char *path, int64_t age)
{
    const struct timespec when = {.tv_sec = time(NULL) - age};
    const struct timespec times[] = {when, when};
    assert_int_equal(utimensat(AT_FDCWD, path, times, AT_SYMLINK_NOFOLLOW), 0);
}

void publish_aged(struct cache *cache, const char *name, size_t size, int64_t age)
{
    struct cache_key key = make_key(name, "one");
    char *code = malloc(size + 1), *path = cache_entry_path(cache, &key);
    assert_non_null(code);
    memset(code, 'x', size);
    code[size] = '\0';
    publish_text(cache, &key, code);
    set_age(path, age);
    free(code);
    free(path);
    cache_key_free(&key);
}

bool holds(struct cache *cache, const char *name)
{
    struct cache_key key = make_key(name, "one");
    char *path = cache_entry_path(cache, &key);
    bool held = !access(path, F_OK);
    free(path);
    cache_key_free(&key);
    return held;
}

void assert_absent(struct cache *cache, const struct cache_key *key)
{
    struct cache_entry entry;
    dsajit_error error;
    assert_int_equal(cache_get(cache, key, &entry, &error), DSAJIT_ERROR_NOT_FOUND);
}

static bool take_path(void *user, const struct layer_file *file)
{
    char *taken = user;
    if (file->kind == FILE_ENTRY) {
        assert_int_equal(*taken, '\0');
        snprintf(taken, PATH_SIZE, "%s", file->path);
    }
    return true;
}

void only_entry(const char *directory, char path[PATH_SIZE])
{
    *path = '\0';
    assert_int_equal(walk_layer(directory, take_path, path), 0);
    assert_int_not_equal(*path, '\0');
}

/* nftw hands nothing on to its visitor. */
static const char *counted_pattern;
static int counted;

static int count_match(const char *path, const struct stat *state, int type, struct FTW *walk)
{
    (void)state;
    counted += type != FTW_D && !fnmatch(counted_pattern, path + walk->base, 0);
    return 0;
}

int count_files(const char *directory, const char *pattern)
{
    counted_pattern = pattern;
    counted = 0;
    assert_int_equal(nftw(directory, count_match, 16, FTW_PHYS), 0);
    return counted;
}

void assert_contains(const char *text, const char *part)
{
    if (!strstr(text, part))
        fail_msg("\"%s\" isn't in \"%s\"", part, text);
}
