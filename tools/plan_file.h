/* A plan kept as a file: {"schema": 1, "variants": [SELECTION, …]}. */
#ifndef TOOLS_PLAN_FILE_H
#define TOOLS_PLAN_FILE_H

#include <dsajit/warmup.h>

/* Adds what the file lists. The file is untrusted: at most 1 MiB. CORRUPT names the line, or the
   member; INVALID_ARGUMENT the selection that covers nothing there is. */
dsajit_status plan_file_add(const char *path, dsajit_plan *plan, dsajit_error *error);

#endif
