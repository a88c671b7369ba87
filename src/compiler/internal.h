/* What compiler.c and toolchain.c share. */
#ifndef COMPILER_INTERNAL_H
#define COMPILER_INTERNAL_H

#include "compiler/compiler.h"
#include "compiler/locate.h"
#include "compiler/protocol.h"

#include <pthread.h>

struct compiler {
    struct compiler_options options; /* its strings are owned */
    pthread_mutex_t mutex;           /* guards `location` until `located`; constant from then on */
    bool located;
    struct location location;
};

/* Finds helper and ROCm at the first call; a failure is not remembered. */
dsajit_status compiler_locate(struct compiler *compiler, const struct location **location,
                              dsajit_error *error);

/* How a request is to be done. Zeroed: in a helper process of its own, within the compiler's time
 * limit. */
struct request_options {
    struct compiler_worker *worker; /* the helper process to use and keep */
    int timeout_ms;
    const atomic_bool *cancel;
    struct bytes *log; /* gets what the helper said on its standard error, in every case */
};

/* One request. `reply` is empty before, the caller's to free after, and filled only when the helper
   answered; a reply other than REPLY_OK is turned into an error. */
dsajit_status compiler_request(struct compiler *compiler, const struct bytes *request,
                               const struct request_options *options, struct bytes *reply,
                               dsajit_error *error);

/* Moves a field's bytes to `to`; COMPILER_CRASHED when the reply lacks it. */
dsajit_status reply_take(const struct bytes *reply, enum message_tag tag, struct bytes *to,
                         dsajit_error *error);

#endif
