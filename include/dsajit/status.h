/* Status codes and error details, shared by every dsajit header. */
#ifndef DSAJIT_STATUS_H
#define DSAJIT_STATUS_H

#ifdef __cplusplus
extern "C" {
#endif

#if defined(_WIN32)
#define DSAJIT_API
#else
#define DSAJIT_API __attribute__((visibility("default")))
#endif

/* Every function that can fail returns one of these. Values are frozen: never renumbered, only
 * added. */
typedef enum dsajit_status {
    DSAJIT_OK = 0,
    DSAJIT_ERROR_INVALID_ARGUMENT = 1, /* a caller's mistake: null, out of range, contradictory */
    DSAJIT_ERROR_UNSUPPORTED = 2,      /* a valid call that no kernel of this library serves */
    DSAJIT_ERROR_OUT_OF_MEMORY = 3,    /* host memory */
    DSAJIT_ERROR_IO = 4,               /* a system call on a file, pipe or process failed */
    DSAJIT_ERROR_NO_DEVICE = 5,        /* no HIP runtime or no such device */
    DSAJIT_ERROR_DEVICE = 6,           /* a HIP call failed; the message holds HIP's own */
    DSAJIT_ERROR_KERNEL_FAULT = 7, /* a kernel faulted; on the emulator the message says where */
    DSAJIT_ERROR_TOOLCHAIN_MISSING = 8, /* helper, hipRTC or comgr not found, or too old */
    DSAJIT_ERROR_COMPILE = 9,           /* the compiler refused the source; the log is attached */
    DSAJIT_ERROR_COMPILER_CRASHED = 10, /* the helper died from a signal or spoke nonsense */
    DSAJIT_ERROR_TIMEOUT = 11,          /* a time limit passed */
    DSAJIT_ERROR_CACHE_UNUSABLE = 12,   /* the cache directory can't be made, read or trusted */
    DSAJIT_ERROR_CORRUPT = 13,          /* bytes read from outside are not what they claim to be */
    DSAJIT_ERROR_NOT_FOUND = 14,        /* asked for by name and not there */
    DSAJIT_ERROR_NOT_WARM = 15, /* the variant is not resident and the stream is capturing */
    DSAJIT_ERROR_SEALED = 16, /* a compile would be needed after dsajit_seal() or in strict mode */
    DSAJIT_ERROR_FORKED = 17, /* the context belongs to a parent process */
    DSAJIT_ERROR_CANCELLED = 18 /* the caller asked to stop */
} dsajit_status;

/* Details of a failure. Functions take a nullable pointer to one and fill it only when they fail;
   it owns nothing and needs no clean-up. */
typedef struct dsajit_error {
    dsajit_status status;
    char message[1016]; /* UTF-8, always NUL-terminated, cut at this size */
} dsajit_error;

/* The name of a status without the prefix, "INVALID_ARGUMENT" for instance; "UNKNOWN" for a value
   that is none. Static storage. */
DSAJIT_API const char *dsajit_status_name(dsajit_status status);

/* Log levels, most severe first. */
typedef enum dsajit_log_level {
    DSAJIT_LOG_ERROR = 0,
    DSAJIT_LOG_WARNING = 1,
    DSAJIT_LOG_INFO = 2,
    DSAJIT_LOG_DEBUG = 3
} dsajit_log_level;

/* Receives one line without a newline. May be called from any thread, several at once; must not
   call back into dsajit. */
typedef void (*dsajit_log_function)(void *user, dsajit_log_level level, const char *message);

#ifdef __cplusplus
}
#endif
#endif
