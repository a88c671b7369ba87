/* Stands in for dsajit-compiler and misbehaves in the way that its file's name says. */
#include <errno.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

static void say(int fd, const void *data, size_t size)
{
    if (write(fd, data, size) != (ssize_t)size)
        _exit(4);
}

static void write_forever(int fd, const void *data, size_t size)
{
    while (write(fd, data, size) > 0)
        ;
}

static void die_by(int signal)
{
    const struct rlimit none = {0, 0};
    setrlimit(RLIMIT_CORE, &none);
    fprintf(stderr, "about to die\n");
    raise(signal);
}

static void crash(void)
{
    die_by(SIGSEGV);
}

static void abort_itself(void)
{
    die_by(SIGABRT);
}

static void be_killed(void)
{
    die_by(SIGKILL);
}

static void hang(void)
{
    fprintf(stderr, "about to hang\n");
    for (;;)
        pause();
}

static void hang_silently(void)
{
    close(STDIN_FILENO);
    close(STDOUT_FILENO);
    hang();
}

static void leave(void)
{
    fprintf(stderr, "first line\nsecond line\n");
    _exit(3);
}

static void speak_garbage(void)
{
    static const char garbage[] = "LLVM ERROR: this is no protocol\n";
    write_forever(STDOUT_FILENO, garbage, sizeof garbage - 1);
}

/* The protocol's magic, type 4 (a reply) and a payload size, little-endian. */
static void claim(uint64_t size)
{
    uint8_t header[16] = {'D', 'S', 'J', 1, 4};
    for (int i = 0; i < 8; i++)
        header[8 + i] = (uint8_t)(size >> 8 * i);
    say(STDOUT_FILENO, header, sizeof header);
}

static void claim_too_much(void)
{
    claim((UINT64_C(256) << 20) + 1);
    hang();
}

static void claim_overflow(void)
{
    claim(UINT64_MAX);
    hang();
}

/* As much as may be claimed, and less than that: the client must not wait for what never comes. */
static void stop_halfway(void)
{
    claim(UINT64_C(256) << 20);
    say(STDOUT_FILENO, "half", 4);
    _exit(0);
}

/* One field that claims to be longer than the payload. */
static void send_bad_field(void)
{
    static const uint8_t field[] = {1, 0, 0, 0, 200, 0, 0, 0, 7, 7};
    claim(sizeof field);
    say(STDOUT_FILENO, field, sizeof field);
    hang();
}

static void reply_nothing(void)
{
    claim(0);
    hang();
}

/* A status of 0 (success) and none of what a success holds. */
static void succeed_emptily(void)
{
    static const uint8_t field[] = {1, 0, 0, 0, 8, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0};
    claim(sizeof field);
    say(STDOUT_FILENO, field, sizeof field);
    hang();
}

static void flood_log(void)
{
    static char text[1 << 16];
    memset(text, 'x', sizeof text);
    write_forever(STDERR_FILENO, text, sizeof text);
}

static const struct {
    const char *name;
    void (*misbehave)(void);
} ways[] = {
    {"crash", crash},
    {"abort", abort_itself},
    {"killed", be_killed},
    {"hang", hang},
    {"hang_silently", hang_silently},
    {"leave", leave},
    {"garbage", speak_garbage},
    {"claim_too_much", claim_too_much},
    {"claim_overflow", claim_overflow},
    {"stop_halfway", stop_halfway},
    {"bad_field", send_bad_field},
    {"reply_nothing", reply_nothing},
    {"succeed_emptily", succeed_emptily},
    {"flood_log", flood_log},
};

int main(int argc, char **argv)
{
    (void)argc;
    const char *slash = strrchr(argv[0], '/');
    const char *name = slash ? slash + 1 : argv[0];
    for (size_t i = 0; i < sizeof ways / sizeof *ways; i++) {
        if (!strcmp(name, ways[i].name))
            ways[i].misbehave();
    }
    return 0;
}
