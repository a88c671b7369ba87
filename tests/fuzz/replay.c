/* replay SECONDS [FILE…]: runs a fuzz target without libFuzzer: on the files, on its seeds, and on
   random changes of the seeds, the same ones every time. */
#include "fuzz.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { ROOM = 1 << 16, CHANGES_MAX = 4 };

static uint64_t random_state = 88172645463325252u;

static size_t random_below(size_t limit)
{
    random_state ^= random_state << 13;
    random_state ^= random_state >> 7;
    random_state ^= random_state << 17;
    return (size_t)(random_state % limit);
}

/* One of the changes that break parsers: a bit, a byte, an extreme number, a part moved, doubled or
   cut off. Returns the new size. */
static size_t change(uint8_t *data, size_t size)
{
    static const uint64_t extremes[] = {
        0,          1,         16,         UINT8_MAX, UINT16_MAX,    INT32_MAX,
        UINT32_MAX, INT64_MAX, UINT64_MAX, 1u << 28,  (1u << 28) + 1};
    if (size == 0)
        return 0;
    size_t at = random_below(size), length = random_below(size - at) + 1;
    switch (random_below(6)) {
    case 0:
        data[at] ^= (uint8_t)(1u << random_below(8));
        return size;
    case 1:
        data[at] = (uint8_t)random_below(256);
        return size;
    case 2: {
        uint64_t number = extremes[random_below(sizeof extremes / sizeof *extremes)];
        size_t width = (size_t)1 << random_below(4);
        if (width <= size - at)
            memcpy(data + at, &number, width);
        return size;
    }
    case 3:
        memmove(data + random_below(size - length + 1), data + at, length);
        return size;
    case 4:
        if (length > ROOM - size)
            return size;
        memmove(data + at + length, data + at, size - at);
        return size + length;
    default:
        return at;
    }
}

static void run_file(const char *path)
{
    static uint8_t data[ROOM];
    FILE *file = fopen(path, "rb");
    fuzz_require(file != NULL, "the file can be read");
    size_t size = fread(data, 1, sizeof data, file);
    fclose(file);
    LLVMFuzzerTestOneInput(data, size);
}

/* On a copy of exactly this size, so that a sanitizer sees every read behind it. */
static void run(const uint8_t *data, size_t size)
{
    uint8_t *copy = malloc(size ? size : 1);
    if (!copy)
        abort();
    memcpy(copy, data, size);
    LLVMFuzzerTestOneInput(copy, size);
    free(copy);
}

int main(int argc, char **argv)
{
    static uint8_t seed[ROOM], data[ROOM];
    const time_t end = time(NULL) + (argc > 1 ? strtol(argv[1], NULL, 10) : 1);
    unsigned long runs = 0;
    for (int i = 2; i < argc; i++)
        run_file(argv[i]);
    while (time(NULL) < end) {
        size_t size;
        for (unsigned number = 0; (size = fuzz_seed(number, seed, sizeof seed)); number++) {
            run(seed, size);
            for (int i = 0; i < 256; i++, runs++) {
                size_t changed = size;
                memcpy(data, seed, size);
                for (size_t left = random_below(CHANGES_MAX) + 1; left; left--)
                    changed = change(data, changed);
                if (random_below(4))
                    fuzz_repair(data, changed);
                run(data, changed);
            }
        }
    }
    printf("%lu inputs\n", runs);
    return 0;
}
