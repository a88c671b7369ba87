/* Warmup: having kernels compiled, or loaded, before anybody waits for them; and refusing compiles
 * afterwards. */
#ifndef DSAJIT_WARMUP_H
#define DSAJIT_WARMUP_H

#include "dsajit/dsajit.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ---- Plans ---- */

/* A list of distinct variants. Not thread-safe while it is being changed. */
typedef struct dsajit_plan dsajit_plan;

/* An empty plan; the caller frees it. */
DSAJIT_API dsajit_status dsajit_plan_create(dsajit_plan **plan, dsajit_error *error);
DSAJIT_API void dsajit_plan_free(dsajit_plan *plan);

/* Adds the variants that a selection covers (see dsajit_visit_variants) and the plan lacks. */
DSAJIT_API dsajit_status dsajit_plan_add(dsajit_plan *plan, const char *selection,
                                         dsajit_error *error);

/* Adds the variants that a serving engine's sparse MLA uses: heads 1, 2, 4, 6, 8, 12, 16, with and
   without invalid entries and LSE, 32-bit indices, power-of-two scales: 28 variants. */
DSAJIT_API dsajit_status dsajit_plan_add_default(dsajit_plan *plan, dsajit_error *error);

DSAJIT_API size_t dsajit_plan_size(const dsajit_plan *plan);
/* The canonical text of variant `index`, owned by the plan; NULL beyond its end. */
DSAJIT_API const char *dsajit_plan_variant(const dsajit_plan *plan, size_t index);

/* ---- Warmup ---- */

typedef enum dsajit_warm_level {
    DSAJIT_WARM_COMPILED = 0, /* the code object is on disk */
    DSAJIT_WARM_RESIDENT =
        1 /* and loaded on the device, launched once there on a one-token problem */
} dsajit_warm_level;

/* One variant's account. */
typedef struct dsajit_warm_result {
    const char *variant;  /* owned by the plan */
    dsajit_status status; /* CANCELLED: not tried any more */
    dsajit_origin origin; /* where its code object came from, if status is OK */
    double start_ms;      /* since the warmup began */
    double compile_ms; /* having the code object: look-up, waiting and compile, by the wall clock */
    double resident_ms; /* loading, launching and waiting for it */
    int worker;         /* which of the parallel workers did it */
    dsajit_error error; /* if status isn't OK */
} dsajit_warm_result;

/* Progress so far. The arrays are valid during the call only. */
typedef struct dsajit_warm_progress {
    size_t total, done, failed, compiled; /* done includes failed; compiled: by this call */
    double elapsed_ms;
    double remaining_ms;        /* estimate; negative while there is none */
    const char *const *running; /* variants being worked on */
    size_t running_count;
    const dsajit_warm_result *finished; /* the one just finished; NULL for a heartbeat */
} dsajit_warm_progress;

/* Called from the thread that called dsajit_warmup: when a variant is finished and at least once a
   second. Returning false cancels: running compiles are killed, finished variants stay. */
typedef bool (*dsajit_warm_progress_function)(void *user, const dsajit_warm_progress *progress);

/* Start from DSAJIT_WARM_OPTIONS_DEFAULT. */
typedef struct dsajit_warm_options {
    size_t struct_size;
    dsajit_warm_level level;
    int device;     /* RESIDENT: which one; -1: all devices of the context */
    int jobs;       /* compiles at once; 0: as many as cores and free memory allow (DSAJIT_JOBS) */
    int timeout_ms; /* for one variant's compile; 0: the context's */
    dsajit_warm_progress_function progress;
    void *progress_user;
} dsajit_warm_options;

#define DSAJIT_WARM_OPTIONS_DEFAULT                                                                \
    {                                                                                              \
        sizeof(dsajit_warm_options), DSAJIT_WARM_COMPILED, -1, 0, 0, 0, 0                          \
    }

/* What a warmup did. */
typedef struct dsajit_warm_report {
    dsajit_warm_result *results; /* one a variant, in the plan's order */
    size_t count;
    size_t failed, compiled;
    uint64_t helpers_started; /* 0 when everything was there */
    int jobs;                 /* compiles at once that were allowed */
    double elapsed_ms;
} dsajit_warm_report;
DSAJIT_API void dsajit_warm_report_free(dsajit_warm_report *report);

/* Brings every variant of the plan to the wanted level and returns when all is done (a join point:
   RESIDENT means loaded on each device, launched, synchronised). A variant that fails doesn't stop
   the others. DSAJIT_OK when all are warm; else the first failure's status, or CANCELLED. `options`
   and `report` may be NULL; the caller frees the report, which is filled whatever the status.
   Compiles run in parallel, no more at once on this machine for this user than it has cores. */
DSAJIT_API dsajit_status dsajit_warmup(dsajit_context *context, const dsajit_plan *plan,
                                       const dsajit_warm_options *options,
                                       dsajit_warm_report *report, dsajit_error *error);

/* ---- Guards ---- */

/* DSAJIT_OK when every variant of the plan is resident on `device`; else NOT_WARM, and `missing`
   (may be NULL) lists those that are not, one a line. Makes no HIP call: fit to be called right
   before a capture. */
DSAJIT_API dsajit_status dsajit_assert_warm(const dsajit_context *context, const dsajit_plan *plan,
                                            int device, dsajit_text *missing, dsajit_error *error);

typedef enum dsajit_seal_mode {
    DSAJIT_SEAL_OFF = 0,  /* compile when needed */
    DSAJIT_SEAL_WARN = 1, /* compile, and warn once a variant */
    DSAJIT_SEAL_ERROR = 2 /* refuse with SEALED, naming the key and the directories looked into */
} dsajit_seal_mode;

/* Says what happens from now on when a call needs a compile. Calls already compiling are not
 * affected. */
DSAJIT_API dsajit_status dsajit_seal(dsajit_context *context, dsajit_seal_mode mode,
                                     dsajit_error *error);

/* Compiles since the context was opened, and of these since it was last sealed. */
typedef struct dsajit_compile_counts {
    uint64_t total, sealed;
} dsajit_compile_counts;
DSAJIT_API dsajit_status dsajit_get_compile_counts(const dsajit_context *context,
                                                   dsajit_compile_counts *counts,
                                                   dsajit_error *error);

#ifdef __cplusplus
}
#endif
#endif
