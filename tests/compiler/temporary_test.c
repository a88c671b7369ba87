/* comgr's temporary files: where they are, and that none stay. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "compiler/compiler.h"

#include <dirent.h>
#include <fcntl.h>
#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

static char place[2048]; /* TMPDIR */

static int remove_entry(const char *path, const struct stat *status, int type, struct FTW *position)
{
    (void)status, (void)type, (void)position;
    return remove(path);
}

static int make_place(void **state)
{
    (void)state;
    snprintf(place, sizeof place, "%s/temporary", getenv("DSAJIT_TEST_STATE"));
    nftw(place, remove_entry, 8, FTW_DEPTH | FTW_PHYS);
    return mkdir(place, 0700) || setenv("TMPDIR", place, 1);
}

static size_t count_entries(void)
{
    size_t count = 0;
    DIR *directory = opendir(place);
    assert_non_null(directory);
    for (struct dirent *entry; (entry = readdir(directory));)
        count += entry->d_name[0] != '.';
    closedir(directory);
    return count;
}

static dsajit_status compile(dsajit_error *error)
{
    struct compiler *compiler;
    struct compile_result result = {0};
    const struct compile_request request = {.source = "extern \"C\" __global__ void k() {}\n",
                                            .name = "k.hip",
                                            .target = "gfx950",
                                            .options = (const char *const[]){"-O3", NULL}};
    assert_int_equal(compiler_create(NULL, &compiler, NULL), DSAJIT_OK);
    dsajit_status status = compiler_compile(compiler, &request, &result, error);
    compile_result_free(&result);
    compiler_destroy(compiler);
    return status;
}

static void expect_compile(void)
{
    dsajit_error error;
    if (compile(&error))
        fail_msg("%s", error.message);
}

/* A folder with a file two levels down, as a killed helper leaves it. */
static void make_folder(const char *name, char path[4096])
{
    char below[4200];
    snprintf(path, 4096, "%s/%s", place, name);
    assert_int_equal(mkdir(path, 0700), 0);
    snprintf(below, sizeof below, "%s/comgr-1-0-abcdef", path);
    assert_int_equal(mkdir(below, 0700), 0);
    strcat(below, "/k.hip");
    int file = open(below, O_WRONLY | O_CREAT, 0600);
    assert_true(file >= 0);
    close(file);
}

static void a_compile_leaves_nothing(void **state)
{
    (void)state;
    expect_compile();
    assert_int_equal(count_entries(), 0);
}

static void what_killed_helpers_left_goes(void **state)
{
    (void)state;
    char abandoned[4096], used[4096], other[4096];
    make_folder("dsajit-compiler-aaaaaa", abandoned);
    make_folder("dsajit-compiler-bbbbbb", used);
    make_folder("comgr-1-0-abcdef", other);
    int lock = open(used, O_RDONLY | O_DIRECTORY);
    assert_true(lock >= 0);
    assert_int_equal(flock(lock, LOCK_EX), 0);
    expect_compile();
    assert_int_equal(access(abandoned, F_OK), -1);
    assert_int_equal(access(used, F_OK), 0);
    assert_int_equal(access(other, F_OK), 0);
    close(lock);
    expect_compile();
    assert_int_equal(count_entries(), 1);
}

/* A link under such a name leads to what belongs to somebody else. */
static void links_are_not_followed(void **state)
{
    (void)state;
    char target[4096], link[4200];
    make_folder("kept", target);
    snprintf(link, sizeof link, "%s/dsajit-compiler-cccccc", place);
    assert_int_equal(symlink(target, link), 0);
    expect_compile();
    strcat(target, "/comgr-1-0-abcdef/k.hip");
    assert_int_equal(access(target, F_OK), 0);
}

static void a_missing_place_is_named(void **state)
{
    (void)state;
    dsajit_error error;
    setenv("TMPDIR", "/no/such/place", 1);
    assert_int_equal(compile(&error), DSAJIT_ERROR_COMPILER_CRASHED);
    assert_non_null(strstr(error.message, "temporary files in /no/such/place: No such file"));
    setenv("TMPDIR", place, 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(a_compile_leaves_nothing, make_place),
        cmocka_unit_test_setup(what_killed_helpers_left_goes, make_place),
        cmocka_unit_test_setup(links_are_not_followed, make_place),
        cmocka_unit_test_setup(a_missing_place_is_named, make_place),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
