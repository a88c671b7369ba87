#include "emulator/settings.h"

#include <errno.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

enum { GIB_SHIFT = 30 };

static struct settings settings;
static char problem_text[160]; /* "": none */

/* The value of an environment variable, `fallback` where it isn't set or empty. */
static uint64_t read_number(const char *name, uint64_t fallback, uint64_t lowest, uint64_t highest)
{
    const char *text = getenv(name);
    if (!text || !*text)
        return fallback;
    char *end;
    errno = 0;
    uint64_t value = strtoull(text, &end, 0);
    if (*text >= '0' && *text <= '9' && !*end && !errno && value >= lowest && value <= highest)
        return value;
    snprintf(problem_text, sizeof problem_text,
             "%s is \"%.40s\", not a number from %" PRIu64 " to %" PRIu64, name, text, lowest,
             highest);
    return fallback;
}

static void read_environment(void)
{
    settings.devices = (unsigned)read_number("DSAJIT_EMULATOR_DEVICES", 1, 0, DEVICES_MAX);
    settings.memory = (size_t)read_number("DSAJIT_EMULATOR_MEMORY_GIB", 64, 1, 288) << GIB_SHIFT;
    settings.threads = (unsigned)read_number("DSAJIT_EMULATOR_THREADS", 0, 0, 1024);
    settings.schedule_seed = read_number("DSAJIT_EMULATOR_SCHEDULE", 0, 0, UINT64_MAX);
    settings.instruction_limit = read_number("DSAJIT_EMULATOR_INSTRUCTION_LIMIT", 0, 0, UINT64_MAX);
    settings.check_initialised = read_number("DSAJIT_EMULATOR_CHECK_UNINITIALISED", 0, 0, 1);
}

const struct settings *settings_get(const char **problem)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, read_environment);
    *problem = problem_text;
    return problem_text[0] ? NULL : &settings;
}
