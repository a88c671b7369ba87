/* Filling a dsajit_error and sending log lines. */
#ifndef BASE_ERROR_H
#define BASE_ERROR_H

#include "dsajit/status.h"

#include <stdarg.h>

/* Fills `error` (may be NULL) and returns `status`, so that a caller can write
   `return error_set(error, DSAJIT_ERROR_IO, "…")`. */
dsajit_status error_set(dsajit_error *error, dsajit_status status, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* As error_set, with ": " and the text of `error_number` (an errno value) appended. */
dsajit_status error_set_errno(dsajit_error *error, dsajit_status status, int error_number,
                              const char *format, ...) __attribute__((format(printf, 4, 5)));

/* Puts "text: " in front of the message of an error that is already set; returns its status. */
dsajit_status error_prefix(dsajit_error *error, dsajit_status status, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* Where a part's log lines go. A zeroed logger drops them. */
struct logger {
    dsajit_log_function function;
    void *user;
};

void log_message(const struct logger *logger, dsajit_log_level level, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

#endif
