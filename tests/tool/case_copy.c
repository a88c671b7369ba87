#include "case_copy.h"

#include "process.h"

#include <dirent.h>
#include <fcntl.h>
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

struct case_copy case_copy;

void case_copy_path(char path[4096], const char *name)
{
    snprintf(path, 4096, "%s/case/%s", getenv("DSAJIT_TEST_STATE"), name);
}

void case_copy_write(const char *name, const void *data, size_t size)
{
    char path[4096];
    case_copy_path(path, name);
    FILE *file = fopen(path, "wb");
    assert_non_null(file);
    assert_int_equal(fwrite(data, 1, size, file), size);
    fclose(file);
}

void case_copy_remove(const char *name)
{
    char path[4096];
    case_copy_path(path, name);
    assert_int_equal(remove(path), 0);
}

void case_copy_set(const char *name, long entry, const void *value, size_t size)
{
    char path[4096];
    case_copy_path(path, name);
    int file = open(path, O_WRONLY | O_CLOEXEC);
    assert_true(file >= 0);
    assert_int_equal(pwrite(file, value, size, entry * (off_t)size), size);
    close(file);
}

static void visit_files(const char *folder, void (*visit)(const char *folder, const char *name))
{
    DIR *directory = opendir(folder);
    assert_non_null(directory);
    for (struct dirent *entry; (entry = readdir(directory));)
        if (entry->d_name[0] != '.')
            visit(folder, entry->d_name);
    closedir(directory);
}

static void remove_file(const char *folder, const char *name)
{
    (void)folder;
    case_copy_remove(name);
}

static void copy_file(const char *folder, const char *name)
{
    static char data[2 << 20];
    char path[8192];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    FILE *file = fopen(path, "rb");
    assert_non_null(file);
    const size_t size = fread(data, 1, sizeof data, file);
    assert_true(feof(file));
    fclose(file);
    case_copy_write(name, data, size);
}

void case_copy_make(void)
{
    char from[4096], to[4096];
    snprintf(from, sizeof from, "%s/tests/vectors/%s", getenv("DSAJIT_TEST_SOURCE"),
             case_copy.name);
    case_copy_path(to, "");
    mkdir(to, 0700);
    visit_files(to, remove_file);
    visit_files(from, copy_file);
}

void case_copy_expect_error(const char *word, const char *other_word)
{
    struct process process;
    process_run(&process, NULL, "%s --device emulator --case %s", case_copy.command,
                state_path("case"));
    if (process.exit_code != 1)
        fail_msg("exit code %d: %s%s", process.exit_code, process.out, process.err);
    assert_string_equal(process.out, "");
    assert_int_equal(count_of(process.err, "\n"), 1);
    assert_contains(process.err, word);
    assert_contains(process.err, other_word);
    process_free(&process);
}

void *case_copy_read(const char *folder, const char *name, size_t size)
{
    char path[4096];
    snprintf(path, sizeof path, "%s/%s/%s", getenv("DSAJIT_TEST_STATE"), folder, name);
    FILE *file = fopen(path, "rb");
    assert_non_null(file);
    char *data = malloc(size + 1);
    assert_non_null(data);
    assert_int_equal(fread(data, 1, size + 1, file), size);
    fclose(file);
    return data;
}
