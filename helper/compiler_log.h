/* Makes compiler logs the same on every run. */
#ifndef HELPER_COMPILER_LOG_H
#define HELPER_COMPILER_LOG_H

/* comgr compiles a source as TMPDIR/comgr-PID-N-RANDOM/input/NAME and shows that path: cuts it to
   NAME, in place. */
void strip_temporary_paths(char *log);

#endif
