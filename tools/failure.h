/* Filling a dsajit_error in the tool's own functions, which report failures as the library does. */
#ifndef TOOLS_FAILURE_H
#define TOOLS_FAILURE_H

#include <dsajit/status.h>

/* Fills `error` and returns `status`. */
dsajit_status failure_set(dsajit_error *error, dsajit_status status, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* As failure_set, with ": " and the text of `error_number` (an errno value) appended. */
dsajit_status failure_set_errno(dsajit_error *error, dsajit_status status, int error_number,
                                const char *format, ...) __attribute__((format(printf, 4, 5)));

#endif
