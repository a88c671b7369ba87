/* How a warmup shows its progress: bars, lines, JSON; and what becomes of an interrupted one. */
#include "process.h"
#include "small_cache.h"
#include "terminal.h"

#include "progress.h"

#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <cmocka.h>

enum { WIDTH = 60, WIDE = 160, CTRL_C = 3 };

/* ---- On a terminal ---- */

static const char *const colours[] = {"TERM=xterm", "NO_COLOR=", NULL};
static const char *const no_colours[] = {"TERM=xterm", "NO_COLOR=1", NULL};
static const char *const dumb[] = {"TERM=dumb", NULL};

static void run_on_terminal(struct terminal *terminal, unsigned short width,
                            const char *const *environment)
{
    terminal_start(terminal, width, environment, "warmup --jobs 1 --heads 3 --has-invalid 0");
    const int code = terminal_end(terminal);
    if (code)
        fail_msg("exit code %d: %s", code, terminal->text);
    assert_contains(terminal->text, "2 of 2 variants are warm: 2 compiled");
}

/* Printed characters of the widest line that the text draws. */
static size_t widest(const char *text)
{
    size_t width = 0, most = 0;
    for (; *text; text++) {
        if (*text == '\r' || *text == '\n') {
            width = 0;
        } else if (*text == '\033') {
            text += strcspn(text, "mK");
        } else {
            width++;
            most = width > most ? width : most;
        }
    }
    return most;
}

static void a_terminal_gets_one_line_drawn_again(void **state)
{
    (void)state;
    struct terminal terminal;
    run_on_terminal(&terminal, WIDE, colours);
    assert_contains(terminal.text, "[##########          ] 1/2");
    assert_contains(terminal.text, "[####################] 2/2");
    assert_contains(terminal.text, "sparse_mla heads=3");
    assert_contains(terminal.text, "\033[32m");
    assert_int_equal(count_of(terminal.text, "\n"), 1); /* the result */
    terminal_free(&terminal);
}

static void the_line_is_never_wider_than_the_terminal(void **state)
{
    (void)state;
    struct terminal terminal;
    run_on_terminal(&terminal, WIDTH, no_colours);
    const char *result = strstr(terminal.text, "2 of 2");
    terminal.text[result - terminal.text] = '\0';
    assert_true(widest(terminal.text) == WIDTH - 1);
    terminal_free(&terminal);
}

/* https://no-color.org */
static void no_color_leaves_a_bar_without_colour(void **state)
{
    (void)state;
    struct terminal terminal;
    run_on_terminal(&terminal, WIDTH, no_colours);
    assert_contains(terminal.text, "] 1/2");
    assert_int_equal(count_of(terminal.text, "\033[32m"), 0);
    terminal_free(&terminal);
}

static void a_dumb_terminal_gets_plain_lines(void **state)
{
    (void)state;
    struct terminal terminal;
    run_on_terminal(&terminal, WIDTH, dumb);
    assert_int_equal(count_of(terminal.text, "\033"), 0);
    assert_contains(terminal.text, "[1/2] sparse_mla/gfx950/heads=3");
    assert_contains(terminal.text, ": compiled in ");
    terminal_free(&terminal);
}

static void a_failure_stays_above_the_bar(void **state)
{
    (void)state;
    struct terminal terminal;
    small_cache_write_template("static_assert(!variant::return_lse, \"no lse\");");
    terminal_start(&terminal, WIDTH, colours, "warmup --jobs 1 --heads 3 --has-invalid 0");
    assert_int_equal(terminal_end(&terminal), 3);
    assert_contains(terminal.text, "\r\033[K[2/2] FAILED: sparse_mla/gfx950/heads=3");
    assert_contains(terminal.text, ", 1 failed");
    terminal_free(&terminal);
}

/* ---- Elsewhere ---- */

static void json_progress_is_an_object_a_line(void **state)
{
    (void)state;
    struct process process;
    process_run(&process, NULL, "warmup --progress json --heads 3 --has-invalid 0");
    assert_int_equal(process.exit_code, 0);
    size_t finished = 0;
    char *rest = NULL;
    for (char *line = strtok_r(process.err, "\n", &rest); line;
         line = strtok_r(NULL, "\n", &rest)) {
        json_t *object = json_loads(line, 0, NULL);
        if (!object)
            fail_msg("no JSON: %s", line);
        assert_int_equal(json_integer_value(json_at(object, "schema")), 1);
        assert_int_equal(json_integer_value(json_at(object, "total")), 2);
        if (strcmp(json_string_value(json_at(object, "event")), "finished") == 0) {
            finished++;
            assert_int_equal(json_integer_value(json_at(object, "done")), finished);
            assert_string_equal(json_string_value(json_at(object, "result.origin")), "compiled");
        }
        json_decref(object);
    }
    assert_int_equal(finished, 2);
    process_free(&process);
}

