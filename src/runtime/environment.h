/* The environment variables that give an option its default, read once when a context is opened. */
#ifndef RUNTIME_ENVIRONMENT_H
#define RUNTIME_ENVIRONMENT_H

#include "base/error.h"
#include "dsajit/dsajit.h"

/* Copies `given` (may be NULL) and fills what it leaves open from the environment. The strings stay
   owned by the caller and the environment. INVALID_ARGUMENT names a variable or field with a value
   that isn't allowed. */
dsajit_status environment_complete(const dsajit_options *given, dsajit_options *options,
                                   dsajit_error *error);

/* A warmup's number of compiles at once, where 0 leaves it to the environment. As above. */
dsajit_status environment_complete_jobs(int *jobs, dsajit_error *error);

#endif
