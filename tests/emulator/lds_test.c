/* LDS's shadow: bounds, bytes never written, races between barriers, loads in flight. */
#include "emulator/memory.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <string.h>

enum { SIZE = 1000 };

static char why[MEMORY_WHY_SIZE];

static int create(void **state)
{
    *state = lds_create(SIZE);
    return *state ? 0 : -1;
}

static int destroy(void **state)
{
    lds_destroy(*state);
    return 0;
}

static void assert_permitted(struct lds *lds, uint32_t wave, uint32_t address, size_t size,
                             enum lds_access access)
{
    why[0] = '\0';
    if (!lds_check(lds, wave, address, size, access, why))
        fail_msg("refused: %s", why);
}

static void assert_refused(struct lds *lds, uint32_t wave, uint32_t address, size_t size,
                           enum lds_access access, const char *expected)
{
    strcpy(why, "");
    assert_false(lds_check(lds, wave, address, size, access, why));
    assert_string_equal(why, expected);
}

static void bounds_are_those_of_the_workgroup(void **state)
{
    assert_int_equal(lds_size(*state), SIZE);
    assert_permitted(*state, 0, 984, 16, LDS_WRITE);
    assert_refused(*state, 0, 985, 16, LDS_WRITE,
                   "16 bytes at LDS address 0x3d9 are outside the workgroup's 1000 bytes");
    assert_refused(*state, 0, 1000, 1, LDS_READ,
                   "1 bytes at LDS address 0x3e8 are outside the workgroup's 1000 bytes");
    assert_refused(*state, 0, UINT32_MAX, 4, LDS_ATOMIC,
                   "4 bytes at LDS address 0xffffffff are outside the workgroup's 1000 bytes");
    lds_reset(*state, 500);
    assert_int_equal(lds_size(*state), 500);
    assert_permitted(*state, 0, 496, 4, LDS_WRITE);
    assert_false(lds_check(*state, 0, 497, 4, LDS_WRITE, why));
}

static void an_lds_of_no_bytes_has_none(void **state)
{
    (void)state;
    struct lds *lds = lds_create(0);
    assert_non_null(lds);
    assert_false(lds_check(lds, 0, 0, 1, LDS_WRITE, why));
    lds_barrier(lds);
    lds_destroy(lds);
}

static void what_nobody_wrote_cannot_be_read(void **state)
{
    assert_refused(*state, 0, 16, 4, LDS_READ,
                   "LDS byte 0x10 is read, but nothing was written there in this workgroup");
    assert_permitted(*state, 0, 17, 2, LDS_WRITE);
    assert_refused(*state, 0, 16, 4, LDS_READ,
                   "LDS byte 0x10 is read, but nothing was written there in this workgroup");
    assert_permitted(*state, 0, 17, 2, LDS_READ);
    assert_refused(*state, 0, 18, 2, LDS_READ,
                   "LDS byte 0x13 is read, but nothing was written there in this workgroup");
    assert_refused(*state, 0, 16, 4, LDS_ATOMIC,
                   "LDS byte 0x10 is read, but nothing was written there in this workgroup");
}

static void every_single_unwritten_byte_is_noticed(void **state)
{
    for (uint32_t hole = 0; hole < 16; ++hole) {
        lds_reset(*state, SIZE);
        if (hole > 0)
            assert_permitted(*state, 0, 64, hole, LDS_WRITE);
        if (hole < 15)
            assert_permitted(*state, 0, 64 + hole + 1, 15 - hole, LDS_WRITE);
        assert_false(lds_check(*state, 0, 64, 16, LDS_READ, why));
        assert_permitted(*state, 0, 64 + hole, 1, LDS_WRITE);
        assert_permitted(*state, 0, 64, 16, LDS_READ);
    }
}

