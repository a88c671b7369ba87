/* Finding a toolchain, its identity, and the memory of it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "compiler/compiler.h"
#include "compiler/locate.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

static struct location location;

static int locate(void **state)
{
    (void)state;
    const struct compiler_options options = {0};
    return locate_toolchain(&options, &location, NULL) ? -1 : 0;
}

static int free_location(void **state)
{
    (void)state;
    location_free(&location);
    return 0;
}

static void assert_contains(const char *text, const char *part)
{
    if (!strstr(text, part))
        fail_msg("\"%s\" isn't in \"%s\"", part, text);
}

/* Runs a shell command, which has to succeed. */
__attribute__((format(printf, 1, 2))) static void shell(const char *format, ...)
{
    char *line = NULL;
    va_list arguments;
    va_start(arguments, format);
    assert_true(vasprintf(&line, format, arguments) >= 0);
    va_end(arguments);
    assert_int_equal(system(line), 0);
    free(line);
}

/* STATE/NAME, made empty. */
static void fresh_folder(const char *name, char path[1024])
{
    snprintf(path, 1024, "%s/%s", getenv("DSAJIT_TEST_STATE"), name);
    shell("rm -rf '%s' && mkdir -p '%s'", path, path);
}

/* A prefix made of links to the real toolchain's files, less those whose name starts with
   `without`. The file of hipRTC is a copy, so that it can be changed. */
static void make_prefix(const char *name, const char *without, char prefix[1024])
{
    fresh_folder(name, prefix);
    shell("set -e; libraries=$(dirname '%s'); cd '%s'; mkdir lib; "
          "for file in \"$libraries\"/*.so*; do ln -s \"$file\" lib/; done; "
          "rm -f lib/libhiprtc.so*; cp \"$libraries\"/libhiprtc.so.? lib/; "
          "if [ -n '%s' ]; then rm -f lib/%s*; fi",
          location.hiprtc, prefix, without, without);
    if (location.loader)
        shell("cd '%s'; mkdir -p usr/lib64; ln -s '%s' usr/lib64/ld-linux-x86-64.so.2", prefix,
              location.loader);
}

static dsajit_status identify(const char *prefix, const char *memory, struct toolchain *toolchain,
                              dsajit_error *error)
{
    const struct compiler_options options = {.rocm_path = prefix};
    struct compiler *compiler;
    assert_int_equal(compiler_create(&options, &compiler, NULL), DSAJIT_OK);
    dsajit_status status = compiler_toolchain(compiler, memory, toolchain, error);
    compiler_destroy(compiler);
    return status;
}

/* Identifies and tells how many helpers that took. */
static uint64_t starts_to_identify(const char *prefix, const char *memory)
{
    struct toolchain toolchain;
    dsajit_error error = {0};
    uint64_t before = compiler_start_count();
    if (identify(prefix, memory, &toolchain, &error))
        fail_msg("%s", error.message);
    assert_contains(toolchain.identity, "libhiprtc.so");
    assert_contains(toolchain.version, "hipRTC ");
    toolchain_free(&toolchain);
    return compiler_start_count() - before;
}

static void the_identity_names_each_deciding_library_by_build_id(void **state)
{
    (void)state;
    struct toolchain toolchain;
    assert_int_equal(identify(NULL, NULL, &toolchain, NULL), DSAJIT_OK);
    /* The same ids as another tool reads from the files. */
    const char *const files[] = {location.comgr, location.hiprtc};
    for (size_t i = 0; i < 2; i++) {
        char line[4096], id[128] = "";
        snprintf(line, sizeof line, "readelf -n '%s' | sed -n 's/.*Build ID: //p'", files[i]);
        FILE *output = popen(line, "re");
        assert_non_null(output);
        assert_non_null(fgets(id, sizeof id, output));
        pclose(output);
        id[strcspn(id, "\n")] = '\0';
        assert_contains(toolchain.identity, id);
    }
    assert_null(strchr(toolchain.identity, '/'));
    toolchain_free(&toolchain);
}

