#include "base/error.h"

#include <stdio.h>
#include <string.h>

__attribute__((format(printf, 3, 0))) static void fill(dsajit_error *error, dsajit_status status,
                                                       const char *format, va_list arguments)
{
    error->status = status;
    if (vsnprintf(error->message, sizeof error->message, format, arguments) < 0)
        error->message[0] = '\0';
}

/* Appends ": tail" as far as it fits. */
static void append(dsajit_error *error, const char *tail)
{
    size_t used = strlen(error->message);
    snprintf(error->message + used, sizeof error->message - used, ": %s", tail);
}

dsajit_status error_set(dsajit_error *error, dsajit_status status, const char *format, ...)
{
    if (error) {
        va_list arguments;
        va_start(arguments, format);
        fill(error, status, format, arguments);
        va_end(arguments);
    }
    return status;
}

dsajit_status error_set_errno(dsajit_error *error, dsajit_status status, int error_number,
                              const char *format, ...)
{
    if (error) {
        va_list arguments;
        va_start(arguments, format);
        fill(error, status, format, arguments);
        va_end(arguments);
        /* strerrorname_np and strerror share no buffer between threads; strerror may. */
        const char *text = strerrordesc_np(error_number);
        append(error, text ? text : "unknown error");
    }
    return status;
}

dsajit_status error_prefix(dsajit_error *error, dsajit_status status, const char *format, ...)
{
    if (error) {
        dsajit_error before = *error;
        va_list arguments;
        va_start(arguments, format);
        fill(error, status, format, arguments);
        va_end(arguments);
        append(error, before.message);
    }
    return status;
}

void log_message(const struct logger *logger, dsajit_log_level level, const char *format, ...)
{
    if (!logger || !logger->function)
        return;
    char line[1024];
    va_list arguments;
    va_start(arguments, format);
    int written = vsnprintf(line, sizeof line, format, arguments);
    va_end(arguments);
    if (written >= 0)
        logger->function(logger->user, level, line);
}

const char *dsajit_status_name(dsajit_status status)
{
    static const char *const names[] = {
        [DSAJIT_OK] = "OK",
        [DSAJIT_ERROR_INVALID_ARGUMENT] = "INVALID_ARGUMENT",
        [DSAJIT_ERROR_UNSUPPORTED] = "UNSUPPORTED",
        [DSAJIT_ERROR_OUT_OF_MEMORY] = "OUT_OF_MEMORY",
        [DSAJIT_ERROR_IO] = "IO",
        [DSAJIT_ERROR_NO_DEVICE] = "NO_DEVICE",
        [DSAJIT_ERROR_DEVICE] = "DEVICE",
        [DSAJIT_ERROR_KERNEL_FAULT] = "KERNEL_FAULT",
        [DSAJIT_ERROR_TOOLCHAIN_MISSING] = "TOOLCHAIN_MISSING",
        [DSAJIT_ERROR_COMPILE] = "COMPILE",
        [DSAJIT_ERROR_COMPILER_CRASHED] = "COMPILER_CRASHED",
        [DSAJIT_ERROR_TIMEOUT] = "TIMEOUT",
        [DSAJIT_ERROR_CACHE_UNUSABLE] = "CACHE_UNUSABLE",
        [DSAJIT_ERROR_CORRUPT] = "CORRUPT",
        [DSAJIT_ERROR_NOT_FOUND] = "NOT_FOUND",
        [DSAJIT_ERROR_NOT_WARM] = "NOT_WARM",
        [DSAJIT_ERROR_SEALED] = "SEALED",
        [DSAJIT_ERROR_FORKED] = "FORKED",
        [DSAJIT_ERROR_CANCELLED] = "CANCELLED",
    };
    size_t index = (size_t)status;
    return index < sizeof names / sizeof *names && names[index] ? names[index] : "UNKNOWN";
}
