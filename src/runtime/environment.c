#include "runtime/environment.h"

#include "base/variable.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>

static dsajit_status complete_device(dsajit_options *options, dsajit_error *error)
{
    static const char *const names[] = {
        [DSAJIT_DEVICE_AUTO] = "auto",
        [DSAJIT_DEVICE_HIP] = "hip",
        [DSAJIT_DEVICE_EMULATOR] = "emulator",
        [DSAJIT_DEVICE_NONE] = "none",
    };
    const char *value = variable_get("DSAJIT_DEVICE");
    if (options->device != DSAJIT_DEVICE_AUTO || !value)
        return DSAJIT_OK;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        if (strcmp(value, names[i]) == 0) {
            options->device = (dsajit_device_kind)i;
            return DSAJIT_OK;
        }
    }
    return error_set(error, DSAJIT_ERROR_INVALID_ARGUMENT,
                     "DSAJIT_DEVICE is '%.64s'; auto, hip, emulator and none are allowed", value);
}

/* Sets *number when the variable is set. */
static dsajit_status read_number(const char *name, const char *unit, int *number,
                                 dsajit_error *error)
{
    const char *value = variable_get(name);
    if (!value)
        return DSAJIT_OK;
    char *end;
    long parsed = strtol(value, &end, 10);
    if (*end || parsed <= 0 || parsed > INT_MAX)
        return error_set(error, DSAJIT_ERROR_INVALID_ARGUMENT,
                         "%s is '%.64s'; a number of %s from 1 to %d is allowed", name, value, unit,
                         INT_MAX);
    *number = (int)parsed;
    return DSAJIT_OK;
}

static dsajit_status complete_timeout(dsajit_options *options, dsajit_error *error)
{
    return options->compile_timeout_ms > 0
               ? DSAJIT_OK
               : read_number("DSAJIT_COMPILE_TIMEOUT_MS", "milliseconds",
                             &options->compile_timeout_ms, error);
}

dsajit_status environment_complete_jobs(int *jobs, dsajit_error *error)
{
    return *jobs > 0 ? DSAJIT_OK : read_number("DSAJIT_JOBS", "compiles", jobs, error);
}

static dsajit_status complete_strict(dsajit_options *options, dsajit_error *error)
{
    const char *value = variable_get("DSAJIT_STRICT");
    if (!value)
        return DSAJIT_OK;
    if (strcmp(value, "0") != 0 && strcmp(value, "1") != 0)
        return error_set(error, DSAJIT_ERROR_INVALID_ARGUMENT,
                         "DSAJIT_STRICT is '%.64s'; 0 and 1 are allowed", value);
    options->strict = options->strict || *value == '1';
    return DSAJIT_OK;
}

dsajit_status environment_complete(const dsajit_options *given, dsajit_options *options,
                                   dsajit_error *error)
{
    *options = (dsajit_options)DSAJIT_OPTIONS_DEFAULT;
    if (given) {
        if (given->struct_size != sizeof *given)
            return error_set(error, DSAJIT_ERROR_INVALID_ARGUMENT,
                             "options.struct_size is %zu, not %zu", given->struct_size,
                             sizeof *given);
        *options = *given;
    }
    dsajit_status status = complete_device(options, error);
    if (status)
        return status;
    if (!options->hip_library)
        options->hip_library = variable_get("DSAJIT_HIP_LIBRARY");
    if (!options->template_directory)
        options->template_directory = variable_get("DSAJIT_TEMPLATE_DIR");
    status = complete_strict(options, error);
    if (status)
        return status;
    /* Cache and compiler read their own variables: their rules are their own. */
    return complete_timeout(options, error);
}
