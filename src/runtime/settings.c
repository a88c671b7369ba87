#include "runtime/settings.h"

#include "base/bytes.h"
#include "base/variable.h"
#include "cache/directory.h"
#include "compiler/locate.h"
#include "dsajit/inspect.h"
#include "runtime/environment.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* What several rows are resolved by. */
struct resolution {
    char *cache_directory;
    const char *cache_origin;
    struct location location; /* all NULL without a toolchain */
};

/* The value and origin of a row whose variable isn't all that decides; NULL: none. */
typedef const char *resolve_function(const struct resolution *resolution, const char **origin);

static const char *resolve_cache(const struct resolution *resolution, const char **origin)
{
    *origin = resolution->cache_origin;
    return resolution->cache_directory;
}

static const char *resolve_rocm(const struct resolution *resolution, const char **origin)
{
    if (resolution->location.prefix)
        *origin = resolution->location.origin;
    return resolution->location.prefix;
}

static const char *resolve_compiler(const struct resolution *resolution, const char **origin)
{
    if (resolution->location.helper && !variable_get("DSAJIT_COMPILER"))
        *origin = "beside the library";
    return resolution->location.helper;
}

/* Every variable that some part of this project reads, whatever begins with DSAJIT_: docs/ and the
   manual page explain them at length. */
static const struct {
    const char *variable;
    const char *usual; /* as it would have to be written; NULL: none */
    const char *meaning;
    resolve_function *resolve; /* NULL: the variable, else what is usual */
} table[] = {
    {"DSAJIT_DEVICE", "auto", "device: auto, hip, emulator or none", NULL},
    {"DSAJIT_HIP_LIBRARY", NULL, "HIP runtime library to open", NULL},
    {"DSAJIT_CACHE_DIR", NULL, "writable cache directory", resolve_cache},
    {"DSAJIT_CACHE_MAX_SIZE", "1G", "size it is kept below; 0: no limit", NULL},
    {"DSAJIT_CACHE_SHARED", "0", "1: a cache directory that others can write in will do", NULL},
    {"DSAJIT_PREBUILT_PATH", NULL, "read-only cache directories, with colons between them", NULL},
    {"DSAJIT_STRICT", "0", "1: never compile", NULL},
    {"DSAJIT_ROCM_PATH", NULL, "ROCm whose hipRTC and comgr compile", resolve_rocm},
    {"DSAJIT_ROCM_PREFIX", NULL, "private copy of ROCm, used where there is no other", NULL},
    {"DSAJIT_COMPILER", NULL, "compiler helper program", resolve_compiler},
    {"DSAJIT_COMPILE_TIMEOUT_MS", "120000", "time limit of one compile", NULL},
    {"DSAJIT_JOBS", NULL, "compiles at once in a warmup, at most", NULL},
    {"DSAJIT_TEMPLATE_DIR", NULL, "kernel templates instead of the built-in ones", NULL},
    {"DSAJIT_EMULATOR", NULL, "emulator library to open", NULL},
    {"DSAJIT_EMULATOR_DEVICES", "1", "emulated devices", NULL},
    {"DSAJIT_EMULATOR_MEMORY_GIB", "64", "memory of each", NULL},
    {"DSAJIT_EMULATOR_THREADS", "0", "threads that emulate; 0: one a core", NULL},
    {"DSAJIT_EMULATOR_SCHEDULE", "0", "seed of the order of waves; 0: in order", NULL},
    {"DSAJIT_EMULATOR_INSTRUCTION_LIMIT", "0", "instructions of a wave; 0: 2^36", NULL},
    {"DSAJIT_EMULATOR_CHECK_UNINITIALISED", "0", "1: reading an unwritten register faults", NULL},
};
enum { SETTING_COUNT = sizeof table / sizeof *table };

static bool show(size_t row, const struct resolution *resolution, dsajit_setting_function function,
                 void *user)
{
    dsajit_setting setting = {
        .variable = table[row].variable,
        .meaning = table[row].meaning,
        .value = variable_get(table[row].variable),
    };
    setting.origin = setting.value ? setting.variable : "default";
    if (!setting.value)
        setting.value = table[row].usual;
    if (table[row].resolve)
        setting.value = table[row].resolve(resolution, &setting.origin);
    return function(user, &setting);
}

/* The length of the name of an environment entry "DSAJIT_…=value" that nothing reads; 0 for any
   other. */
static size_t unknown_name(const char *entry)
{
    static const char prefix[] = "DSAJIT_", reserved[] = "DSAJIT_TEST_";
    const size_t size = strcspn(entry, "=");
    if (strncmp(entry, prefix, sizeof prefix - 1) != 0 ||
        strncmp(entry, reserved, sizeof reserved - 1) == 0)
        return 0;
    for (size_t i = 0; i < SETTING_COUNT; i++)
        if (strlen(table[i].variable) == size && strncmp(entry, table[i].variable, size) == 0)
            return 0;
    return size;
}

static dsajit_status show_unknown(dsajit_setting_function function, void *user, dsajit_error *error)
{
    bool wanted = true;
    for (char **entry = environ; wanted && entry && *entry; entry++) {
        const size_t size = unknown_name(*entry);
        if (!size)
            continue;
        char *name = strndup(*entry, size);
        if (!name)
            return error_set(error, DSAJIT_ERROR_OUT_OF_MEMORY, "no memory for a setting");
        const char *value = (*entry)[size] ? *entry + size + 1 : "";
        const dsajit_setting setting = {.variable = name, .value = value, .origin = name};
        wanted = function(user, &setting);
        free(name);
    }
    return DSAJIT_OK;
}

dsajit_status dsajit_visit_settings(dsajit_setting_function function, void *user,
                                    dsajit_error *error)
{
    if (!function)
        return error_set(error, DSAJIT_ERROR_INVALID_ARGUMENT, "function is NULL");
    struct resolution resolution = {0};
    const struct compiler_options no_options = {0};
    resolution.cache_directory = directory_choose(NULL, &resolution.cache_origin);
    locate_toolchain(&no_options, &resolution.location, NULL);
    bool wanted = true;
    for (size_t row = 0; wanted && row < SETTING_COUNT; row++)
        wanted = show(row, &resolution, function, user);
    free(resolution.cache_directory);
    location_free(&resolution.location);
    dsajit_status status = wanted ? show_unknown(function, user, error) : DSAJIT_OK;
    dsajit_options options;
    int jobs = 0;
    if (!status)
        status = environment_complete(NULL, &options, error);
    return status ? status : environment_complete_jobs(&jobs, error);
}

static bool warn(void *user, const dsajit_setting *setting)
{
    const struct logger *log = user;
    log_message(log, DSAJIT_LOG_WARNING, "the environment has %s, which means nothing here",
                setting->variable);
    return true;
}

void settings_warn_of_unknown(const struct logger *log)
{
    struct logger copy = *log;
    show_unknown(warn, &copy, NULL);
}
