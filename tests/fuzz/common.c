/* The parts that targets share with libFuzzer and with replay.c. */
#include "fuzz.h"

#include <stdio.h>
#include <stdlib.h>

void fuzz_require(int condition, const char *promise)
{
    if (condition)
        return;
    fprintf(stderr, "broken: %s\n", promise);
    abort();
}
