/* Stands in for dsajit-compiler where only the number of compiles matters: it "compiles" anything
   to its source's first bytes, after a while, and adds a byte to the file PROGRAM.compiles for each
   time. */
#include "compiler/protocol.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { COMPILE_US = 30000, COMPILE_NS = 1000 * COMPILE_US, CODE_SIZE_MAX = 4096 };

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

static bool send_message(struct bytes *message)
{
    message_end(message);
    bool sent = !bytes_failed(message) &&
                write(STDOUT_FILENO, message->data, message->size) == (ssize_t)message->size;
    bytes_free(message);
    return sent;
}

static void count_compile(const char *program)
{
    char path[4096];
    snprintf(path, sizeof path, "%s.compiles", program);
    int fd = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
    if (fd < 0 || write(fd, "x", 1) != 1)
        _exit(3);
    close(fd);
}

static bool compile(const char *program, const struct bytes *request)
{
    const struct timespec while_it_works = {0, COMPILE_NS};
    struct message_field source;
    struct bytes reply = {0};
    if (!message_find(request, TAG_SOURCE, &source))
        return false;
    count_compile(program);
    nanosleep(&while_it_works, NULL);
    message_begin(&reply, MESSAGE_REPLY);
    message_add_number(&reply, TAG_STATUS, REPLY_OK);
    message_add_text(&reply, TAG_LOG, "");
    message_add(&reply, TAG_CODE, source.data,
                source.size < CODE_SIZE_MAX ? source.size : CODE_SIZE_MAX);
    message_add_text(&reply, TAG_METADATA,
                     "kernel fake vgprs=1 agprs=0 sgprs=1 lds=0 scratch=0 vgpr_spills=0 "
                     "sgpr_spills=0 kernarg=8 kernarg_align=8 workgroup=64\n");
    message_add_number(&reply, TAG_MICROSECONDS, COMPILE_US);
    return send_message(&reply);
}

static bool identify(const char *program)
{
    struct bytes reply = {0};
    message_begin(&reply, MESSAGE_REPLY);
    message_add_number(&reply, TAG_STATUS, REPLY_OK);
    message_add_text(&reply, TAG_VERSION, "fake 1");
    message_add_text(&reply, TAG_LIBRARY, "libfake.so");
    message_add_text(&reply, TAG_PATH, program);
    message_add_text(&reply, TAG_BUILD_ID, "fa4e");
    return send_message(&reply);
}

int main(int argc, char **argv)
{
    (void)argc;
    uint8_t header[MESSAGE_HEADER_SIZE];
    uint32_t type;
    size_t size;
    while (read_all(header, sizeof header) && message_parse_header(header, &type, &size)) {
        struct bytes request = {0};
        void *to = bytes_extend(&request, size);
        bool good = to && read_all(to, size);
        if (good)
            good = type == MESSAGE_COMPILE ? compile(argv[0], &request) : identify(argv[0]);
        bytes_free(&request);
        if (!good)
            return 1;
    }
    return 0;
}
