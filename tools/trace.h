/* The time line of a warmup, as Chrome's and Perfetto's JSON trace format has it. */
#ifndef TOOLS_TRACE_H
#define TOOLS_TRACE_H

#include <dsajit/warmup.h>

/* Replaces the file at `path`: a track for each worker, on it an event of category "variant" for
   each variant that was begun, and inside it one of category "resident" for its loading. */
dsajit_status trace_write(const char *path, const dsajit_warm_report *report, dsajit_error *error);

#endif
