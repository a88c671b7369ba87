/* dsajit-compiler: the process in which hipRTC, comgr and LLVM run, for a client that wants to
   survive them. Serves requests of compiler/protocol.h from standard input to standard output until
   its input ends. Started by the library, not by hand. */
#include "requests.h"
#include "temporary.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

enum { EXIT_USAGE = 2, EXIT_PROTOCOL = 3 };

static const struct {
    enum message_type type;
    enum reply_status (*serve)(struct rocm *rocm, const struct bytes *request, struct bytes *reply,
                               struct failure *failure);
    bool compiles; /* and so writes temporary files */
} requests[] = {
    {MESSAGE_IDENTIFY, serve_identify, true},
    {MESSAGE_COMPILE, serve_compile, true},
    {MESSAGE_INSPECT, serve_inspect, false},
};

/* ---- The process ---- */

/* Ends with its client, leaves no core dump of what a client's source made crash, and shows its
   name where a private loader started it. */
static bool tie_to_client(const char *client)
{
    prctl(PR_SET_NAME, "dsajit-compiler");
    prctl(PR_SET_DUMPABLE, 0);
    if (prctl(PR_SET_PDEATHSIG, SIGKILL))
        return false;
    /* A client that died before that call sends no signal any more, but is no parent either. */
    return getppid() == (pid_t)strtol(client, NULL, 10);
}

/* hipRTC, comgr and clang read many variables, and some change the code or keep copies of it. They
   get a place for temporary files and nothing else. comgr's own cache would hide compile times and
   fill the home directory a second time. */
static bool clean_environment(void)
{
    const char *value = getenv("TMPDIR");
    char *folder = value ? strdup(value) : NULL;
    bool clean = (folder || !value) && !clearenv() && !setenv("AMD_COMGR_CACHE", "0", 1) &&
                 (!folder || !setenv("TMPDIR", folder, 1));
    free(folder);
    return clean;
}

/* The answers' stream, moved away from where LLVM may print. Negative when that failed. */
static int reserve_output(void)
{
    int output = fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
    return output >= 0 && dup2(STDERR_FILENO, STDOUT_FILENO) >= 0 ? output : -1;
}

/* ---- Requests ---- */

/* False at the end of the input. */
static bool read_all(void *to, size_t size)
{
    for (size_t done = 0; done < size;) {
        ssize_t got = read(STDIN_FILENO, (char *)to + done, size - done);
        if (got == 0 || (got < 0 && errno != EINTR))
            return false;
        done += got > 0 ? (size_t)got : 0;
    }
    return true;
}

static bool write_all(int output, const struct bytes *message)
{
    for (size_t done = 0; done < message->size;) {
        ssize_t put = write(output, message->data + done, message->size - done);
        if (put < 0 && errno != EINTR)
            return false;
        done += put > 0 ? (size_t)put : 0;
    }
    return true;
}

static enum reply_status serve(struct rocm *rocm, uint32_t type, const struct bytes *request,
                               struct bytes *reply, struct failure *failure)
{
    if (!message_is_valid(request))
        return fail(failure, REPLY_BAD_REQUEST, "the request is damaged");
    for (size_t i = 0; i < sizeof requests / sizeof *requests; i++) {
        if (type != (uint32_t)requests[i].type)
            continue;
        enum reply_status status = requests[i].compiles ? temporary_begin(failure) : REPLY_OK;
        if (!status)
            status = requests[i].serve(rocm, request, reply, failure);
        if (requests[i].compiles)
            temporary_end();
        return status;
    }
    return fail(failure, REPLY_BAD_REQUEST, "no request of type %u", type);
}

static void finish(struct bytes *reply, enum reply_status status, const struct failure *failure)
{
    message_add_number(reply, TAG_STATUS, status);
    if (status)
        message_add_text(reply, TAG_MESSAGE, failure->text);
    message_end(reply);
}

static void build_reply(struct rocm *rocm, uint32_t type, const struct bytes *request,
                        struct bytes *reply)
{
    struct failure failure = {""};
    message_begin(reply, MESSAGE_REPLY);
    finish(reply, serve(rocm, type, request, reply, &failure), &failure);
    if (bytes_failed(reply)) {
        bytes_free(reply);
        message_begin(reply, MESSAGE_REPLY);
        finish(reply,
               fail(&failure, REPLY_OUT_OF_MEMORY, "no memory for the answer, or it is over %d MiB",
                    MESSAGE_PAYLOAD_MAX >> 20),
               &failure);
    }
}

/* One request and its answer. EXIT_SUCCESS at a proper end of the input, or negative to go on. */
static int serve_next(struct rocm *rocm, int output)
{
    uint8_t header[MESSAGE_HEADER_SIZE];
    uint32_t type;
    size_t size;
    if (!read_all(header, sizeof header))
        return EXIT_SUCCESS;
    if (!message_parse_header(header, &type, &size)) {
        fprintf(stderr, "the request is not of this version's protocol\n");
        return EXIT_PROTOCOL;
    }
    struct bytes request = {0}, reply = {0};
    void *payload = bytes_extend(&request, size);
    bool whole = payload && read_all(payload, size);
    if (whole)
        build_reply(rocm, type, &request, &reply);
    bool answered = whole && write_all(output, &reply);
    bytes_free(&request);
    bytes_free(&reply);
    return answered ? -1 : EXIT_PROTOCOL;
}

int main(int argc, char **argv)
{
    if (argc != 5 || strcmp(argv[1], "serve") != 0) {
        fprintf(stderr, "usage: dsajit-compiler serve CLIENT_PID COMGR_LIBRARY HIPRTC_LIBRARY\n"
                        "Serves libdsajit over its standard streams; not for use by hand.\n");
        return EXIT_USAGE;
    }
    int output = reserve_output();
    if (!tie_to_client(argv[2]) || !clean_environment() || output < 0) {
        fprintf(stderr, "dsajit-compiler: no client, or no way to set up the process\n");
        return EXIT_FAILURE;
    }
    struct rocm rocm = {.comgr_path = argv[3], .hiprtc_path = argv[4]};
    int result;
    while ((result = serve_next(&rocm, output)) < 0)
        ;
    /* LLVM's destructors take time and have crashed before; there is nothing left to save. */
    _exit(result);
}