static void the_identity_is_the_same_from_another_prefix(void **state)
{
    (void)state;
    char prefix[1024];
    struct toolchain here, there;
    make_prefix("elsewhere", "", prefix);
    assert_int_equal(identify(NULL, NULL, &here, NULL), DSAJIT_OK);
    assert_int_equal(identify(prefix, NULL, &there, NULL), DSAJIT_OK);
    assert_string_equal(here.identity, there.identity);
    assert_string_equal(there.origin, "named by the caller");
    assert_string_not_equal(here.prefix, there.prefix);
    toolchain_free(&here);
    toolchain_free(&there);
}

/* A library without a build id is told from another by its content. */
static void a_stripped_library_is_known_by_its_content(void **state)
{
    (void)state;
    char prefix[1024];
    struct toolchain toolchain;
    make_prefix("stripped", "", prefix);
    shell("cd '%s/lib' && objcopy --remove-section .note.gnu.build-id libhiprtc.so.? stripped "
          "2>/dev/null && mv stripped libhiprtc.so.?",
          prefix);
    assert_int_equal(identify(prefix, NULL, &toolchain, NULL), DSAJIT_OK);
    assert_contains(toolchain.identity, "=content:");
    toolchain_free(&toolchain);
}

/* ---- Memory ---- */

static void a_remembered_toolchain_starts_no_helper(void **state)
{
    (void)state;
    char memory[1024];
    fresh_folder("memory", memory);
    struct toolchain first, second;
    assert_int_equal(identify(NULL, memory, &first, NULL), DSAJIT_OK);
    uint64_t before = compiler_start_count();
    assert_int_equal(identify(NULL, memory, &second, NULL), DSAJIT_OK);
    assert_int_equal(compiler_start_count(), before);
    assert_string_equal(first.identity, second.identity);
    assert_string_equal(first.version, second.version);
    toolchain_free(&first);
    toolchain_free(&second);
}

static void without_a_usable_memory_it_is_found_out_again(void **state)
{
    (void)state;
    assert_int_equal(starts_to_identify(NULL, NULL), 1);
    assert_int_equal(starts_to_identify(NULL, "/nonexistent/folder"), 1);
}

/* The one file in the folder, as path. */
static void memory_file(const char *folder, char path[2048])
{
    DIR *directory = opendir(folder);
    size_t count = 0;
    assert_non_null(directory);
    for (struct dirent *file; (file = readdir(directory));) {
        if (*file->d_name != '.') {
            snprintf(path, 2048, "%s/%s", folder, file->d_name);
            count++;
        }
    }
    closedir(directory);
    assert_int_equal(count, 1);
}

static void a_damaged_memory_is_not_believed(void **state)
{
    (void)state;
    char memory[1024], path[2048];
    fresh_folder("damaged", memory);
    assert_int_equal(starts_to_identify(NULL, memory), 1);
    memory_file(memory, path);
    struct stat whole;
    assert_int_equal(stat(path, &whole), 0);
    for (off_t at = 0; at < whole.st_size; at += whole.st_size / 6) {
        int fd = open(path, O_RDWR | O_CLOEXEC);
        uint8_t byte;
        assert_true(fd >= 0);
        assert_int_equal(pread(fd, &byte, 1, at), 1);
        byte ^= 1;
        assert_int_equal(pwrite(fd, &byte, 1, at), 1);
        close(fd);
        assert_int_equal(starts_to_identify(NULL, memory), 1);
        assert_int_equal(starts_to_identify(NULL, memory), 0);
    }
    assert_int_equal(truncate(path, 10), 0);
    assert_int_equal(starts_to_identify(NULL, memory), 1);
    assert_int_equal(truncate(path, 0), 0);
    assert_int_equal(starts_to_identify(NULL, memory), 1);
    assert_int_equal(starts_to_identify(NULL, memory), 0);
}

static void settle(void)
{
    const struct timespec pause = {.tv_sec = 4};
    nanosleep(&pause, NULL);
}