static void what_was_written_survives_barriers_but_not_a_reset(void **state)
{
    assert_permitted(*state, 0, 0, 16, LDS_WRITE);
    lds_barrier(*state);
    lds_barrier(*state);
    assert_permitted(*state, 3, 0, 16, LDS_READ);
    lds_reset(*state, SIZE);
    assert_false(lds_check(*state, 0, 0, 16, LDS_READ, why));
}

static void a_wave_does_not_race_with_itself(void **state)
{
    for (int i = 0; i < 2; ++i) {
        assert_permitted(*state, 2, 0, 16, LDS_WRITE);
        assert_permitted(*state, 2, 4, 8, LDS_READ);
        assert_permitted(*state, 2, 0, 4, LDS_ATOMIC);
    }
}

static void reading_what_another_wave_wrote_is_a_race(void **state)
{
    assert_permitted(*state, 0, 32, 16, LDS_WRITE);
    assert_refused(*state, 2, 44, 4, LDS_READ,
                   "LDS race at 0x2c: wave 2 reads what wave 0 wrote since the last barrier");
    lds_barrier(*state);
    assert_permitted(*state, 2, 44, 4, LDS_READ);
}

static void writing_what_another_wave_read_is_a_race(void **state)
{
    assert_permitted(*state, 0, 32, 16, LDS_WRITE);
    lds_barrier(*state);
    assert_permitted(*state, 1, 32, 16, LDS_READ);
    assert_refused(*state, 0, 40, 4, LDS_WRITE,
                   "LDS race at 0x28: wave 0 writes what wave 1 read since the last barrier");
    assert_permitted(*state, 4, 32, 16, LDS_READ);
    assert_refused(
        *state, 1, 40, 4, LDS_WRITE,
        "LDS race at 0x28: wave 1 writes what several waves read since the last barrier");
    lds_barrier(*state);
    assert_permitted(*state, 0, 40, 4, LDS_WRITE);
}

static void writing_what_another_wave_wrote_is_a_race(void **state)
{
    assert_permitted(*state, 15, 32, 16, LDS_WRITE);
    assert_refused(*state, 0, 35, 1, LDS_WRITE,
                   "LDS race at 0x23: wave 0 writes what wave 15 wrote since the last barrier");
    lds_barrier(*state);
    assert_permitted(*state, 0, 35, 1, LDS_WRITE);
    /* The other bytes of the dword are still those of the old epoch. */
    assert_permitted(*state, 3, 32, 3, LDS_WRITE);
    assert_permitted(*state, 0, 35, 1, LDS_READ);
    assert_refused(*state, 3, 32, 4, LDS_READ,
                   "LDS race at 0x23: wave 3 reads what wave 0 wrote since the last barrier");
}

static void waves_may_share_a_dword_by_bytes(void **state)
{
    for (uint32_t wave = 0; wave < 4; ++wave)
        assert_permitted(*state, wave, 8 + wave, 1, LDS_WRITE);
    for (uint32_t wave = 0; wave < 4; ++wave)
        assert_permitted(*state, wave, 8 + wave, 1, LDS_READ);
    assert_false(lds_check(*state, 2, 8, 4, LDS_READ, why));
    lds_barrier(*state);
    for (uint32_t wave = 0; wave < 4; ++wave)
        assert_permitted(*state, wave, 8, 4, LDS_READ);
}

static void atomics_race_with_writes_only(void **state)
{
    assert_permitted(*state, 0, 0, 8, LDS_WRITE);
    assert_refused(
        *state, 1, 0, 4, LDS_ATOMIC,
        "LDS race at 0x0: wave 1 atomically updates what wave 0 wrote since the last barrier");
    lds_barrier(*state);
    assert_permitted(*state, 0, 0, 4, LDS_ATOMIC);
    assert_permitted(*state, 1, 0, 4, LDS_READ);
    assert_refused(
        *state, 1, 0, 4, LDS_WRITE,
        "LDS race at 0x0: wave 1 writes what wave 0 atomically updated since the last barrier");
    assert_permitted(*state, 1, 0, 4, LDS_ATOMIC);
    assert_permitted(*state, 2, 0, 4, LDS_ATOMIC);
    lds_barrier(*state);
    assert_permitted(*state, 1, 0, 4, LDS_WRITE);
}

