/* The requests that the helper serves. Each reads its fields from `request`, adds its answer's to
   `reply` and returns the answer's status; `failure` says why when it isn't REPLY_OK. */
#ifndef HELPER_REQUESTS_H
#define HELPER_REQUESTS_H

#include "rocm.h"

enum reply_status serve_identify(struct rocm *rocm, const struct bytes *request,
                                 struct bytes *reply, struct failure *failure);
enum reply_status serve_compile(struct rocm *rocm, const struct bytes *request, struct bytes *reply,
                                struct failure *failure);
enum reply_status serve_inspect(struct rocm *rocm, const struct bytes *request, struct bytes *reply,
                                struct failure *failure);

/* What hipRTC said about the program, to be freed; NULL: nothing. */
char *hiprtc_log(const struct rocm *rocm, hiprtcProgram program);

/* Adds TAG_METADATA of a code object; comgr is loaded. */
enum reply_status describe_kernels(const struct rocm *rocm, const void *code, size_t size,
                                   struct bytes *reply, struct failure *failure);

#endif
