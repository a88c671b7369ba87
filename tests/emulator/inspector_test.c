/* Inspections are asked of the helper once, and never trusted blindly. */
#include "base/digest.h"
#include "cache/cache.h"
#include "emulator/code_object.h"
#include "emulator/inspector.h"
#include "support/gpu.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static struct gpu gpu;
static struct bytes code;
static uint64_t text_size;
static char directory[4096]; /* a fresh cache for each test */

static int compile(void **state)
{
    (void)state;
    struct code_object object;
    gpu_open(&gpu);
    gpu_compile_code(&gpu, "extern \"C\" __global__ void one(int *x) { *x = 1; }\n", NULL, &code);
    assert_int_equal(code_object_parse(code.data, code.size, &object, NULL), DSAJIT_OK);
    text_size = object.text_size;
    code_object_free(&object);
    return 0;
}

static int clean_up(void **state)
{
    (void)state;
    bytes_free(&code);
    gpu_close(&gpu);
    return 0;
}

static int make_directory(void **state)
{
    (void)state;
    snprintf(directory, sizeof directory, "%s/inspector-XXXXXX", getenv("DSAJIT_TEST_STATE"));
    assert_non_null(mkdtemp(directory));
    return 0;
}

/* As a new process would: with nothing but what is on disk. */
static dsajit_status inspect(struct inspection *inspection, dsajit_error *error)
{
    struct inspector *inspector;
    const struct inspector_options options = {.cache_directory = directory};
    assert_int_equal(inspector_create(&options, &inspector, error), DSAJIT_OK);
    dsajit_status status =
        inspector_inspect(inspector, code.data, code.size, text_size, inspection, error);
    inspector_destroy(inspector);
    return status;
}

static void second_inspection_starts_no_helper(void **state)
{
    (void)state;
    struct inspection first, second;
    dsajit_error error;
    uint64_t before = compiler_start_count();
    assert_int_equal(inspect(&first, &error), DSAJIT_OK);
    uint64_t after = compiler_start_count();
    assert_true(after > before);
    assert_int_equal(inspect(&second, &error), DSAJIT_OK);
    assert_int_equal(compiler_start_count(), after);
    assert_string_equal(bytes_text(&first.listing), bytes_text(&second.listing));
    assert_string_equal(bytes_text(&first.metadata), bytes_text(&second.metadata));
    inspection_free(&first);
    inspection_free(&second);
}

/* An entry that is intact as a file and wrong in what it says. */
static void publish(const char *listing, const char *metadata)
{
    struct cache *cache;
    struct cache_key key = {0};
    uint8_t digest[DIGEST_SIZE];
    char hex[DIGEST_HEX_SIZE];
    dsajit_error error;
    const struct cache_options options = {.directory = directory};
    assert_int_equal(cache_open(&options, &cache, &error), DSAJIT_OK);
    digest_compute(code.data, code.size, digest);
    digest_to_hex(digest, hex);
    cache_key_append(&key, "dsajit-key", "1");
    cache_key_append(&key, "kind", "inspection");
    cache_key_append(&key, "code", hex);
    const struct cache_section sections[] = {{"metadata", metadata, strlen(metadata)},
                                             {"listing", listing, strlen(listing)}};
    if (cache_publish(cache, &key, sections, 2, &error))
        fail_msg("%s", error.message);
    cache_key_free(&key);
    cache_close(cache);
}

static void remembered_nonsense_is_replaced(void **state)
{
    (void)state;
    struct inspection inspection;
    dsajit_error error;
    publish("0 4 s_endpgm\n", "kernel one\n");
    uint64_t before = compiler_start_count();
    assert_int_equal(inspect(&inspection, &error), DSAJIT_OK);
    uint64_t after = compiler_start_count();
    assert_true(after > before);
    assert_int_equal(inspector_check_listing(bytes_text(&inspection.listing), text_size, &error),
                     DSAJIT_OK);
    inspection_free(&inspection);
    assert_int_equal(inspect(&inspection, &error), DSAJIT_OK);
    assert_int_equal(compiler_start_count(), after);
    inspection_free(&inspection);
}

static void missing_helper_is_an_error_that_says_so(void **state)
{
    (void)state;
    struct inspector *inspector;
    struct inspection inspection;
    dsajit_error error;
    const struct inspector_options options = {.cache_directory = directory,
                                              .compiler = "/nonexistent/dsajit-compiler"};
    assert_int_equal(inspector_create(&options, &inspector, &error), DSAJIT_OK);
    assert_int_equal(
        inspector_inspect(inspector, code.data, code.size, text_size, &inspection, &error),
        DSAJIT_ERROR_TOOLCHAIN_MISSING);
    assert_non_null(strstr(error.message, "/nonexistent/dsajit-compiler"));
    inspector_destroy(inspector);
}

static void options_reach_the_loaded_library(void **state)
{
    (void)state;
    hipModule_t module;
    dsajit_error error;
    struct dsajit_emulator_options options = {.struct_size = sizeof options,
                                              .cache_directory = directory,
                                              .compiler = "/nonexistent/dsajit-compiler"};
    assert_int_equal(gpu.configure(&options, &error), DSAJIT_OK);
    assert_int_equal(gpu.hip.hipModuleLoadData(&module, code.data), hipErrorSharedObjectInitFailed);
    assert_non_null(strstr(gpu.error(), "/nonexistent/dsajit-compiler"));
    options.compiler = NULL;
    assert_int_equal(gpu.configure(&options, &error), DSAJIT_OK);
    assert_hip(&gpu, gpu.hip.hipModuleLoadData(&module, code.data));
    assert_hip(&gpu, gpu.hip.hipModuleUnload(module));

    /* What the library has left on disk is enough without a helper. */
    options.compiler = "/nonexistent/dsajit-compiler";
    assert_int_equal(gpu.configure(&options, &error), DSAJIT_OK);
    assert_hip(&gpu, gpu.hip.hipModuleLoadData(&module, code.data));
    assert_hip(&gpu, gpu.hip.hipModuleUnload(module));

    options.struct_size = 3;
    assert_int_equal(gpu.configure(&options, &error), DSAJIT_ERROR_INVALID_ARGUMENT);
    assert_int_equal(gpu.configure(NULL, &error), DSAJIT_ERROR_INVALID_ARGUMENT);
}

#define TEST(function) cmocka_unit_test_setup(function, make_directory)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(second_inspection_starts_no_helper),
        TEST(remembered_nonsense_is_replaced),
        TEST(missing_helper_is_an_error_that_says_so),
        TEST(options_reach_the_loaded_library),
    };
    return cmocka_run_group_tests(tests, compile, clean_up);
}
