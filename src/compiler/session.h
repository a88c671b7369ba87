/* One helper process and the conversation with it: start, any number of exchanges, end. Knows
   nothing of what is said.

   A session belongs to the thread that started it: the helper is killed when that thread ends
   (PR_SET_PDEATHSIG), so that no helper outlives a killed host. */
#ifndef COMPILER_SESSION_H
#define COMPILER_SESSION_H

#include "base/bytes.h"
#include "compiler/spawn.h"

#include <stdatomic.h>
#include <stdint.h>

struct session {
    struct spawned helper;
    struct bytes log;   /* what the helper wrote to its standard error; bounded */
    size_t log_dropped; /* bytes beyond the bound */
};

dsajit_status session_start(struct session *session, const struct spawn_command *command,
                            dsajit_error *error);

/* Sends a message and waits for the reply's payload, at most timeout_ms and until `cancel` (may be
   NULL) turns true; `reply` is empty before and the caller's to free. After a failure the session
   can only be ended. COMPILER_CRASHED, TIMEOUT, CANCELLED, TOOLCHAIN_MISSING (the program could
   not be loaded), IO, OUT_OF_MEMORY. */
dsajit_status session_exchange(struct session *session, const struct bytes *request, int timeout_ms,
                               const atomic_bool *cancel, struct bytes *reply, dsajit_error *error);

/* Stops and reaps the process. Harmless on a session whose start failed. */
void session_end(struct session *session);

/* How many helper processes this process has started. */
uint64_t session_start_count(void);

#endif
