/* What the client makes of helpers that die, hang or talk nonsense: always a status, in time, with
   the log as far as it came. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "compiler/compiler.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static double now_seconds(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
}

static void copy_file(const char *from, const char *to)
{
    char chunk[65536];
    int in = open(from, O_RDONLY | O_CLOEXEC);
    int out = open(to, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0755);
    assert_true(in >= 0 && out >= 0);
    for (ssize_t got; (got = read(in, chunk, sizeof chunk)) > 0;)
        assert_int_equal(write(out, chunk, (size_t)got), got);
    close(in);
    close(out);
}

/* What one compile with a helper of that behaviour gives. */
struct outcome {
    dsajit_status status;
    dsajit_error error;
    struct compile_result result;
    double seconds;
};

static void run(const char *behaviour, int timeout_ms, struct outcome *outcome)
{
    char path[4096];
    snprintf(path, sizeof path, "%s/%s", getenv("DSAJIT_TEST_STATE"), behaviour);
    if (access(path, X_OK))
        copy_file(BROKEN_HELPER, path);
    const struct compiler_options options = {.helper_path = path, .timeout_ms = timeout_ms};
    const struct compile_request request = {
        .source = "// a source\n", .name = "source.hip", .target = "gfx950", .options = NULL};
    struct compiler *compiler;
    assert_int_equal(compiler_create(&options, &compiler, NULL), DSAJIT_OK);
    double start = now_seconds();
    outcome->error.message[0] = '\0';
    outcome->status = compiler_compile(compiler, &request, &outcome->result, &outcome->error);
    outcome->seconds = now_seconds() - start;
    compiler_destroy(compiler);
}

static void assert_contains(const char *text, const char *part)
{
    if (!strstr(text, part))
        fail_msg("\"%s\" isn't in \"%s\"", part, text);
}

/* Runs it and expects a status, a part of the message and a part of the log. */
static void expect(const char *behaviour, int timeout_ms, dsajit_status status, const char *message,
                   const char *log)
{
    struct outcome outcome;
    run(behaviour, timeout_ms, &outcome);
    assert_string_equal(dsajit_status_name(outcome.status), dsajit_status_name(status));
    assert_int_equal(outcome.error.status, status);
    assert_contains(outcome.error.message, message);
    assert_contains(bytes_text(&outcome.result.log), log);
    assert_null(outcome.result.code.data);
    compile_result_free(&outcome.result);
}

static void a_death_by_signal_is_named_and_its_log_kept(void **state)
{
    (void)state;
    expect("crash", 30000, DSAJIT_ERROR_COMPILER_CRASHED, "signal 11 (SIGSEGV)", "about to die");
    expect("abort", 30000, DSAJIT_ERROR_COMPILER_CRASHED, "signal 6 (SIGABRT)", "about to die");
}

static void a_kill_suggests_fewer_jobs(void **state)
{
    (void)state;
    expect("killed", 30000, DSAJIT_ERROR_COMPILER_CRASHED, "--jobs", "about to die");
}

static void a_hang_ends_at_the_time_limit(void **state)
{
    (void)state;
    struct outcome outcome;
    run("hang", 400, &outcome);
    assert_int_equal(outcome.status, DSAJIT_ERROR_TIMEOUT);
    assert_contains(bytes_text(&outcome.result.log), "about to hang");
    assert_true(outcome.seconds > 0.35 && outcome.seconds < 10);
    compile_result_free(&outcome.result);
}

static void closing_the_streams_is_no_hang(void **state)
{
    (void)state;
    expect("hang_silently", 30000, DSAJIT_ERROR_COMPILER_CRASHED, "closed its output",
           "about to hang");
}

static void an_exit_without_an_answer_shows_status_and_first_line(void **state)
{
    (void)state;
    expect("leave", 30000, DSAJIT_ERROR_COMPILER_CRASHED, "exited with status 3", "second line");
    expect("leave", 30000, DSAJIT_ERROR_COMPILER_CRASHED, "first line", "first line");
}

