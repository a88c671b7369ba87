/* A helper process: several requests, missing libraries, and its end. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "compiler/locate.h"
#include "compiler/protocol.h"
#include "compiler/session.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { TIMEOUT_MS = 60000 };

static struct location location;
static struct spawn_command command;

static int locate(void **state)
{
    (void)state;
    const struct compiler_options options = {0};
    if (locate_toolchain(&options, &location, NULL))
        return -1;
    command = (struct spawn_command){location.helper, location.loader, location.library_path,
                                     location.comgr, location.hiprtc};
    return 0;
}

static int free_location(void **state)
{
    (void)state;
    location_free(&location);
    return 0;
}

/* The status and message that a request gets. */
static uint64_t ask(struct session *session, enum message_type type, const char *source,
                    char message[256])
{
    struct bytes request = {0}, reply = {0};
    dsajit_error error = {0};
    message_begin(&request, type);
    if (source) {
        message_add_text(&request, TAG_SOURCE, source);
        message_add_text(&request, TAG_NAME, "s.hip");
        message_add_text(&request, TAG_TARGET, "gfx950");
    }
    message_end(&request);
    if (session_exchange(session, &request, TIMEOUT_MS, NULL, &reply, &error))
        fail_msg("%s", error.message);
    uint64_t status;
    struct message_field field = {0};
    assert_true(message_find_number(&reply, TAG_STATUS, &status));
    message[0] = '\0';
    if (message_find(&reply, TAG_MESSAGE, &field))
        strncat(message, (const char *)field.data, field.size < 255 ? field.size : 255);
    bytes_free(&request);
    bytes_free(&reply);
    return status;
}

static void one_helper_serves_many_requests(void **state)
{
    (void)state;
    static const char kernel[] = "extern \"C\" __global__ void k() {}\n";
    struct session session;
    char message[256];
    assert_int_equal(session_start(&session, &command, NULL), DSAJIT_OK);
    assert_int_equal(ask(&session, MESSAGE_IDENTIFY, NULL, message), REPLY_OK);
    assert_int_equal(ask(&session, MESSAGE_COMPILE, kernel, message), REPLY_OK);
    assert_int_equal(ask(&session, MESSAGE_COMPILE, "nonsense", message), REPLY_COMPILE_ERROR);
    assert_int_equal(ask(&session, MESSAGE_COMPILE, NULL, message), REPLY_BAD_REQUEST);
    assert_int_equal(ask(&session, (enum message_type)77, NULL, message), REPLY_BAD_REQUEST);
    assert_int_equal(ask(&session, MESSAGE_INSPECT, NULL, message), REPLY_BAD_REQUEST);
    assert_int_equal(ask(&session, MESSAGE_COMPILE, kernel, message), REPLY_OK);
    session_end(&session);
}

/* hipRTC 7.2 would crash without comgr: the helper must not get that far. */
static void each_missing_library_is_told_apart(void **state)
{
    (void)state;
    struct session session;
    char message[256];
    struct spawn_command without = command;
    without.comgr = "/nonexistent/libamd_comgr.so.3";
    assert_int_equal(session_start(&session, &without, NULL), DSAJIT_OK);
    assert_int_equal(ask(&session, MESSAGE_COMPILE, "x", message), REPLY_COMGR_MISSING);
    assert_non_null(strstr(message, "/nonexistent/libamd_comgr.so.3"));
    session_end(&session);

    without = command;
    without.hiprtc = "/nonexistent/libhiprtc.so.7";
    assert_int_equal(session_start(&session, &without, NULL), DSAJIT_OK);
    assert_int_equal(ask(&session, MESSAGE_COMPILE, "x", message), REPLY_HIPRTC_MISSING);
    assert_non_null(strstr(message, "/nonexistent/libhiprtc.so.7"));
    session_end(&session);
}

static void a_library_of_the_wrong_kind_is_missing_functions(void **state)
{
    (void)state;
    struct session session;
    char message[256];
    struct spawn_command swapped = command;
    swapped.comgr = command.hiprtc;
    assert_int_equal(session_start(&session, &swapped, NULL), DSAJIT_OK);
    assert_int_equal(ask(&session, MESSAGE_INSPECT, NULL, message), REPLY_COMGR_MISSING);
    assert_non_null(strstr(message, "lacks amd_comgr_"));
    session_end(&session);
}

/* ---- The helper dies with its client ---- */

static void pause_ms(long ms)
{
    const struct timespec pause = {ms / 1000, ms % 1000 * 1000000};
    nanosleep(&pause, NULL);
}

static bool ends_within(pid_t pid, int ms)
{
    for (int i = 0; i < ms; i += 5) {
        if (kill(pid, 0) && errno == ESRCH)
            return true;
        pause_ms(5);
    }
    return false;
}

/* A client whose streams to the helper stay open in another process when it is killed, so that the
   helper sees no end of input. Writes the pids of the helper and of that process to `out`. */
static void be_client(int out)
{
    struct session session;
    char message[256];
    if (session_start(&session, &command, NULL) ||
        ask(&session, MESSAGE_INSPECT, NULL, message) != REPLY_BAD_REQUEST)
        _exit(1);
    pid_t pids[2] = {session.helper.pid, fork()};
    if (pids[1] != 0 && write(out, pids, sizeof pids) != sizeof pids)
        _exit(1);
    for (;;)
        pause();
}

static void a_killed_client_takes_its_helper_along(void **state)
{
    (void)state;
    int channel[2];
    assert_int_equal(pipe(channel), 0);
    pid_t client = fork();
    assert_true(client >= 0);
    if (client == 0)
        be_client(channel[1]);
    pid_t pids[2];
    assert_int_equal(read(channel[0], pids, sizeof pids), sizeof pids);
    assert_int_equal(kill(pids[0], 0), 0);
    kill(client, SIGKILL);
    waitpid(client, NULL, 0);
    bool ended = ends_within(pids[0], 2000);
    kill(pids[1], SIGKILL);
    close(channel[0]);
    close(channel[1]);
    assert_true(ended);
}

static void started_by_hand_it_explains_itself(void **state)
{
    (void)state;
    char line[8192];
    snprintf(line, sizeof line, "'%s' 2>&1", location.helper);
    FILE *output = popen(line, "re");
    assert_non_null(output);
    char text[512];
    size_t size = fread(text, 1, sizeof text - 1, output);
    text[size] = '\0';
    int wait_status = pclose(output);
    assert_true(WIFEXITED(wait_status));
    assert_int_equal(WEXITSTATUS(wait_status), 2);
    assert_non_null(strstr(text, "usage: dsajit-compiler"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(one_helper_serves_many_requests),
        cmocka_unit_test(each_missing_library_is_told_apart),
        cmocka_unit_test(a_library_of_the_wrong_kind_is_missing_functions),
        cmocka_unit_test(a_killed_client_takes_its_helper_along),
        cmocka_unit_test(started_by_hand_it_explains_itself),
    };
    return cmocka_run_group_tests(tests, locate, free_location);
}
