/* What a warm launch needs of each kernel family: a one-token problem. */
#ifndef RUNTIME_FAMILY_LAUNCH_H
#define RUNTIME_FAMILY_LAUNCH_H

#include "runtime/resident.h"

/* Launches the kernel once on a problem of one token in memory of its own and waits for it. The
 * device is current. */
dsajit_status launch_one_token(const dsajit_context *context, const struct variant *variant,
                               const struct resident *resident, dsajit_error *error);

#endif