static void off_is_silent(void **state)
{
    (void)state;
    struct process process;
    process_run(&process, NULL, "warmup --progress off --heads 3 --has-invalid 0");
    assert_int_equal(process.exit_code, 0);
    assert_string_equal(process.err, "");
    process_free(&process);
}

/* Shows states with times of the test's own. */
static char *show_states(enum progress_mode mode, const dsajit_warm_progress *states, size_t count)
{
    char *text = NULL;
    size_t size = 0;
    struct progress progress = {
        .mode = mode, .stream = open_memstream(&text, &size), .mutex = PTHREAD_MUTEX_INITIALIZER};
    assert_non_null(progress.stream);
    for (size_t i = 0; i < count; i++)
        progress_show(&progress, &states[i]);
    progress_end(&progress);
    fclose(progress.stream);
    return text;
}

static void plain_progress_gives_a_sign_of_life_each_ten_seconds(void **state)
{
    (void)state;
    const char *const running[] = {"family/a/one=1", "family/a/two=2"};
    dsajit_warm_progress states[120];
    for (size_t i = 0; i < 120; i++) /* a heartbeat each half second, for a minute */
        states[i] = (dsajit_warm_progress){.total = 5,
                                           .done = 1,
                                           .elapsed_ms = 500.0 * (double)(i + 1),
                                           .remaining_ms = 30000,
                                           .running = running,
                                           .running_count = 2};
    char *text = show_states(PROGRESS_PLAIN, states, 120);
    assert_int_equal(count_of(text, "\n"), 6);
    assert_contains(text, "[1/5] 10 s, about 30 s left; running: family/a/one=1, family/a/two=2\n");
    free(text);
}

static void plain_progress_is_silent_about_what_was_there(void **state)
{
    (void)state;
    const dsajit_warm_result there = {.variant = "a/b/c=1", .origin = DSAJIT_ORIGIN_CACHE};
    const dsajit_warm_result loaded = {
        .variant = "a/b/c=2", .origin = DSAJIT_ORIGIN_PREBUILT, .resident_ms = 2};
    const dsajit_warm_result cancelled = {.variant = "a/b/c=3", .status = DSAJIT_ERROR_CANCELLED};
    const dsajit_warm_progress states[] = {
        {.total = 3, .done = 1, .remaining_ms = -1, .finished = &there},
        {.total = 3, .done = 2, .remaining_ms = -1, .finished = &loaded},
        {.total = 3, .done = 3, .remaining_ms = -1, .finished = &cancelled},
    };
    char *text = show_states(PROGRESS_PLAIN, states, 3);
    assert_string_equal(text, "[2/3] a/b/c=2: prebuilt in 0 ms, resident in 2 ms\n");
    free(text);
}

/* ---- Interrupts ---- */

static void expect_resumption(size_t finished)
{
    struct process process;
    assert_true(finished >= 2 && finished < 8);
    assert_int_equal(small_cache_count(), finished);
    process_run(&process, NULL, "warmup --json --heads 3,4");
    assert_int_equal(process.exit_code, 0);
    json_t *object = process_json(&process, "warmup");
    assert_int_equal(json_integer_value(json_at(object, "compiled")), 8 - finished);
    json_decref(object);
    process_free(&process);
    assert_int_equal(small_cache_count(), 8);
}

/* Typed at a terminal, it goes to all processes there; the helpers mustn't mind. */
static void ctrl_c_keeps_what_is_finished(void **state)
{
    (void)state;
    struct terminal terminal;
    terminal_start(&terminal, 80, dumb, "warmup --jobs 1 --heads 3,4");
    terminal_wait_for(&terminal, "[2/8]");
    terminal_type(&terminal, CTRL_C);
    assert_int_equal(terminal_end(&terminal), 130);
    assert_contains(terminal.text, "stopped by SIGINT");
    assert_int_equal(count_of(terminal.text, "FAILED"), 0);
    terminal_free(&terminal);
    expect_resumption(small_cache_count());
}

