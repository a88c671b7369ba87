/* Compiles and inspections by the real helper, hipRTC and comgr. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "compiler/compiler.h"

#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static const char *const options[] = {"-O3", "-std=c++17", NULL};

/* LDS of 1024 bytes, at most 128 threads, arguments at the offsets that the C ABI gives them, and
   instructions whose text and size are known. */
static const char kernel[] =
    "extern \"C\" __global__ __launch_bounds__(128)\n"
    "void known(float *out, int count, long long stride, const float *in)\n"
    "{\n"
    "    __shared__ float shared[256];\n"
    "    shared[threadIdx.x] = in[threadIdx.x];\n"
    "    __syncthreads();\n"
    "    asm volatile(\"s_nop 7\\n\\tv_mov_b32 v5, 0x12345678\" ::: \"v5\");\n"
    "    out[count * stride] = shared[127 - threadIdx.x];\n"
    "}\n";

static int open_compiler(void **state)
{
    struct compiler *compiler;
    if (compiler_create(NULL, &compiler, NULL))
        return -1;
    *state = compiler;
    return 0;
}

static int close_compiler(void **state)
{
    compiler_destroy(*state);
    return 0;
}

static void assert_contains(const char *text, const char *part)
{
    if (!strstr(text, part))
        fail_msg("\"%s\" isn't in \"%s\"", part, text);
}

static void compile(struct compiler *compiler, const char *source, struct compile_result *result)
{
    const struct compile_request request = {
        .source = source, .name = "known.hip", .target = "gfx950", .options = options};
    dsajit_error error = {0};
    if (compiler_compile(compiler, &request, result, &error))
        fail_msg("%s\n%s", error.message, bytes_text(&result->log));
}

static void a_kernel_compiles_and_is_described(void **state)
{
    struct compile_result result;
    compile(*state, kernel, &result);
    assert_true(result.code.size > 64);
    assert_memory_equal(result.code.data, "\177ELF", 4);
    assert_string_equal(result.symbol, "known");
    assert_int_equal(result.resources.lds_bytes, 1024);
    assert_int_equal(result.resources.scratch_bytes, 0);
    assert_int_equal(result.resources.vgpr_spills, 0);
    assert_int_equal(result.resources.workgroup_size, 128);
    assert_true(result.resources.vgprs >= 6); /* v5 is used */
    assert_true(result.resources.kernarg_bytes >= 32);
    assert_true(result.milliseconds > 0);
    const char *metadata = bytes_text(&result.metadata);
    assert_contains(metadata, "kernel known vgprs=");
    assert_contains(metadata, "\nargument 0 8 global_buffer\n"
                              "argument 8 4 by_value\n"
                              "argument 16 8 by_value\n"
                              "argument 24 8 global_buffer\n");
    compile_result_free(&result);
}

static void an_error_carries_the_log_without_temporary_paths(void **state)
{
    const struct compile_request request = {.source = "void f() { undeclared(); }\n",
                                            .name = "bad.hip",
                                            .target = "gfx950",
                                            .options = options};
    struct compile_result result;
    dsajit_error error;
    assert_int_equal(compiler_compile(*state, &request, &result, &error), DSAJIT_ERROR_COMPILE);
    assert_int_equal(strncmp(bytes_text(&result.log), "bad.hip:1:12: error: ", 21), 0);
    assert_contains(bytes_text(&result.log), "undeclared");
    assert_null(strstr(bytes_text(&result.log), "comgr-"));
    assert_null(result.code.data);
    compile_result_free(&result);
}

static void what_hiprtc_refuses_is_a_compile_error(void **state)
{
    static const char *const bad_options[] = {"--no-such-option", NULL};
    static const struct compile_request requests[] = {
        {.source = "", .name = "empty.hip", .target = "gfx950"},
        {.source = "int x;\n", .name = "option.hip", .target = "gfx950", .options = bad_options},
        {.source = "int x;\n", .name = "target.hip", .target = "gfx1"},
    };
    for (size_t i = 0; i < sizeof requests / sizeof *requests; i++) {
        struct compile_result result;
        dsajit_error error;
        assert_int_equal(compiler_compile(*state, &requests[i], &result, &error),
                         DSAJIT_ERROR_COMPILE);
        compile_result_free(&result);
    }
}

