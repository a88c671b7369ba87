/* A folder of the helper's own for comgr's temporary files. comgr removes what it writes, but a
   process that is killed removes nothing, so the next helper does. */
#ifndef HELPER_TEMPORARY_H
#define HELPER_TEMPORARY_H

#include "rocm.h"

/* Makes the folder below TMPDIR, or below /tmp, and lets TMPDIR name it; the first time, removes
   those of helpers that are no more. */
enum reply_status temporary_begin(struct failure *failure);

/* Removes it with its content; TMPDIR is as before. */
void temporary_end(void);

#endif
