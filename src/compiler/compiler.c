#include "compiler/internal.h"

#include "compiler/jobs.h"
#include "compiler/metadata.h"
#include "compiler/session.h"

#include <stdlib.h>
#include <string.h>

enum { DEFAULT_TIMEOUT_MS = 120000 };

static dsajit_status no_memory(dsajit_error *error)
{
    return error_set(error, DSAJIT_ERROR_OUT_OF_MEMORY, "no memory for the compiler client");
}

/* NULL stays NULL. False when memory ran out. */
static bool copy_text(const char *text, const char **copy)
{
    *copy = text ? strdup(text) : NULL;
    return *copy || !text;
}

dsajit_status compiler_create(const struct compiler_options *options, struct compiler **compiler,
                              dsajit_error *error)
{
    struct compiler *created = calloc(1, sizeof *created);
    if (!created)
        return no_memory(error);
    pthread_mutex_init(&created->mutex, NULL);
    created->options.timeout_ms =
        options && options->timeout_ms > 0 ? options->timeout_ms : DEFAULT_TIMEOUT_MS;
    if (options) {
        created->options.log = options->log;
        if (!copy_text(options->helper_path, &created->options.helper_path) ||
            !copy_text(options->rocm_path, &created->options.rocm_path)) {
            compiler_destroy(created);
            return no_memory(error);
        }
    }
    *compiler = created;
    return DSAJIT_OK;
}

void compiler_destroy(struct compiler *compiler)
{
    if (!compiler)
        return;
    location_free(&compiler->location);
    pthread_mutex_destroy(&compiler->mutex);
    free((char *)compiler->options.helper_path);
    free((char *)compiler->options.rocm_path);
    free(compiler);
}

uint64_t compiler_start_count(void)
{
    return session_start_count();
}

dsajit_status compiler_locate(struct compiler *compiler, const struct location **location,
                              dsajit_error *error)
{
    dsajit_status status = DSAJIT_OK;
    pthread_mutex_lock(&compiler->mutex);
    if (!compiler->located) {
        status = locate_toolchain(&compiler->options, &compiler->location, error);
        compiler->located = !status;
    }
    pthread_mutex_unlock(&compiler->mutex);
    *location = &compiler->location;
    return status;
}

/* ---- Requests ---- */

/* Each way a helper can answer no. */
static dsajit_status translate_status(enum reply_status status)
{
    switch (status) {
    case REPLY_OK:
        return DSAJIT_OK;
    case REPLY_COMPILE_ERROR:
        return DSAJIT_ERROR_COMPILE;
    case REPLY_COMGR_MISSING:
    case REPLY_HIPRTC_MISSING:
        return DSAJIT_ERROR_TOOLCHAIN_MISSING;
    case REPLY_BAD_CODE_OBJECT:
        return DSAJIT_ERROR_CORRUPT;
    case REPLY_BAD_REQUEST:
        return DSAJIT_ERROR_INVALID_ARGUMENT;
    case REPLY_OUT_OF_MEMORY:
        return DSAJIT_ERROR_OUT_OF_MEMORY;
    case REPLY_FAILED:
        break;
    }
    return DSAJIT_ERROR_COMPILER_CRASHED;
}

static dsajit_status check_reply(const struct bytes *reply, dsajit_error *error)
{
    uint64_t number;
    if (!message_find_number(reply, TAG_STATUS, &number))
        return error_set(error, DSAJIT_ERROR_COMPILER_CRASHED,
                         "the compiler helper's answer lacks its status");
    dsajit_status status = translate_status((enum reply_status)number);
    struct message_field message = {0};
    if (status && !message_find(reply, TAG_MESSAGE, &message))
        return error_set(error, status, "the compiler helper refused without a reason");
    if (status)
        error_set(error, status, "%.*s", (int)strnlen((const char *)message.data, message.size),
                  (const char *)message.data);
    return status;
}

/* Moves what the helper has said so far. */
static void take_log(struct session *session, struct bytes *log)
{
    if (log)
        bytes_append(log, session->log.data, session->log.size);
    if (log && session->log_dropped)
        bytes_append_format(log, "\n[%zu more bytes dropped]\n", session->log_dropped);
    session->log.size = session->log_dropped = 0;
}

static dsajit_status start_session(struct compiler *compiler, struct session *session,
                                   dsajit_error *error)
{
    const struct location *location;
    dsajit_status status = compiler_locate(compiler, &location, error);
    if (status)
        return status;
    const struct spawn_command command = {.helper = location->helper,
                                          .loader = location->loader,
                                          .library_path = location->library_path,
                                          .comgr = location->comgr,
                                          .hiprtc = location->hiprtc};
    status = session_start(session, &command, error);
    if (status)
        session_end(session);
    return status;
}

/* The worker's process, started when it has none. */
static dsajit_status worker_session(struct compiler *compiler, struct compiler_worker *worker,
                                    dsajit_error *error)
{
    if (worker->session)
        return DSAJIT_OK;
    struct session *session = malloc(sizeof *session);
    if (!session)
        return no_memory(error);
    dsajit_status status = start_session(compiler, session, error);
    if (status)
        free(session);
    else
        worker->session = session;
    return status;
}

