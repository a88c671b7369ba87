/* Code objects as hostile bytes: whatever they are, reading one ends with a status. Meant for the
   address and undefined-behaviour sanitizers. */
#include "emulator/code_object.h"
#include "emulator/inspector.h"
#include "emulator/metadata.h"
#include "emulator/program.h"
#include "support/gpu.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static struct gpu gpu;
static struct bytes code;
static struct inspection inspection;
static struct device_memory *memory;

/* Two kernels, dynamic LDS, a variable, a constant, and a pointer to a variable: a relocation. */
static const char source[] =
    "__device__ int counter = 7;\n"
    "__device__ int *pointer = &counter;\n"
    "__constant__ int table[4] = {1, 2, 3, 4};\n"
    "extern \"C\" __global__ void first(int *x) { *x = table[*x & 3] + *pointer + gridDim.x; }\n"
    "extern \"C\" __global__ void second() {}\n";

static int compile(void **state)
{
    (void)state;
    dsajit_error error;
    gpu_open(&gpu);
    gpu_compile_code(&gpu, source, NULL, &code);
    if (compiler_inspect(gpu.compiler, code.data, code.size, &inspection, &error))
        fail_msg("%s", error.message);
    memory = device_memory_create((size_t)1 << 30);
    assert_non_null(memory);
    return 0;
}

static int clean_up(void **state)
{
    (void)state;
    device_memory_destroy(memory);
    inspection_free(&inspection);
    bytes_free(&code);
    gpu_close(&gpu);
    return 0;
}

static const struct code_symbol *find(const struct code_symbol *symbols, size_t count,
                                      const char *name)
{
    for (size_t i = 0; i < count; i++)
        if (!strcmp(symbols[i].name, name))
            return &symbols[i];
    return NULL;
}

static void what_hiprtc_makes_is_read(void **state)
{
    (void)state;
    struct code_object object;
    dsajit_error error = {0};
    assert_int_equal(code_object_measure(code.data), code.size);
    if (code_object_parse(code.data, code.size, &object, &error))
        fail_msg("%s", error.message);
    assert_int_equal(object.kernel_count, 2);
    assert_non_null(find(object.kernels, object.kernel_count, "first"));
    assert_non_null(find(object.kernels, object.kernel_count, "second"));
    const struct code_symbol *counter = find(object.variables, object.variable_count, "counter");
    assert_non_null(counter);
    assert_int_equal(counter->size, 4);
    int32_t value;
    memcpy(&value, code_object_bytes(&object, counter->address, 4), 4);
    assert_int_equal(value, 7);
    assert_int_equal(object.relocation_count, 1);
    assert_int_equal(object.relocations[0].value, counter->address);
    assert_null(code_object_bytes(&object, object.image_size - 1, 2));
    assert_null(code_object_bytes(&object, UINT64_MAX, 1));

    struct program program;
    if (program_load(&object, bytes_text(&inspection.metadata), bytes_text(&inspection.listing),
                     memory, &program, &error))
        fail_msg("%s", error.message);
    assert_int_equal(program.kernel_count, 2);
    for (size_t i = 0; i < 2; i++) {
        assert_int_equal(program.kernels[i].workgroup_limit, 1024);
        assert_true(program.kernels[i].vector_count >= 8);
    }
    /* The pointer points to the variable in the image. */
    const struct code_symbol *pointer = find(object.variables, object.variable_count, "pointer");
    assert_non_null(pointer);
    uint64_t address;
    memcpy(&address, program.image + pointer->address, sizeof address);
    assert_int_equal(address, (uintptr_t)program.image + counter->address);
    program_unload(&program, &object, memory);
    code_object_free(&object);
}

static dsajit_status try_parse(const uint8_t *bytes, size_t size, struct code_object *object)
{
    dsajit_error error = {0};
    dsajit_status status = code_object_parse(bytes, size, object, &error);
    if (status) {
        assert_int_equal(error.status, status);
        assert_true(error.message[0]);
    }
    return status;
}

/* Reads and loads bytes as hipModuleLoadData does, with the inspection of the original. */
static dsajit_status try_load(const uint8_t *bytes, size_t size)
{
    struct code_object object;
    struct program program;
    dsajit_error error;
    dsajit_status status = try_parse(bytes, size, &object);
    if (status)
        return status;
    status = inspector_check_listing(bytes_text(&inspection.listing), object.text_size, &error);
    if (!status)
        status = program_load(&object, bytes_text(&inspection.metadata),
                              bytes_text(&inspection.listing), memory, &program, &error);
    if (!status)
        program_unload(&program, &object, memory);
    code_object_free(&object);
    return status;
}

