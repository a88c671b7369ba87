#include "index_case.h"

#include "harness.h"

#include <stdio.h>
#include <stdlib.h>

void index_case_read(const char *name, struct indexer_case *index_case)
{
    char directory[4096];
    dsajit_error error = {0};
    snprintf(directory, sizeof directory, "%s/tests/vectors/%s", getenv("DSAJIT_TEST_SOURCE"),
             name);
    assert_ok(indexer_case_read(directory, index_case, &error), &error);
}