static void wait_for_entries(size_t count)
{
    const struct timespec pause = {.tv_nsec = 10000000};
    while (small_cache_count() < count)
        nanosleep(&pause, NULL);
}

static void sigterm_keeps_what_is_finished(void **state)
{
    (void)state;
    struct process process;
    const pid_t pid = process_start(NULL, "warmup --json --jobs 1 --heads 3,4 --trace %s",
                                    state_path("trace.json"));
    wait_for_entries(2);
    kill(pid, SIGTERM);
    process_wait(&process, pid);
    assert_int_equal(process.exit_code, 143);
    json_t *object = process_json(&process, "warmup");
    assert_int_equal(json_integer_value(json_at(object, "signal")), SIGTERM);
    assert_string_equal(json_string_value(json_at(object, "error.status")), "CANCELLED");
    json_t *trace = json_load_file(state_path("trace.json"), 0, NULL);
    assert_non_null(trace);
    json_decref(trace);
    json_decref(object);
    process_free(&process);
    expect_resumption(small_cache_count());
}

/* Whether it is heard before, while or after the signals are watched for; on a slow machine all may
   be finished by then. */
static void interrupted_at_once_it_can_be_run_again(void **state)
{
    (void)state;
    for (long i = 0; i < 5; i++) {
        struct process process;
        const struct timespec pause = {.tv_nsec = i * i * 2000000};
        const pid_t pid = process_start(NULL, "warmup --heads 3 --has-invalid 0");
        nanosleep(&pause, NULL);
        kill(pid, SIGINT);
        process_wait(&process, pid);
        const bool finished = process.exit_code == 0 && small_cache_count() == 2;
        assert_true(finished || process.exit_code == 130);
        process_free(&process);
    }
    struct process process;
    process_run(&process, NULL, "warmup --heads 3 --has-invalid 0");
    assert_int_equal(process.exit_code, 0);
    process_free(&process);
    assert_int_equal(small_cache_count(), 2);
}

static void a_signal_that_is_ignored_stays_ignored(void **state)
{
    (void)state;
    struct process process;
    signal(SIGINT, SIG_IGN); /* as nohup and a shell's background do */
    const pid_t pid = process_start(NULL, "warmup --jobs 1 --heads 3");
    signal(SIGINT, SIG_DFL);
    wait_for_entries(1);
    kill(pid, SIGINT);
    process_wait(&process, pid);
    assert_int_equal(process.exit_code, 0);
    process_free(&process);
}

/* A helper that hangs, and a program that is stopped from hearing of the first signal in time. */
static void a_second_signal_kills(void **state)
{
    (void)state;
    struct process process;
    const struct timespec pause = {.tv_nsec = 300000000};
    const char *const hanging[] = {"DSAJIT_COMPILER=" HANGING_HELPER, NULL};
    const pid_t pid = process_start(hanging, "warmup --heads 3 --has-invalid 0");
    nanosleep(&pause, NULL);
    kill(pid, SIGINT);
    kill(pid, SIGTERM);
    process_wait(&process, pid);
    assert_true(process.exit_code == 128 + SIGTERM || process.exit_code == 128 + SIGINT);
    assert_string_equal(process.out, "");
    process_free(&process);
}

int main(void)
{
#define TEST(function) cmocka_unit_test_setup(function, small_cache_set_up)
    const struct CMUnitTest tests[] = {
        TEST(a_terminal_gets_one_line_drawn_again),
        TEST(the_line_is_never_wider_than_the_terminal),
        TEST(no_color_leaves_a_bar_without_colour),
        TEST(a_dumb_terminal_gets_plain_lines),
        TEST(a_failure_stays_above_the_bar),
        TEST(json_progress_is_an_object_a_line),
        TEST(off_is_silent),
        cmocka_unit_test(plain_progress_gives_a_sign_of_life_each_ten_seconds),
        cmocka_unit_test(plain_progress_is_silent_about_what_was_there),
        TEST(ctrl_c_keeps_what_is_finished),
        TEST(sigterm_keeps_what_is_finished),
        TEST(interrupted_at_once_it_can_be_run_again),
        TEST(a_signal_that_is_ignored_stays_ignored),
        TEST(a_second_signal_kills),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
