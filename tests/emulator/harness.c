#include "harness.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdlib.h>
#include <string.h>

enum { DEVICE_CAPACITY = 1 << 26, INSTRUCTION_SIZE = 4 };

enum descriptor_bits {
    PROPERTY_KERNARG_SEGMENT_PTR = 1 << 3,
    RSRC1_FLOAT_DENORMALS = 0xf << 16,
    RSRC1_DX10_CLAMP = 1 << 21,
    RSRC1_IEEE = 1 << 23,
    RSRC2_USER_COUNT_2 = 2 << 1,
    RSRC2_WORKGROUP_IDS = 7 << 7,
    RSRC2_WORK_ITEM_IDS_XYZ = 2 << 11
};

static char kernel_name[] = "test";

/* "offset size text" for each line. */
static void make_listing(struct bytes *listing, const char *assembly)
{
    unsigned offset = 0;
    for (const char *line = assembly; *line;) {
        size_t length = strcspn(line, "\n");
        if (length) {
            bytes_append_format(listing, "%x %d %.*s\n", offset, INSTRUCTION_SIZE, (int)length,
                                line);
            offset += INSTRUCTION_SIZE;
        }
        line += length + (line[length] == '\n');
    }
    bytes_append_format(listing, "%x %d s_endpgm\n", offset, INSTRUCTION_SIZE);
}

void harness_create(struct harness *harness, const char *assembly)
{
    *harness = (struct harness){0};
    struct bytes listing = {0};
    make_listing(&listing, assembly);
    if (program_decode(&harness->program, bytes_text(&listing), &harness->error) != DSAJIT_OK)
        fail_msg("%s", harness->error.message);
    bytes_free(&listing);
    harness->memory = device_memory_create(DEVICE_CAPACITY);
    assert_non_null(harness->memory);
    harness->kernarg = harness_allocate(harness, HARNESS_KERNARG_SIZE, NULL);
    harness->kernel = (struct kernel){
        .name = kernel_name,
        .kernarg_size = HARNESS_KERNARG_SIZE,
        .rsrc1 = RSRC1_FLOAT_DENORMALS | RSRC1_DX10_CLAMP | RSRC1_IEEE,
        .rsrc2 = RSRC2_USER_COUNT_2 | RSRC2_WORKGROUP_IDS | RSRC2_WORK_ITEM_IDS_XYZ,
        .code_properties = PROPERTY_KERNARG_SEGMENT_PTR,
        .vector_count = VECTOR_COUNT,
        .accumulator_offset = VECTOR_ACCUMULATOR,
    };
    harness->dispatch = (struct dispatch){
        .program = &harness->program,
        .kernel = &harness->kernel,
        .memory = harness->memory,
        .grid = {1, 1, 1},
        .block = {LANES, 1, 1},
        .kernarg = harness->kernarg,
        .instruction_limit = UINT64_C(1) << 24,
    };
}

void harness_destroy(struct harness *harness)
{
    if (harness->started) {
        workgroup_free(&harness->workgroup);
        pthread_mutex_destroy(&harness->grid.mutex);
    }
    program_free_instructions(&harness->program);
    device_memory_destroy(harness->memory);
}

void *harness_allocate(struct harness *harness, size_t size, const void *data)
{
    void *address = device_memory_allocate(harness->memory, size);
    assert_non_null(address);
    if (data)
        memcpy(address, data, size);
    return address;
}

void harness_set_argument(struct harness *harness, size_t offset, const void *value, size_t size)
{
    assert_true(offset + size <= HARNESS_KERNARG_SIZE);
    memcpy((char *)harness->kernarg + offset, value, size);
}

dsajit_status harness_dispatch(struct harness *harness)
{
    return dispatch_run(&harness->dispatch, &harness->counters, &harness->error);
}

void harness_start(struct harness *harness)
{
    harness->grid = (struct grid){
        .dispatch = &harness->dispatch,
        .instruction_limit = harness->dispatch.instruction_limit,
        .workgroup_count = 1,
        .mutex = PTHREAD_MUTEX_INITIALIZER,
    };
    harness->started = true;
    assert_true(workgroup_create(&harness->workgroup, &harness->grid));
    workgroup_start(&harness->workgroup, 0);
}

bool harness_finish(struct harness *harness)
{
    bool finished = workgroup_finish(&harness->workgroup);
    harness->error = harness->grid.error;
    return finished;
}

void harness_expect_fault(struct harness *harness, const char *expected)
{
    assert_int_equal(harness_dispatch(harness), DSAJIT_ERROR_KERNEL_FAULT);
    if (!strstr(harness->error.message, expected))
        fail_msg("\"%s\" is not in \"%s\"", expected, harness->error.message);
}

void harness_check_fault(const char *assembly, const char *expected)
{
    struct harness harness;
    harness_create(&harness, assembly);
    harness_expect_fault(&harness, expected);
    harness_destroy(&harness);
}

void harness_check_success(const char *assembly)
{
    struct harness harness;
    harness_create(&harness, assembly);
    if (harness_dispatch(&harness) != DSAJIT_OK)
        fail_msg("%s", harness.error.message);
    harness_destroy(&harness);
}
