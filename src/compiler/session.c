#include "compiler/session.h"

#include "compiler/protocol.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum {
    LOG_MAX = 1 << 20, /* a compiler that says more is looping; the beginning says why */
    CHUNK_SIZE = 64 << 10,
    PIPE_READS = 32,
    CANCEL_MS = 100, /* how often a wait looks whether it is still wanted */
    DYING_MS = 500,  /* from the end of a process's output to its status; for loaded machines */
    EXIT_NOT_LOADED =
        127 /* the dynamic loader's status when a program or library can't be loaded */
};

static _Atomic uint64_t start_count;

uint64_t session_start_count(void)
{
    return atomic_load(&start_count);
}

dsajit_status session_start(struct session *session, const struct spawn_command *command,
                            dsajit_error *error)
{
    *session = (struct session){.helper = {.pid = -1, .socket = -1, .log_pipe = -1}};
    dsajit_status status = spawn_helper(command, &session->helper, error);
    if (!status)
        atomic_fetch_add(&start_count, 1);
    return status;
}

/* Takes what the log pipe holds, a pipe's capacity at most so that an endless writer can't keep the
   deadline from being looked at. Closes it at its end. */
static void read_log(struct session *session)
{
    uint8_t chunk[4096];
    for (int i = 0; i < PIPE_READS && session->helper.log_pipe >= 0; i++) {
        ssize_t got = read(session->helper.log_pipe, chunk, sizeof chunk);
        if (got > 0) {
            size_t room = LOG_MAX - session->log.size;
            size_t kept = (size_t)got < room ? (size_t)got : room;
            bytes_append(&session->log, chunk, kept);
            session->log_dropped += (size_t)got - kept;
        } else if (got < 0 && errno == EINTR) {
            continue;
        } else if (got < 0 && errno == EAGAIN) {
            return;
        } else {
            close(session->helper.log_pipe);
            session->helper.log_pipe = -1;
        }
    }
}

/* ---- The process's end ---- */

enum fate { FATE_RUNNING, FATE_KNOWN, FATE_UNKNOWN };

/* Reaps the process if it has ended. FATE_UNKNOWN: somebody else did, for instance a host that
   ignores SIGCHLD. */
static enum fate reap(struct session *session, int *wait_status)
{
    if (session->helper.pid < 0)
        return FATE_UNKNOWN;
    pid_t result;
    do {
        result = waitpid(session->helper.pid, wait_status, WNOHANG);
    } while (result < 0 && errno == EINTR);
    if (result == 0)
        return FATE_RUNNING;
    session->helper.pid = -1;
    return result > 0 ? FATE_KNOWN : FATE_UNKNOWN;
}

/* Ends it if it is still there. Only a process that waitpid calls ours is signalled: a pid can be
   somebody else's by now. */
static void kill_and_reap(struct session *session)
{
    int wait_status;
    if (reap(session, &wait_status) != FATE_RUNNING)
        return;
    kill(session->helper.pid, SIGKILL);
    while (waitpid(session->helper.pid, &wait_status, 0) < 0 && errno == EINTR)
        ;
    session->helper.pid = -1;
}

static enum fate wait_for_end(struct session *session, int *wait_status)
{
    const struct timespec pause = {.tv_nsec = 1000000};
    enum fate fate;
    for (int i = 0; (fate = reap(session, wait_status)) == FATE_RUNNING && i < DYING_MS; i++)
        nanosleep(&pause, NULL);
    return fate;
}

static dsajit_status signalled(int signal, dsajit_error *error)
{
    const char *name = sigabbrev_np(signal);
    return error_set(
        error, DSAJIT_ERROR_COMPILER_CRASHED,
        "the compiler helper was killed by signal %d (SIG%s)%s", signal, name ? name : "?",
        signal == SIGKILL ? ": most likely out of memory; use fewer jobs (--jobs)" : "");
}

/* Its output ended before a whole reply. */
static dsajit_status explain_end(struct session *session, dsajit_error *error)
{
    int wait_status = 0;
    enum fate fate = wait_for_end(session, &wait_status);
    read_log(session);
    switch (fate) {
    case FATE_RUNNING:
        return error_set(error, DSAJIT_ERROR_COMPILER_CRASHED,
                         "the compiler helper closed its output without an answer");
    case FATE_UNKNOWN:
        return error_set(error, DSAJIT_ERROR_COMPILER_CRASHED,
                         "the compiler helper ended without an answer; its status is unknown since "
                         "this process reaps its children elsewhere");
    case FATE_KNOWN:
        break;
    }
    if (WIFSIGNALED(wait_status))
        return signalled(WTERMSIG(wait_status), error);
    int exit_status = WEXITSTATUS(wait_status);
    const char *log = bytes_text(&session->log);
    return error_set(error,
                     exit_status == EXIT_NOT_LOADED ? DSAJIT_ERROR_TOOLCHAIN_MISSING
                                                    : DSAJIT_ERROR_COMPILER_CRASHED,
                     "the compiler helper exited with status %d without an answer%s%.*s",
                     exit_status, *log ? ": " : "", (int)strcspn(log, "\n"), log);
}

/* ---- The conversation ---- */

