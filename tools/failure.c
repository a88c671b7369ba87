#include "failure.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

dsajit_status failure_set(dsajit_error *error, dsajit_status status, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    error->status = status;
    vsnprintf(error->message, sizeof error->message, format, arguments);
    va_end(arguments);
    return status;
}

dsajit_status failure_set_errno(dsajit_error *error, dsajit_status status, int error_number,
                                const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    error->status = status;
    vsnprintf(error->message, sizeof error->message, format, arguments);
    va_end(arguments);
    size_t used = strlen(error->message);
    snprintf(error->message + used, sizeof error->message - used, ": %s", strerror(error_number));
    return status;
}