static void every_truncation_is_refused_or_harmless(void **state)
{
    (void)state;
    for (size_t size = 0; size < code.size; size++) {
        uint8_t *bytes = malloc(size + !size); /* exactly as large: a sanitizer sees a byte more */
        assert_non_null(bytes);
        memcpy(bytes, code.data, size);
        dsajit_status status = try_load(bytes, size);
        if (status)
            assert_true(status == DSAJIT_ERROR_CORRUPT || status == DSAJIT_ERROR_UNSUPPORTED);
        free(bytes);
    }
}

static void every_changed_byte_is_refused_or_harmless(void **state)
{
    (void)state;
    static const uint8_t changes[] = {0x80, 0x01};
    struct code_object object;
    uint8_t *bytes = malloc(code.size);
    assert_non_null(bytes);
    memcpy(bytes, code.data, code.size);
    for (size_t i = 0; i < code.size; i++) {
        for (size_t j = 0; j < sizeof changes; j++) {
            bytes[i] = code.data[i] ^ changes[j];
            if (!try_parse(bytes, code.size, &object))
                code_object_free(&object);
        }
        bytes[i] = code.data[i] ^ 0xff;
        try_load(bytes, code.size);
        bytes[i] = code.data[i];
    }
    assert_int_equal(try_load(bytes, code.size), DSAJIT_OK);
    free(bytes);
    size_t used, capacity;
    device_memory_usage(memory, &used, &capacity);
    assert_int_equal(used, 0);
}

static void many_changed_bytes_are_refused_or_harmless(void **state)
{
    (void)state;
    uint8_t *bytes = malloc(code.size);
    assert_non_null(bytes);
    uint64_t random = 42;
    for (int round = 0; round < 2000; round++) {
        memcpy(bytes, code.data, code.size);
        for (int i = 0; i < 8; i++) {
            random = random * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
            bytes[(random >> 33) % code.size] = (uint8_t)(random >> 20);
        }
        try_load(bytes, code.size);
    }
    free(bytes);
}

static dsajit_status parse_changed(size_t offset, uint8_t value)
{
    struct code_object object;
    struct bytes copy = {0};
    bytes_append(&copy, code.data, code.size);
    copy.data[offset] = value;
    dsajit_status status = code_object_parse(copy.data, copy.size, &object, NULL);
    if (!status)
        code_object_free(&object);
    bytes_free(&copy);
    return status;
}

static void other_machines_are_named_as_such(void **state)
{
    (void)state;
    assert_int_equal(parse_changed(0, 0), DSAJIT_ERROR_CORRUPT);         /* no ELF */
    assert_int_equal(parse_changed(4, 1), DSAJIT_ERROR_CORRUPT);         /* 32-bit */
    assert_int_equal(parse_changed(5, 2), DSAJIT_ERROR_CORRUPT);         /* big-endian */
    assert_int_equal(parse_changed(7, 0), DSAJIT_ERROR_UNSUPPORTED);     /* OS ABI */
    assert_int_equal(parse_changed(8, 2), DSAJIT_ERROR_UNSUPPORTED);     /* code object version 4 */
    assert_int_equal(parse_changed(16, 1), DSAJIT_ERROR_CORRUPT);        /* not linked */
    assert_int_equal(parse_changed(18, 62), DSAJIT_ERROR_UNSUPPORTED);   /* x86-64 */
    assert_int_equal(parse_changed(48, 0x4c), DSAJIT_ERROR_UNSUPPORTED); /* gfx942 */
    assert_int_equal(parse_changed(49, 0x07), DSAJIT_ERROR_UNSUPPORTED); /* xnack+ */
    assert_int_equal(parse_changed(49, 0x09), DSAJIT_ERROR_UNSUPPORTED); /* sramecc- */

    static const char bundle[128] = "__CLANG_OFFLOAD_BUNDLE__";
    struct code_object object;
    dsajit_error error;
    assert_int_equal(code_object_parse(bundle, sizeof bundle, &object, &error),
                     DSAJIT_ERROR_UNSUPPORTED);
    assert_non_null(strstr(error.message, "offload bundle"));
    assert_int_equal(code_object_measure(bundle), 0);
}

