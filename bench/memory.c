/* What the library adds to the memory of a serving process that has the default plan resident, and
   whether it maps a part of a compiler. The process links nothing of dsajit: it measures itself
   before the library is opened and after. */
#include <dsajit/warmup.h>

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void fail(const char *what)
{
    fprintf(stderr, "%s\n", what);
    exit(EXIT_FAILURE);
}

static void *open_library(const char *path)
{
    void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (!library)
        fail(dlerror());
    return library;
}

/* ---- Figures ---- */

/* Kibibytes of a line of /proc/self/smaps_rollup. */
static double read_rollup(const char *name)
{
    char line[256];
    double value = 0;
    FILE *file = fopen("/proc/self/smaps_rollup", "re");
    while (file && fgets(line, sizeof line, file))
        if (strncmp(line, name, strlen(name)) == 0)
            value = strtod(line + strlen(name), NULL);
    if (file)
        fclose(file);
    return value;
}

static const char *const figures[] = {"Rss:", "Pss:", "Private_Dirty:"};
enum { FIGURE_COUNT = sizeof figures / sizeof *figures };

static void measure(double values[FIGURE_COUNT])
{
    for (size_t i = 0; i < FIGURE_COUNT; i++)
        values[i] = read_rollup(figures[i]);
}

/* The first mapping that is a part of a compiler; "none". */
static const char *find_compiler(void)
{
    static const char *const parts[] = {"LLVM", "hiprtc", "comgr", "clang"};
    static char line[4096];
    const char *found = "none";
    FILE *file = fopen("/proc/self/maps", "re");
    while (file && strcmp(found, "none") == 0 && fgets(line, sizeof line, file))
        for (size_t i = 0; i < sizeof parts / sizeof *parts; i++)
            if (strstr(line, parts[i]))
                found = line;
    if (file)
        fclose(file);
    return found;
}

/* ---- The library ---- */

/* C has no conversion from object to function pointer; POSIX promises the same bytes. */
static void find(void *library, const char *name, void *function, size_t size)
{
    void *symbol = dlsym(library, name);
    if (!symbol)
        fail(name);
    memcpy(function, &symbol, size);
}

static struct {
    __typeof__(&dsajit_open) open;
    __typeof__(&dsajit_plan_create) plan_create;
    __typeof__(&dsajit_plan_add_default) plan_add_default;
    __typeof__(&dsajit_warmup) warmup;
} api;
#define FIND(library, name) find(library, "dsajit_" #name, &api.name, sizeof api.name)

/* As a server does that finds a warm cache. */
static void make_resident(const char *cache)
{
    void *library = open_library(DSAJIT_LIBRARY);
    FIND(library, open);
    FIND(library, plan_create);
    FIND(library, plan_add_default);
    FIND(library, warmup);
    dsajit_options options = DSAJIT_OPTIONS_DEFAULT;
    dsajit_warm_options level = DSAJIT_WARM_OPTIONS_DEFAULT;
    dsajit_context *context;
    dsajit_plan *plan;
    dsajit_error error;
    options.device = DSAJIT_DEVICE_HIP;
    options.hip_library = INSTANT_HIP;
    options.cache_directory = cache;
    options.strict = true;
    level.level = DSAJIT_WARM_RESIDENT;
    if (api.open(&options, &context, &error) || api.plan_create(&plan, &error) ||
        api.plan_add_default(plan, &error) || api.warmup(context, plan, &level, NULL, &error))
        fail(error.message);
}

int main(int argc, char **argv)
{
    double before[FIGURE_COUNT], after[FIGURE_COUNT];
    int (*hip_init)(unsigned flags);
    if (argc != 2)
        fail("usage: memory CACHE, which the default plan is in");
    /* A server has its HIP runtime in any case. */
    find(open_library(INSTANT_HIP), "hipInit", &hip_init, sizeof hip_init);
    if (hip_init(0))
        fail("hipInit");
    measure(before);
    make_resident(argv[1]);
    measure(after);
    for (size_t i = 0; i < FIGURE_COUNT; i++)
        printf("%-16s %8.0f KiB more (%.0f, was %.0f)\n", figures[i], after[i] - before[i],
               after[i], before[i]);
    printf("compiler mapped: %s\n", find_compiler());
    return 0;
}