static void bytes_in_flight_cannot_be_touched(void **state)
{
    assert_permitted(*state, 1, 64, 16, LDS_WRITE);
    lds_set_in_flight(*state, 1, 64, 16, true);
    const char *expected = "LDS byte 0x44 is still in flight: wave 1 has not waited for its "
                           "direct-to-LDS load (vmcnt)";
    assert_refused(*state, 1, 68, 4, LDS_READ, expected);
    assert_refused(*state, 1, 68, 4, LDS_WRITE, expected);
    assert_refused(*state, 0, 68, 4, LDS_ATOMIC, expected);
    /* A barrier alone doesn't make it arrive. */
    lds_barrier(*state);
    assert_refused(*state, 0, 68, 4, LDS_READ, expected);
    lds_set_in_flight(*state, 1, 64, 16, false);
    assert_permitted(*state, 1, 64, 16, LDS_READ);
}

static void arrival_counts_as_a_write(void **state)
{
    assert_permitted(*state, 1, 64, 16, LDS_WRITE);
    lds_set_in_flight(*state, 1, 64, 16, true);
    lds_barrier(*state);
    lds_set_in_flight(*state, 1, 64, 16, false);
    assert_refused(*state, 0, 64, 16, LDS_READ,
                   "LDS race at 0x40: wave 0 reads what wave 1 wrote since the last barrier");
    lds_barrier(*state);
    assert_permitted(*state, 0, 64, 16, LDS_READ);
}

static void only_the_bytes_that_a_load_writes_are_in_flight(void **state)
{
    assert_permitted(*state, 0, 0, 32, LDS_WRITE);
    lds_barrier(*state);
    /* Lanes 0 and 2 of four bytes each: the dwords between are nobody's in this epoch. */
    assert_permitted(*state, 1, 8, 4, LDS_WRITE);
    assert_permitted(*state, 1, 16, 4, LDS_WRITE);
    lds_set_in_flight(*state, 1, 8, 12, true);
    assert_permitted(*state, 0, 12, 4, LDS_READ);
    assert_false(lds_check(*state, 0, 8, 4, LDS_READ, why));
    assert_false(lds_check(*state, 0, 16, 4, LDS_READ, why));
}

static void each_wave_ends_only_its_own_loads(void **state)
{
    assert_permitted(*state, 1, 0, 4, LDS_WRITE);
    lds_set_in_flight(*state, 1, 0, 4, true);
    assert_permitted(*state, 2, 4, 4, LDS_WRITE);
    lds_set_in_flight(*state, 2, 4, 4, true);
    lds_set_in_flight(*state, 1, 0, 8, false);
    assert_permitted(*state, 1, 0, 4, LDS_READ);
    assert_refused(*state, 2, 4, 4, LDS_READ,
                   "LDS byte 0x4 is still in flight: wave 2 has not waited for its direct-to-LDS "
                   "load (vmcnt)");
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, create, destroy)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(bounds_are_those_of_the_workgroup),
        cmocka_unit_test(an_lds_of_no_bytes_has_none),
        TEST(what_nobody_wrote_cannot_be_read),
        TEST(every_single_unwritten_byte_is_noticed),
        TEST(what_was_written_survives_barriers_but_not_a_reset),
        TEST(a_wave_does_not_race_with_itself),
        TEST(reading_what_another_wave_wrote_is_a_race),
        TEST(writing_what_another_wave_read_is_a_race),
        TEST(writing_what_another_wave_wrote_is_a_race),
        TEST(waves_may_share_a_dword_by_bytes),
        TEST(atomics_race_with_writes_only),
        TEST(bytes_in_flight_cannot_be_touched),
        TEST(arrival_counts_as_a_write),
        TEST(only_the_bytes_that_a_load_writes_are_in_flight),
        TEST(each_wave_ends_only_its_own_loads),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