static void a_changed_library_is_identified_anew(void **state)
{
    (void)state;
    char memory[1024], prefix[1024];
    fresh_folder("changing", memory);
    make_prefix("changed", "", prefix);
    /* A file that was just written isn't remembered, since another write could go unnoticed. */
    settle();
    assert_int_equal(starts_to_identify(prefix, memory), 1);
    assert_int_equal(starts_to_identify(prefix, memory), 0);
    /* Another file under the same name, of the same size and times. */
    shell("cd '%s/lib' && for f in libhiprtc.so.?; do cp -p $f new && mv new $f; done", prefix);
    assert_int_equal(starts_to_identify(prefix, memory), 1);
}

/* ---- Missing ---- */

static void expect_missing(const char *prefix, const char *first, const char *second)
{
    struct toolchain toolchain;
    dsajit_error error = {0};
    assert_int_equal(identify(prefix, NULL, &toolchain, &error), DSAJIT_ERROR_TOOLCHAIN_MISSING);
    assert_contains(error.message, first);
    assert_contains(error.message, second);
}

static void what_a_prefix_lacks_is_named(void **state)
{
    (void)state;
    char prefix[1024];
    make_prefix("no_comgr", "libamd_comgr.so", prefix);
    expect_missing(prefix, "libamd_comgr.so", prefix);
    make_prefix("no_hiprtc", "libhiprtc.so", prefix);
    expect_missing(prefix, "libhiprtc.so", prefix);
    fresh_folder("empty", prefix);
    expect_missing(prefix, "libhiprtc.so", prefix);
    expect_missing("/nonexistent/rocm", "/nonexistent/rocm", "No such file");
}

/* Somebody who names a ROCm wants that one. */
static void a_named_path_is_never_passed_over(void **state)
{
    (void)state;
    static const char *const variables[] = {"DSAJIT_ROCM_PATH", "ROCM_PATH"};
    for (size_t i = 0; i < 2; i++) {
        setenv(variables[i], "/nonexistent/rocm", 1);
        expect_missing(NULL, variables[i], "/nonexistent/rocm");
        unsetenv(variables[i]);
    }
}

static void the_nearer_name_wins(void **state)
{
    (void)state;
    char prefix[1024];
    struct toolchain toolchain;
    make_prefix("named", "", prefix);
    setenv("ROCM_PATH", "/nonexistent/rocm", 1);
    setenv("DSAJIT_ROCM_PATH", prefix, 1);
    assert_int_equal(identify(NULL, NULL, &toolchain, NULL), DSAJIT_OK);
    assert_string_equal(toolchain.origin, "DSAJIT_ROCM_PATH");
    assert_string_equal(toolchain.prefix, prefix);
    toolchain_free(&toolchain);
    setenv("DSAJIT_ROCM_PATH", "", 1); /* empty is unset */
    expect_missing(NULL, "ROCM_PATH", "/nonexistent/rocm");
    unsetenv("ROCM_PATH");
    unsetenv("DSAJIT_ROCM_PATH");
}

/* An unusable library, rather than a missing one. */
static void a_library_that_does_not_load_is_named(void **state)
{
    (void)state;
    char prefix[1024];
    make_prefix("unloadable", "", prefix);
    shell("cd '%s/lib' && rm libamd_comgr.so.* && echo x >libamd_comgr.so.3", prefix);
    expect_missing(prefix, "comgr can't be loaded", "libamd_comgr.so.3");
}

int main(void)
{
    unsetenv("DSAJIT_ROCM_PATH");
    unsetenv("ROCM_PATH");
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_identity_names_each_deciding_library_by_build_id),
        cmocka_unit_test(the_identity_is_the_same_from_another_prefix),
        cmocka_unit_test(a_stripped_library_is_known_by_its_content),
        cmocka_unit_test(a_remembered_toolchain_starts_no_helper),
        cmocka_unit_test(without_a_usable_memory_it_is_found_out_again),
        cmocka_unit_test(a_damaged_memory_is_not_believed),
        cmocka_unit_test(a_changed_library_is_identified_anew),
        cmocka_unit_test(what_a_prefix_lacks_is_named),
        cmocka_unit_test(a_named_path_is_never_passed_over),
        cmocka_unit_test(the_nearer_name_wins),
        cmocka_unit_test(a_library_that_does_not_load_is_named),
    };
    return cmocka_run_group_tests(tests, locate, free_location);
}