static void listing_must_cover_the_text_exactly(void **state)
{
    (void)state;
    dsajit_error error;
    assert_int_equal(inspector_check_listing("0 4 s_nop 0\n4 8 v_x\nc 4 s_endpgm\n", 16, &error),
                     DSAJIT_OK);
    assert_int_equal(inspector_check_listing("", 0, &error), DSAJIT_OK);
    static const struct {
        const char *listing;
        uint64_t size;
    } bad[] = {
        {"0 4 s_nop 0\n", 8},
        {"0 4 s_nop 0\n", 0},
        {"4 4 s_nop 0\n", 8},
        {"0 4 s_nop 0\n8 4 s_nop 0\n", 12},
        {"0 8 s_nop 0\n4 4 s_nop 0\n", 8},
        {"0 0 s_nop 0\n", 0},
        {"0 4\n", 4},
        {"0\n", 4},
        {"\n", 0},
        {" 0 4 s_nop 0\n", 4},
        {"0  4 s_nop 0\n", 4},
        {"-0 4 s_nop 0\n", 4},
        {"0 -4 s_nop 0\n", 4},
        {"0 +4 s_nop 0\n", 4},
        {"ffffffffffffffff 4 s_nop 0\n", 4},
        {"0 99999999999999999999 s_nop 0\n", 4},
        {"garbage", 4},
    };
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        assert_int_equal(inspector_check_listing(bad[i].listing, bad[i].size, &error),
                         DSAJIT_ERROR_CORRUPT);
}

static dsajit_status parse_metadata(const char *text)
{
    struct metadata metadata;
    dsajit_error error;
    dsajit_status status = metadata_parse(text, &metadata, &error);
    if (!status)
        metadata_free(&metadata);
    return status;
}

#define KERNEL "kernel k vgprs=4 agprs=0 kernarg=16 workgroup=256\n"

static void metadata_must_be_as_the_helper_writes_them(void **state)
{
    (void)state;
    struct metadata metadata;
    dsajit_error error;
    assert_int_equal(metadata_parse(KERNEL
                                    "argument 0 8 global_buffer\nargument 8 4 by_value\n"
                                    "kernel m workgroup=64 kernarg=0 other=x agprs=1 vgprs=2\n",
                                    &metadata, &error),
                     DSAJIT_OK);
    assert_int_equal(metadata.count, 2);
    assert_null(metadata_find(&metadata, "K"));
    const struct kernel_metadata *kernel = metadata_find(&metadata, "k");
    assert_non_null(kernel);
    assert_int_equal(kernel->argument_count, 2);
    assert_int_equal(kernel->arguments[1].offset, 8);
    assert_int_equal(kernel->kernarg_size, 16);
    assert_int_equal(metadata_find(&metadata, "m")->workgroup_limit, 64);
    metadata_free(&metadata);

    assert_int_equal(parse_metadata(""), DSAJIT_OK);
    static const char *const corrupt[] = {
        "nonsense\n",
        "kernel \n",
        "kernel k\n",
        "kernel k vgprs=4 agprs=0 kernarg=16\n",
        "kernel k vgprs=4 agprs=0 kernarg=-1 workgroup=256\n",
        "kernel k vgprs=4 agprs=0 kernarg=99999999999 workgroup=256\n",
        "argument 0 8 by_value\n",
        KERNEL "argument 0 8\n",
        KERNEL "argument x 8 by_value\n",
        KERNEL "argument 12 8 by_value\n",
        KERNEL "argument 4294967295 4294967295 by_value\n",
        KERNEL "argument 0 4 global_buffer\n",
        KERNEL "argument 0 8 hidden_block_count_x\n",
    };
    for (size_t i = 0; i < sizeof corrupt / sizeof *corrupt; i++)
        assert_int_equal(parse_metadata(corrupt[i]), DSAJIT_ERROR_CORRUPT);
    assert_int_equal(parse_metadata(KERNEL "argument 0 8 image\n"), DSAJIT_ERROR_UNSUPPORTED);
    assert_int_equal(parse_metadata(KERNEL "argument 0 4 hidden_private_base\n"),
                     DSAJIT_ERROR_UNSUPPORTED);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_hiprtc_makes_is_read),
        cmocka_unit_test(every_truncation_is_refused_or_harmless),
        cmocka_unit_test(every_changed_byte_is_refused_or_harmless),
        cmocka_unit_test(many_changed_bytes_are_refused_or_harmless),
        cmocka_unit_test(other_machines_are_named_as_such),
        cmocka_unit_test(listing_must_cover_the_text_exactly),
        cmocka_unit_test(metadata_must_be_as_the_helper_writes_them),
    };
    return cmocka_run_group_tests(tests, compile, clean_up);
}
