/* The body of a HIP runtime library that passes calls on to the emulator, the library that
   DSAJIT_EMULATOR names. Each entry point is a jump, so that no signature has to be repeated.
   Included once, by a file that first defines FORWARD_PROLOGUE(name), assembler text that runs
   before the jump of that name ("" for none), and afterwards the function forward_adjust(). */
#include <dlfcn.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define HIP_FUNCTION(result, name, parameters)                                                     \
    __attribute__((visibility("hidden"))) void *target_##name;                                     \
    void name(void);                                                                               \
    __attribute__((naked)) void name(void)                                                         \
    {                                                                                              \
        __asm__(FORWARD_PROLOGUE(name) "jmp *target_" #name "(%rip)");                             \
    }
#include "base/hip_functions.def"

static struct {
    const char *name;
    void **target;
} forwards[] = {
#define HIP_FUNCTION(result, name, parameters) {#name, &target_##name},
#include "base/hip_functions.def"
};
enum { FORWARD_COUNT = sizeof forwards / sizeof *forwards };

/* Called when every target is known, and may change some. */
static void forward_adjust(void);

__attribute__((constructor)) static void find_targets(void)
{
    const char *path = getenv("DSAJIT_EMULATOR");
    void *library = path ? dlopen(path, RTLD_NOW | RTLD_LOCAL) : NULL;
    for (size_t i = 0; i < FORWARD_COUNT; i++) {
        *forwards[i].target = library ? dlsym(library, forwards[i].name) : NULL;
        if (!*forwards[i].target) {
            fprintf(stderr, "no %s in DSAJIT_EMULATOR (%s)\n", forwards[i].name,
                    path ? path : "not set");
            abort();
        }
    }
    forward_adjust();
}