static void nonsense_is_told_from_an_answer(void **state)
{
    (void)state;
    expect("garbage", 30000, DSAJIT_ERROR_COMPILER_CRASHED, "protocol", "");
    expect("claim_too_much", 30000, DSAJIT_ERROR_COMPILER_CRASHED, "protocol", "");
    expect("claim_overflow", 30000, DSAJIT_ERROR_COMPILER_CRASHED, "protocol", "");
    expect("stop_halfway", 30000, DSAJIT_ERROR_COMPILER_CRASHED, "without an answer", "");
    expect("bad_field", 30000, DSAJIT_ERROR_COMPILER_CRASHED, "damaged", "");
    expect("reply_nothing", 30000, DSAJIT_ERROR_COMPILER_CRASHED, "lacks its status", "");
    expect("succeed_emptily", 30000, DSAJIT_ERROR_COMPILER_CRASHED, "lacks field", "");
}

static void an_endless_log_is_bounded_in_size_and_time(void **state)
{
    (void)state;
    struct outcome outcome;
    run("flood_log", 1000, &outcome);
    assert_int_equal(outcome.status, DSAJIT_ERROR_TIMEOUT);
    assert_in_range(outcome.result.log.size, 1 << 20, (1 << 20) + 100);
    assert_contains(bytes_text(&outcome.result.log), "more bytes dropped");
    assert_true(outcome.seconds < 20);
    compile_result_free(&outcome.result);
}

static void a_missing_helper_is_named(void **state)
{
    (void)state;
    const struct compiler_options options = {.helper_path = "/nonexistent/dsajit-compiler"};
    const struct compile_request request = {
        .source = "", .name = "source.hip", .target = "gfx950", .options = NULL};
    struct compiler *compiler;
    struct compile_result result;
    dsajit_error error;
    assert_int_equal(compiler_create(&options, &compiler, NULL), DSAJIT_OK);
    assert_int_equal(compiler_compile(compiler, &request, &result, &error),
                     DSAJIT_ERROR_TOOLCHAIN_MISSING);
    assert_contains(error.message, "/nonexistent/dsajit-compiler");
    compile_result_free(&result);
    compiler_destroy(compiler);
}

static size_t count_open_files(void)
{
    size_t count = 0;
    DIR *directory = opendir("/proc/self/fd");
    assert_non_null(directory);
    while (readdir(directory))
        count++;
    closedir(directory);
    return count;
}

static void failures_leave_no_descriptors_and_no_children(void **state)
{
    (void)state;
    static const char *const behaviours[] = {"crash", "hang", "garbage", "leave", "bad_field"};
    size_t before = count_open_files();
    for (size_t i = 0; i < sizeof behaviours / sizeof *behaviours; i++) {
        struct outcome outcome;
        run(behaviours[i], 200, &outcome);
        assert_int_not_equal(outcome.status, DSAJIT_OK);
        compile_result_free(&outcome.result);
    }
    assert_int_equal(count_open_files(), before);
    assert_int_equal(waitpid(-1, NULL, WNOHANG), -1);
    assert_int_equal(errno, ECHILD);
}

/* Such a host's children are reaped by the kernel, and with them their exit status. */
static void a_host_that_ignores_its_children_still_gets_an_answer(void **state)
{
    (void)state;
    signal(SIGCHLD, SIG_IGN);
    struct outcome outcome;
    run("crash", 30000, &outcome);
    signal(SIGCHLD, SIG_DFL);
    assert_int_equal(outcome.status, DSAJIT_ERROR_COMPILER_CRASHED);
    assert_contains(outcome.error.message, "without an answer");
    assert_contains(bytes_text(&outcome.result.log), "about to die");
    compile_result_free(&outcome.result);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_death_by_signal_is_named_and_its_log_kept),
        cmocka_unit_test(a_kill_suggests_fewer_jobs),
        cmocka_unit_test(a_hang_ends_at_the_time_limit),
        cmocka_unit_test(closing_the_streams_is_no_hang),
        cmocka_unit_test(an_exit_without_an_answer_shows_status_and_first_line),
        cmocka_unit_test(nonsense_is_told_from_an_answer),
        cmocka_unit_test(an_endless_log_is_bounded_in_size_and_time),
        cmocka_unit_test(a_missing_helper_is_named),
        cmocka_unit_test(failures_leave_no_descriptors_and_no_children),
        cmocka_unit_test(a_host_that_ignores_its_children_still_gets_an_answer),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