void compiler_worker_end(struct compiler_worker *worker)
{
    if (!worker->session)
        return;
    session_end(worker->session);
    free(worker->session);
    worker->session = NULL;
}

dsajit_status compiler_request(struct compiler *compiler, const struct bytes *request,
                               const struct request_options *options, struct bytes *reply,
                               dsajit_error *error)
{
    if (bytes_failed(request))
        return error_set(error, DSAJIT_ERROR_OUT_OF_MEMORY,
                         "no memory for the request, or it is over %d MiB",
                         MESSAGE_PAYLOAD_MAX >> 20);
    struct compiler_worker once = {0}, *worker = options->worker ? options->worker : &once;
    dsajit_status status = worker_session(compiler, worker, error);
    if (!worker->session)
        return status;
    int timeout_ms = options->timeout_ms > 0 ? options->timeout_ms : compiler->options.timeout_ms;
    status = session_exchange(worker->session, request, timeout_ms, options->cancel, reply, error);
    take_log(worker->session, options->log);
    if (status || worker == &once)
        compiler_worker_end(worker);
    return status ? status : check_reply(reply, error);
}

dsajit_status reply_take(const struct bytes *reply, enum message_tag tag, struct bytes *to,
                         dsajit_error *error)
{
    struct message_field field;
    if (!message_find(reply, tag, &field))
        return error_set(error, DSAJIT_ERROR_COMPILER_CRASHED,
                         "the compiler helper's answer lacks field %d", (int)tag);
    bytes_append(to, field.data, field.size);
    return bytes_failed(to) ? no_memory(error) : DSAJIT_OK;
}

/* ---- Compile ---- */

static dsajit_status take_result(const struct bytes *reply, struct compile_result *result,
                                 dsajit_error *error)
{
    uint64_t microseconds = 0;
    dsajit_status status = reply_take(reply, TAG_CODE, &result->code, error);
    if (!status)
        status = reply_take(reply, TAG_METADATA, &result->metadata, error);
    if (!status)
        status = compiler_metadata_first_kernel(bytes_text(&result->metadata), &result->symbol,
                                                &result->resources, error);
    if (message_find_number(reply, TAG_MICROSECONDS, &microseconds))
        result->milliseconds = (double)microseconds / 1000;
    return status;
}

dsajit_status compiler_compile(struct compiler *compiler, const struct compile_request *request,
                               struct compile_result *result, dsajit_error *error)
{
    struct bytes message = {0}, reply = {0};
    *result = (struct compile_result){0};
    message_begin(&message, MESSAGE_COMPILE);
    message_add_text(&message, TAG_SOURCE, request->source);
    message_add_text(&message, TAG_NAME, request->name);
    message_add_text(&message, TAG_TARGET, request->target);
    for (const char *const *option = request->options; option && *option; option++)
        message_add_text(&message, TAG_OPTION, *option);
    message_end(&message);

    /* The compiler's own log first; what else the process said follows. */
    struct bytes process_log = {0};
    struct message_field log;
    const struct request_options options = {.worker = request->worker,
                                            .timeout_ms = request->timeout_ms,
                                            .cancel = request->cancel,
                                            .log = &process_log};
    int place = jobs_enter(compiler->options.timeout_ms, request->cancel);
    dsajit_status status = compiler_request(compiler, &message, &options, &reply, error);
    jobs_leave(place);
    if (message_find(&reply, TAG_LOG, &log))
        bytes_append(&result->log, log.data, log.size);
    bytes_append(&result->log, process_log.data, process_log.size);
    if (!status)
        status = take_result(&reply, result, error);
    bytes_free(&process_log);
    bytes_free(&message);
    bytes_free(&reply);
    return status;
}

void compile_result_free(struct compile_result *result)
{
    bytes_free(&result->code);
    bytes_free(&result->log);
    bytes_free(&result->metadata);
    free(result->symbol);
    *result = (struct compile_result){0};
}

/* ---- Inspect ---- */

dsajit_status compiler_inspect(struct compiler *compiler, const void *code, size_t size,
                               struct inspection *inspection, dsajit_error *error)
{
    struct bytes message = {0}, reply = {0};
    *inspection = (struct inspection){0};
    message_begin(&message, MESSAGE_INSPECT);
    message_add(&message, TAG_CODE, code, size);
    message_end(&message);
    const struct request_options options = {0};
    dsajit_status status = compiler_request(compiler, &message, &options, &reply, error);
    if (!status)
        status = reply_take(&reply, TAG_METADATA, &inspection->metadata, error);
    if (!status)
        status = reply_take(&reply, TAG_LISTING, &inspection->listing, error);
    if (status)
        inspection_free(inspection);
    bytes_free(&message);
    bytes_free(&reply);
    return status;
}

void inspection_free(struct inspection *inspection)
{
    bytes_free(&inspection->metadata);
    bytes_free(&inspection->listing);
}