static int64_t now_ms(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

/* One exchange under way. */
struct exchange {
    const struct bytes *request;
    size_t sent;
    struct bytes received; /* header and payload so far */
    size_t expected;       /* of `received` */
    bool header_read;
    bool ended;                /* the helper's output ended */
    const atomic_bool *cancel; /* may be NULL */
};

static dsajit_status send_some(struct session *session, struct exchange *exchange,
                               dsajit_error *error)
{
    ssize_t sent = send(session->helper.socket, exchange->request->data + exchange->sent,
                        exchange->request->size - exchange->sent, MSG_DONTWAIT | MSG_NOSIGNAL);
    if (sent >= 0)
        exchange->sent += (size_t)sent;
    else if (errno == EPIPE || errno == ECONNRESET)
        exchange->ended = true;
    else if (errno != EAGAIN && errno != EINTR)
        return error_set_errno(error, DSAJIT_ERROR_IO, errno, "sending to the compiler helper");
    return DSAJIT_OK;
}

/* The reply's size is the helper's claim: memory is taken only as bytes arrive. */
static dsajit_status receive_some(struct session *session, struct exchange *exchange,
                                  dsajit_error *error)
{
    struct bytes *received = &exchange->received;
    size_t wanted = exchange->expected - received->size;
    if (wanted > CHUNK_SIZE)
        wanted = CHUNK_SIZE;
    uint8_t *to = bytes_extend(received, wanted);
    if (!to)
        return error_set(error, DSAJIT_ERROR_OUT_OF_MEMORY, "no memory for the compiler's reply");
    ssize_t got = recv(session->helper.socket, to, wanted, MSG_DONTWAIT);
    received->size -= wanted - (got > 0 ? (size_t)got : 0);
    if (got == 0 || (got < 0 && errno == ECONNRESET))
        exchange->ended = true;
    else if (got < 0 && errno != EAGAIN && errno != EINTR)
        return error_set_errno(error, DSAJIT_ERROR_IO, errno, "reading from the compiler helper");
    if (exchange->header_read || received->size < MESSAGE_HEADER_SIZE)
        return DSAJIT_OK;

    uint32_t type;
    size_t payload;
    if (!message_parse_header(received->data, &type, &payload) || type != MESSAGE_REPLY)
        return error_set(error, DSAJIT_ERROR_COMPILER_CRASHED,
                         "the compiler helper's answer is not of this version's protocol");
    exchange->expected += payload;
    exchange->header_read = true;
    return DSAJIT_OK;
}

static bool is_complete(const struct exchange *exchange)
{
    return exchange->header_read && exchange->received.size == exchange->expected;
}

/* Waits for something to do and does it. */
static dsajit_status step(struct session *session, struct exchange *exchange, int64_t deadline,
                          dsajit_error *error)
{
    if (exchange->cancel && atomic_load(exchange->cancel))
        return error_set(error, DSAJIT_ERROR_CANCELLED, "the compile was cancelled");
    int64_t left = deadline - now_ms();
    if (left <= 0)
        return error_set(error, DSAJIT_ERROR_TIMEOUT,
                         "the compiler helper gave no answer within its time limit");
    bool sending = exchange->sent < exchange->request->size;
    struct pollfd fds[] = {
        {.fd = session->helper.socket, .events = (short)(sending ? POLLIN | POLLOUT : POLLIN)},
        {.fd = session->helper.log_pipe, .events = POLLIN},
    };
    int64_t longest = exchange->cancel ? CANCEL_MS : INT32_MAX;
    if (poll(fds, 2, (int)(left < longest ? left : longest)) < 0 && errno != EINTR)
        return error_set_errno(error, DSAJIT_ERROR_IO, errno, "waiting for the compiler helper");
    if (fds[1].revents)
        read_log(session);
    dsajit_status status = DSAJIT_OK;
    if (fds[0].revents & (POLLIN | POLLHUP | POLLERR))
        status = receive_some(session, exchange, error);
    if (!status && sending && !exchange->ended && fds[0].revents & POLLOUT)
        status = send_some(session, exchange, error);
    return status;
}

dsajit_status session_exchange(struct session *session, const struct bytes *request, int timeout_ms,
                               const atomic_bool *cancel, struct bytes *reply, dsajit_error *error)
{
    struct exchange exchange = {
        .request = request, .expected = MESSAGE_HEADER_SIZE, .cancel = cancel};
    int64_t deadline = now_ms() + timeout_ms;
    dsajit_status status = DSAJIT_OK;
    while (!status && !exchange.ended && !is_complete(&exchange))
        status = step(session, &exchange, deadline, error);

    /* What was written before the answer is in the pipe by now. */
    read_log(session);
    if (!status && !is_complete(&exchange))
        status = explain_end(session, error);
    if (!status) {
        struct bytes *payload = &exchange.received;
        payload->size -= MESSAGE_HEADER_SIZE;
        memmove(payload->data, payload->data + MESSAGE_HEADER_SIZE, payload->size);
        payload->data[payload->size] = 0;
        if (!message_is_valid(payload))
            status = error_set(error, DSAJIT_ERROR_COMPILER_CRASHED,
                               "the compiler helper's answer is damaged");
    }
    if (!status)
        *reply = exchange.received;
    else
        bytes_free(&exchange.received);
    return status;
}

void session_end(struct session *session)
{
    kill_and_reap(session);
    if (session->helper.socket >= 0)
        close(session->helper.socket);
    if (session->helper.log_pipe >= 0)
        close(session->helper.log_pipe);
    session->helper.socket = session->helper.log_pipe = -1;
    bytes_free(&session->log);
}
