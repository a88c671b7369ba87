#include "runtime/hip.h"

#include "base/bytes.h"
#include "base/variable.h"
#include "codegen/families.h"
#include "emulator/emulator.h"

#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>

static const char *const real_libraries[] = {"libamdhip64.so.7", "libamdhip64.so.6",
                                             "libamdhip64.so"};

/* The folder this library (or the program it is linked into) was loaded from, with a slash. */
static void append_own_folder(struct bytes *path)
{
    Dl_info info;
    if (!dladdr((void *)(uintptr_t)hip_open, &info) || !info.dli_fname)
        return;
    const char *slash = strrchr(info.dli_fname, '/');
    if (slash)
        bytes_append(path, info.dli_fname, (size_t)(slash - info.dli_fname) + 1);
}

/* "gfx950:sramecc+:xnack-" is architecture "gfx950". The kernels are compiled for any sramecc and
   xnack setting, so nothing else of the target id decides. */
static int find_architecture(const char *target)
{
    size_t size = strcspn(target, ":");
    for (size_t i = 0; i < architecture_count; i++)
        if (strlen(architectures[i]) == size && memcmp(architectures[i], target, size) == 0)
            return (int)i;
    return -1;
}

static dsajit_status describe_devices(struct hip *hip, dsajit_error *error)
{
    dsajit_status status = hip_check(hip, hip->table.hipGetDeviceCount(&hip->device_count),
                                     "hipGetDeviceCount", error);
    if (status)
        return status;
    hip->devices =
        calloc((size_t)(hip->device_count > 0 ? hip->device_count : 1), sizeof *hip->devices);
    hipDeviceProp_tR0600 *properties = calloc(1, sizeof *properties);
    if (!hip->devices || !properties)
        status = error_set(error, DSAJIT_ERROR_OUT_OF_MEMORY, "no memory for the list of devices");
    for (int i = 0; !status && i < hip->device_count; i++) {
        struct hip_device *device = &hip->devices[i];
        status = hip_check(hip, hip->table.hipGetDevicePropertiesR0600(properties, i),
                           "hipGetDeviceProperties", error);
        memcpy(device->name, properties->name, sizeof device->name - 1);
        memcpy(device->target, properties->gcnArchName, sizeof device->target - 1);
        device->architecture = find_architecture(device->target);
    }
    free(properties);
    return status;
}

/* C has no conversion from object to function pointer; POSIX promises the same bytes. */
static void load_function(const struct hip *hip, const char *name, void *function, size_t size)
{
    void *symbol = dlsym(hip->library, name);
    memcpy(function, &symbol, size);
}

static bool serves_a_device(const struct hip *hip)
{
    for (int i = 0; i < hip->device_count; i++)
        if (hip->devices[i].architecture >= 0)
            return true;
    return false;
}

static dsajit_status initialise(struct hip *hip, const char *path, dsajit_error *error)
{
    if (hip->table.hipInit(0) == hipSuccess)
        return DSAJIT_OK;
    const char *reason = hip->describe_error ? hip->describe_error() : "finds no usable GPU";
    return error_set(error, DSAJIT_ERROR_NO_DEVICE, "%s: %s", path, reason);
}

/* Opens one library and looks at its devices. What failed is told in `error`. */
static dsajit_status open_library(const char *path, dsajit_device_kind kind, struct hip *hip,
                                  dsajit_error *error)
{
    *hip = (struct hip){.kind = kind};
    hip->library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (!hip->library)
        return error_set(error, DSAJIT_ERROR_NO_DEVICE, "%s", dlerror());
    const char *missing;
    dsajit_status status = DSAJIT_OK;
    if (!hip_table_fill(hip->library, &hip->table, &missing))
        status = error_set(error, DSAJIT_ERROR_NO_DEVICE, "%s has no %s", path, missing);
    load_function(hip, "dsajit_emulator_fault", &hip->describe_fault, sizeof hip->describe_fault);
    load_function(hip, "dsajit_emulator_error", &hip->describe_error, sizeof hip->describe_error);
    if (!status)
        status = initialise(hip, path, error);
    if (!status)
        status = describe_devices(hip, error);
    if (!status && !serves_a_device(hip))
        status = error_set(error, DSAJIT_ERROR_NO_DEVICE, "%s has %d device%s, no gfx950%s%s", path,
                           hip->device_count, hip->device_count == 1 ? "" : "s",
                           hip->device_count ? ": device 0 is " : "",
                           hip->device_count ? hip->devices[0].target : "");
    if (!status) {
        hip->path = strdup(path);
        if (!hip->path)
            status = error_set(error, DSAJIT_ERROR_OUT_OF_MEMORY, "no memory for a path");
        hip->table.hipRuntimeGetVersion(&hip->runtime_version);
    }
    if (status)
        hip_close(hip);
    return status;
}

/* Opens the library at `path`, which it frees. */
static dsajit_status open_path(struct bytes *path, dsajit_device_kind kind, struct hip *hip,
                               dsajit_error *error)
{
    dsajit_status status = bytes_failed(path) ? error_set(error, DSAJIT_ERROR_OUT_OF_MEMORY,
                                                          "no memory for a library's path")
                                              : open_library(bytes_text(path), kind, hip, error);
    bytes_free(path);
    return status;
}

