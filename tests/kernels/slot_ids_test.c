/* Slot ids up to 2^31 - 1: a record's address takes more than 32 bits. */
#include "harness.h"
#include "record.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

/* The kernel gets a cache that starts at slot 0, of which only the slots from the first id to the
   last lie in memory; the reference gets the records in use, under ids of their own. */
static void run_with_slots(const int64_t *slots, int64_t count, const struct layout *layout)
{
    const struct device *device = harness_device();
    struct problem problem;
    struct call call;
    struct result result;
    void *records;
    dsajit_error error = {0};
    harness_make_problem(&problem, 4, 1, &count, count, 0, DSAJIT_SCALE_POW2);
    for (int64_t i = 0; i < count; i++)
        problem.indices[i] = i;
    call_prepare(&call, &problem, layout);
    const size_t size = (size_t)(slots[count - 1] - slots[0] + 1) * DSAJIT_RECORD_BYTES;
    assert_ok(device_allocate(device, size, &records, &error), &error);
    const uintptr_t base = (uintptr_t)records - (uintptr_t)slots[0] * DSAJIT_RECORD_BYTES;
    /* NOLINTNEXTLINE(performance-no-int-to-ptr): no object holds all of the cache */
    tensor_set(&call.kv, (void *)base, kDLUInt, 8, 2,
               (int64_t[]){slots[count - 1] + 1, DSAJIT_RECORD_BYTES});
    for (int64_t i = 0; i < count; i++) {
        const int32_t narrow = (int32_t)slots[i];
        const bool wide = layout->indices_bits == 64;
        const size_t width = wide ? sizeof slots[i] : sizeof narrow;
        assert_ok(device_upload(device,
                                (uint8_t *)records + (slots[i] - slots[0]) * DSAJIT_RECORD_BYTES,
                                problem.kv + i * DSAJIT_RECORD_BYTES, DSAJIT_RECORD_BYTES, &error),
                  &error);
        assert_ok(device_upload(device, (uint8_t *)call.indices.view.data + (size_t)i * width,
                                wide ? (const void *)&slots[i] : (const void *)&narrow, width,
                                &error),
                  &error);
    }
    call_run(&call, &problem, layout, &result);
    assert_right(&problem, &result);
    result_free(&result);
    call_free(&call);
    device_free(device, records);
    problem_free(&problem);
}

static void run_with_either_width(const int64_t *slots, int64_t count)
{
    run_with_slots(slots, count, &(struct layout){.return_lse = true});
    run_with_slots(slots, count, &(struct layout){.return_lse = true, .indices_bits = 64});
}

/* Record addresses on both sides of 2^31, 2^32 and 2^33 bytes from the base. */
static void records_on_both_sides_of_4_gib(void **state)
{
    (void)state;
    static const int64_t slots[] = {0,       1,       3273603,  3273604, 6547206,
                                    6547207, 6547208, 13094412, 13094413};
    run_with_either_width(slots, sizeof slots / sizeof *slots);
}

/* Ids around 2^30: as 32-bit byte offsets they all would wrap. */
static void slot_ids_around_2_to_the_30(void **state)
{
    (void)state;
    static const int64_t slots[] = {(1 << 30) - 2, (1 << 30) - 1, 1 << 30, (1 << 30) + 1};
    run_with_either_width(slots, sizeof slots / sizeof *slots);
}

static void slot_ids_up_to_the_last(void **state)
{
    (void)state;
    static const int64_t slots[] = {INT32_MAX - 70, INT32_MAX - 2, INT32_MAX - 1, INT32_MAX};
    run_with_either_width(slots, sizeof slots / sizeof *slots);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(records_on_both_sides_of_4_gib),
        cmocka_unit_test(slot_ids_around_2_to_the_30),
        cmocka_unit_test(slot_ids_up_to_the_last),
    };
    return cmocka_run_group_tests(tests, harness_open, harness_close);
}
