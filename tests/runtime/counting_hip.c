/* A HIP runtime that counts calls and passes them on to the emulator (the library that
   DSAJIT_EMULATOR names). To dsajit it is a GPU's runtime like any other. Each entry point is a
   jump, so that no signature has to be repeated. */
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define HIP_FUNCTION(result, name, parameters)                                                     \
    __attribute__((visibility("hidden"))) void *target_##name;                                     \
    __attribute__((visibility("hidden"))) unsigned long count_##name;                              \
    void name(void);                                                                               \
    __attribute__((naked)) void name(void)                                                         \
    {                                                                                              \
        __asm__("lock incq count_" #name "(%rip)\n\tjmp *target_" #name "(%rip)");                 \
    }
#include "base/hip_functions.def"

static struct {
    const char *name;
    void **target;
    unsigned long *count;
} functions[] = {
#define HIP_FUNCTION(result, name, parameters) {#name, &target_##name, &count_##name},
#include "base/hip_functions.def"
};
enum { FUNCTION_COUNT = sizeof functions / sizeof *functions };

__attribute__((constructor)) static void find_targets(void)
{
    const char *path = getenv("DSAJIT_EMULATOR");
    void *library = path ? dlopen(path, RTLD_NOW | RTLD_LOCAL) : NULL;
    for (size_t i = 0; i < FUNCTION_COUNT; i++) {
        *functions[i].target = library ? dlsym(library, functions[i].name) : NULL;
        if (!*functions[i].target) {
            fprintf(stderr, "no %s in DSAJIT_EMULATOR (%s)\n", functions[i].name,
                    path ? path : "not set");
            abort();
        }
    }
}

/* Calls of one function since the last reset, or of all for NULL. */
unsigned long counting_hip_count(const char *name);
unsigned long counting_hip_count(const char *name)
{
    unsigned long sum = 0;
    for (size_t i = 0; i < FUNCTION_COUNT; i++)
        if (!name || strcmp(name, functions[i].name) == 0)
            sum += *functions[i].count;
    return sum;
}

void counting_hip_reset(void);
void counting_hip_reset(void)
{
    for (size_t i = 0; i < FUNCTION_COUNT; i++)
        *functions[i].count = 0;
}