static void a_source_without_a_kernel_is_refused(void **state)
{
    const struct compile_request request = {
        .source = "int nothing;\n", .name = "n.hip", .target = "gfx950", .options = options};
    struct compile_result result;
    dsajit_error error;
    assert_int_not_equal(compiler_compile(*state, &request, &result, &error), DSAJIT_OK);
    assert_contains(error.message, "kernel");
    compile_result_free(&result);
}

static void the_same_source_gives_the_same_bytes(void **state)
{
    char warned[sizeof kernel + 32];
    snprintf(warned, sizeof warned, "#warning seen\n%s", kernel);
    struct compile_result first, second;
    compile(*state, warned, &first);
    compile(*state, warned, &second);
    assert_int_equal(first.code.size, second.code.size);
    assert_memory_equal(first.code.data, second.code.data, first.code.size);
    assert_contains(bytes_text(&first.log), "seen");
    assert_string_equal(bytes_text(&first.log), bytes_text(&second.log));
    compile_result_free(&first);
    compile_result_free(&second);
}

static void the_environment_does_not_reach_the_code(void **state)
{
    static const char source[] = "#ifdef INTRUDER\n#error seen\n#endif\n"
                                 "extern \"C\" __global__ void k() {}\n";
    struct compile_result result;
    setenv("HIPRTC_COMPILE_OPTIONS_APPEND", "-DINTRUDER", 1);
    setenv("CCC_OVERRIDE_OPTIONS", "+-DINTRUDER", 1);
    compile(*state, source, &result);
    unsetenv("HIPRTC_COMPILE_OPTIONS_APPEND");
    unsetenv("CCC_OVERRIDE_OPTIONS");
    compile_result_free(&result);
}

/* ---- Inspection ---- */

static void inspect(struct compiler *compiler, const void *code, size_t size,
                    struct inspection *inspection)
{
    dsajit_error error = {0};
    if (compiler_inspect(compiler, code, size, inspection, &error))
        fail_msg("%s", error.message);
}

/* Every line is "offset size text", each offset the sum of the sizes before it. */
static void assert_is_listing(const char *listing)
{
    unsigned long expected = 0;
    for (const char *line = listing; *line; line += strcspn(line, "\n") + 1) {
        unsigned long offset, size;
        int used = 0;
        assert_int_equal(sscanf(line, "%lx %lu %n", &offset, &size, &used), 2);
        assert_int_equal(offset, expected);
        assert_true(size == 4 || size == 8 || size == 12 || size == 16 || size == 20);
        size_t length = strcspn(line, "\n");
        assert_true(length > (size_t)used && line[used] != ' ' && line[length - 1] != ' ');
        assert_null(memchr(line, '\t', length));
        assert_null(memmem(line, length, "  ", 2));
        expected += size;
    }
    assert_true(expected > 0);
}

static void the_listing_shows_each_instruction_once(void **state)
{
    struct compile_result result;
    struct inspection inspection;
    compile(*state, kernel, &result);
    inspect(*state, result.code.data, result.code.size, &inspection);
    const char *listing = bytes_text(&inspection.listing);
    assert_is_listing(listing);
    assert_contains(listing, " 4 s_nop 7\n");
    assert_contains(listing, " 8 v_mov_b32_e32 v5, 0x12345678\n");
    assert_contains(listing, " 4 s_endpgm\n");
    assert_string_equal(bytes_text(&inspection.metadata), bytes_text(&result.metadata));
    inspection_free(&inspection);
    compile_result_free(&result);
}

