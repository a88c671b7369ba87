#include "small_templates.h"

#include <errno.h>
#include <ftw.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <cmocka.h>

static int remove_one(const char *path, const struct stat *status, int type, struct FTW *place)
{
    (void)status, (void)type, (void)place;
    return remove(path);
}

char *make_directory(const char *name)
{
    const char *state = getenv("DSAJIT_TEST_STATE");
    char *path;
    assert_non_null(state);
    assert_true(asprintf(&path, "%s/%s", state, name) > 0);
    nftw(path, remove_one, 16, FTW_DEPTH | FTW_PHYS);
    assert_int_equal(mkdir(path, 0700), 0);
    return path;
}

void write_template(const char *directory, const char *extra)
{
    char *path;
    assert_true(asprintf(&path, "%s/sparse_mla.hip", directory) > 0);
    FILE *file = fopen(path, "we");
    assert_non_null(file);
    fprintf(file, "%s\nextern \"C\" __global__ void DSAJIT_KERNEL(const void *argument) {}\n",
            extra);
    assert_int_equal(fclose(file), 0);
    free(path);
}