/* Tries the real runtime's names, below `rocm_path` first. `error` keeps the most telling refusal:
   that of a library that could be opened. */
static dsajit_status open_real(const struct hip_options *options, struct hip *hip,
                               dsajit_error *error)
{
    if (options->library)
        return open_library(options->library, DSAJIT_DEVICE_HIP, hip, error);
    const char *prefixes[] = {options->rocm_path, "/opt/rocm", NULL};
    dsajit_error refusal = {0};
    for (size_t p = 0; p < 3; p++) {
        if (p < 2 && !prefixes[p])
            continue;
        for (size_t i = 0; i < sizeof real_libraries / sizeof *real_libraries; i++) {
            struct bytes path = {0};
            if (prefixes[p])
                bytes_append_format(&path, "%s/lib/", prefixes[p]);
            bytes_append_text(&path, real_libraries[i]);
            dsajit_error reason;
            dsajit_status status = open_path(&path, DSAJIT_DEVICE_HIP, hip, &reason);
            if (!status)
                return status;
            if (!refusal.status || !strstr(reason.message, "cannot open shared object"))
                refusal = reason;
        }
    }
    return error_set(error, DSAJIT_ERROR_NO_DEVICE, "no HIP runtime with a gfx950: %s",
                     refusal.message);
}

static dsajit_status configure_emulator(const struct hip_options *options, const struct hip *hip,
                                        dsajit_error *error)
{
    dsajit_status (*configure)(const struct dsajit_emulator_options *, dsajit_error *);
    load_function(hip, "dsajit_emulator_configure", &configure, sizeof configure);
    if (!configure)
        return error_set(error, DSAJIT_ERROR_NO_DEVICE, "%s is no dsajit emulator", hip->path);
    const struct dsajit_emulator_options emulator = {
        .struct_size = sizeof emulator,
        .cache_directory = options->cache_directory,
        .compiler = options->compiler,
        .rocm_path = options->rocm_path,
        .log = options->log.function,
        .log_user = options->log.user,
        .prebuilt = options->prebuilt,
    };
    return configure(&emulator, error);
}

static dsajit_status open_emulator(const struct hip_options *options, struct hip *hip,
                                   dsajit_error *error)
{
    const char *named = variable_get("DSAJIT_EMULATOR");
    struct bytes path = {0};
    if (named)
        bytes_append_text(&path, named);
    else
        append_own_folder(&path);
    if (!named)
        bytes_append_text(&path, "libdsajit_emulator.so");
    dsajit_status status = open_path(&path, DSAJIT_DEVICE_EMULATOR, hip, error);
    if (!status && (status = configure_emulator(options, hip, error)))
        hip_close(hip);
    return status ? error_prefix(error, DSAJIT_ERROR_NO_DEVICE, "the emulator can't be used")
                  : DSAJIT_OK;
}

dsajit_status hip_open(const struct hip_options *options, struct hip *hip, dsajit_error *error)
{
    *hip = (struct hip){.kind = DSAJIT_DEVICE_NONE};
    dsajit_error refusal;
    switch (options->kind) {
    case DSAJIT_DEVICE_NONE:
        return DSAJIT_OK;
    case DSAJIT_DEVICE_HIP:
        return open_real(options, hip, error);
    case DSAJIT_DEVICE_EMULATOR:
        return open_emulator(options, hip, error);
    case DSAJIT_DEVICE_AUTO:
        if (!open_real(options, hip, &refusal))
            return DSAJIT_OK;
        log_message(&options->log, DSAJIT_LOG_INFO, "using the emulator: %s", refusal.message);
        return open_emulator(options, hip, error);
    }
    return error_set(error, DSAJIT_ERROR_INVALID_ARGUMENT,
                     "device kind %d is none of auto, hip, emulator, none", (int)options->kind);
}

void hip_close(struct hip *hip)
{
    /* The library stays loaded: HIP starts threads and exit handlers that outlive a dlclose. Only a
       library that turned out to be of no use before anything ran in it is in the same position,
       and rare. */
    free(hip->path);
    free(hip->devices);
    *hip = (struct hip){.kind = DSAJIT_DEVICE_NONE};
}

void *hip_symbol(const struct hip *hip, const char *name)
{
    return hip->library ? dlsym(hip->library, name) : NULL;
}

dsajit_status hip_check(const struct hip *hip, hipError_t result, const char *what,
                        dsajit_error *error)
{
    if (result == hipSuccess)
        return DSAJIT_OK;
    const char *fault = hip->describe_fault ? hip->describe_fault() : NULL;
    if (result == hipErrorLaunchFailure && fault && *fault)
        return error_set(error, DSAJIT_ERROR_KERNEL_FAULT, "%s", fault);
    dsajit_status status = result == hipErrorLaunchFailure ? DSAJIT_ERROR_KERNEL_FAULT
                           : result == hipErrorNoDevice    ? DSAJIT_ERROR_NO_DEVICE
                                                           : DSAJIT_ERROR_DEVICE;
    const char *detail = hip->describe_error ? hip->describe_error() : NULL;
    if (!detail || !*detail)
        detail = hip->table.hipGetErrorString(result);
    return error_set(error, status, "%s: %s (%s)", what, hip->table.hipGetErrorName(result),
                     detail);
}
