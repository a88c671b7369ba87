/* One variant's account of a warmup, in words and as JSON. */
#ifndef TOOLS_WARM_RESULT_H
#define TOOLS_WARM_RESULT_H

#include <dsajit/warmup.h>
#include <jansson.h>

/* Members: variant, status, origin or null, start_ms, compile_ms, resident_ms, worker, and error
   of one that failed. */
json_t *warm_result_json(const dsajit_warm_result *result);

#endif