static void an_undecodable_word_is_listed_as_data(void **state)
{
    static const uint8_t s_nop_7[] = {0x07, 0x00, 0x80, 0xbf};
    static const uint8_t nothing[] = {0xef, 0xbe, 0xff, 0xff};
    struct compile_result result;
    struct inspection inspection;
    compile(*state, kernel, &result);
    uint8_t *found = memmem(result.code.data, result.code.size, s_nop_7, sizeof s_nop_7);
    assert_non_null(found);
    memcpy(found, nothing, sizeof nothing);
    inspect(*state, result.code.data, result.code.size, &inspection);
    assert_is_listing(bytes_text(&inspection.listing));
    assert_contains(bytes_text(&inspection.listing), " 4 .long 0xffffbeef\n");
    inspection_free(&inspection);
    compile_result_free(&result);
}

static void what_is_no_code_object_is_corrupt(void **state)
{
    struct compile_result result;
    compile(*state, kernel, &result);
    const size_t sizes[] = {0, 1, 63, 64, 65, result.code.size / 2, result.code.size - 1};
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        struct inspection inspection;
        dsajit_error error = {0};
        dsajit_status status =
            compiler_inspect(*state, result.code.data, sizes[i], &inspection, &error);
        if (status != DSAJIT_ERROR_CORRUPT)
            fail_msg("%zu bytes: %s %s", sizes[i], dsajit_status_name(status), error.message);
    }
    compile_result_free(&result);
}

/* ---- The host ---- */

static void *compile_in_thread(void *compiler)
{
    for (int i = 0; i < 2; i++) {
        struct compile_result result;
        compile(compiler, kernel, &result);
        compile_result_free(&result);
    }
    return NULL;
}

static void threads_compile_at_the_same_time(void **state)
{
    pthread_t threads[4];
    uint64_t before = compiler_start_count();
    for (size_t i = 0; i < 4; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, compile_in_thread, *state), 0);
    for (size_t i = 0; i < 4; i++)
        pthread_join(threads[i], NULL);
    assert_int_equal(compiler_start_count() - before, 8);
}

/* The descriptors that the client opens are then 0, 1 and 2. */
static void a_host_without_standard_streams_can_compile(void **state)
{
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        for (int i = 0; i < 3; i++)
            close(i);
        const struct compile_request request = {
            .source = kernel, .name = "known.hip", .target = "gfx950", .options = options};
        struct compile_result result;
        _exit(compiler_compile(*state, &request, &result, NULL));
    }
    int wait_status;
    assert_int_equal(waitpid(child, &wait_status, 0), child);
    assert_true(WIFEXITED(wait_status));
    assert_int_equal(WEXITSTATUS(wait_status), DSAJIT_OK);
}

static void a_host_that_ignores_and_blocks_signals_can_compile(void **state)
{
    sigset_t all, before;
    sigfillset(&all);
    signal(SIGCHLD, SIG_IGN);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    struct compile_result result;
    compile(*state, kernel, &result);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    signal(SIGCHLD, SIG_DFL);
    compile_result_free(&result);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_kernel_compiles_and_is_described),
        cmocka_unit_test(an_error_carries_the_log_without_temporary_paths),
        cmocka_unit_test(what_hiprtc_refuses_is_a_compile_error),
        cmocka_unit_test(a_source_without_a_kernel_is_refused),
        cmocka_unit_test(the_same_source_gives_the_same_bytes),
        cmocka_unit_test(the_environment_does_not_reach_the_code),
        cmocka_unit_test(the_listing_shows_each_instruction_once),
        cmocka_unit_test(an_undecodable_word_is_listed_as_data),
        cmocka_unit_test(what_is_no_code_object_is_corrupt),
        cmocka_unit_test(threads_compile_at_the_same_time),
        cmocka_unit_test(a_host_without_standard_streams_can_compile),
        cmocka_unit_test(a_host_that_ignores_and_blocks_signals_can_compile),
    };
    return cmocka_run_group_tests(tests, open_compiler, close_compiler);
}
