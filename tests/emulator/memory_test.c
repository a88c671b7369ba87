/* Device memory: allocations checked to the byte. */
#include "emulator/memory.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

enum { CAPACITY = 1 << 20 };

static int create(void **state)
{
    *state = device_memory_create(CAPACITY);
    return *state ? 0 : -1;
}

static int destroy(void **state)
{
    device_memory_destroy(*state);
    return 0;
}

static uint64_t address_of(const void *pointer)
{
    return (uint64_t)(uintptr_t)pointer;
}

static bool check(const struct device_memory *memory, uint64_t address, size_t size, bool write)
{
    char why[MEMORY_WHY_SIZE];
    struct memory_hint hint = {0};
    return device_memory_check(memory, &hint, address, size, write, why);
}

/* The text of a refusal, with the allocation's address as 0xA. */
static void assert_refused(const struct device_memory *memory, uint64_t address, size_t size,
                           bool write, const void *allocation, const char *expected_format)
{
    char why[MEMORY_WHY_SIZE] = "", expected[2 * MEMORY_WHY_SIZE];
    struct memory_hint hint = {0};
    assert_false(device_memory_check(memory, &hint, address, size, write, why));
    snprintf(expected, sizeof expected, expected_format, (unsigned long long)address,
             (unsigned long long)address_of(allocation));
    assert_string_equal(why, expected);
}

static void an_allocation_is_aligned_and_poisoned(void **state)
{
    uint8_t *bytes = device_memory_allocate(*state, 1000);
    assert_non_null(bytes);
    assert_int_equal(address_of(bytes) % 256, 0);
    for (size_t i = 0; i < 1000; ++i)
        assert_int_equal(bytes[i], 0xcb);
}

static void access_is_permitted_to_the_byte(void **state)
{
    uint8_t *bytes = device_memory_allocate(*state, 1001);
    uint64_t start = address_of(bytes);
    assert_true(check(*state, start, 1001, true));
    assert_true(check(*state, start + 1000, 1, true));
    assert_true(check(*state, start + 985, 16, false));
    assert_false(check(*state, start + 986, 16, false));
    assert_false(check(*state, start + 1001, 1, false));
    assert_false(check(*state, start - 1, 1, false));
    assert_false(check(*state, start - 1, 2, false));
}

static void a_refusal_says_what_is_near(void **state)
{
    uint8_t *bytes = device_memory_allocate(*state, 1024);
    uint64_t start = address_of(bytes);
    assert_refused(*state, start + 1012, 16, false, bytes,
                   "16 bytes at 0x%llx end 4 bytes past a 1024-byte allocation at 0x%llx");
    assert_refused(*state, start + 1032, 4, true, bytes,
                   "4 bytes at 0x%llx begin 8 bytes past the end of a 1024-byte allocation at "
                   "0x%llx");
    assert_refused(*state, start - 12, 4, false, bytes,
                   "4 bytes at 0x%llx begin 12 bytes before a 1024-byte allocation at 0x%llx");
    assert_refused(*state, 0, 8, false, NULL,
                   "8 bytes at 0x%llx are in no allocation (a null pointer)");
    assert_refused(*state, UINT64_MAX, 8, false, NULL, "8 bytes at 0x%llx are in no allocation");
}

static void an_access_that_wraps_around_is_refused(void **state)
{
    uint8_t *bytes = device_memory_allocate(*state, 64);
    assert_false(check(*state, address_of(bytes), SIZE_MAX, false));
    assert_false(check(*state, UINT64_MAX - 3, 16, false));
}

static void freed_memory_is_named_as_such(void **state)
{
    uint8_t *bytes = device_memory_allocate(*state, 512);
    assert_true(device_memory_free(*state, bytes));
    assert_refused(*state, address_of(bytes) + 16, 4, false, bytes,
                   "4 bytes at 0x%llx are inside the freed 512-byte allocation at 0x%llx");
    assert_false(device_memory_free(*state, bytes));
}

static void a_hint_does_not_outlive_the_allocation(void **state)
{
    char why[MEMORY_WHY_SIZE];
    struct memory_hint hint = {0};
    uint8_t *bytes = device_memory_allocate(*state, 512);
    assert_true(device_memory_check(*state, &hint, address_of(bytes), 4, false, why));
    assert_true(device_memory_check(*state, &hint, address_of(bytes) + 508, 4, true, why));
    assert_false(device_memory_check(*state, &hint, address_of(bytes) + 509, 4, true, why));
    assert_true(device_memory_free(*state, bytes));
    assert_false(device_memory_check(*state, &hint, address_of(bytes), 4, false, why));
}

static void addresses_are_not_handed_out_again_soon(void **state)
{
    uint8_t *first = device_memory_allocate(*state, 4096);
    assert_true(device_memory_free(*state, first));
    for (int i = 0; i < 1000; ++i) {
        uint8_t *other = device_memory_allocate(*state, 4096);
        assert_ptr_not_equal(other, first);
        assert_true(device_memory_free(*state, other));
    }
    /* And in the end they are: allocating and freeing can go on for ever. */
    for (int i = 0; i < 5000; ++i)
        assert_true(device_memory_free(*state, device_memory_allocate(*state, 4096)));
}

static void only_the_start_of_an_allocation_can_be_freed(void **state)
{
    uint8_t *bytes = device_memory_allocate(*state, 512);
    assert_false(device_memory_free(*state, bytes + 1));
    assert_false(device_memory_free(*state, NULL));
    assert_false(device_memory_unregister(*state, bytes));
    assert_true(device_memory_free(*state, bytes));
}

static void the_capacity_is_a_limit(void **state)
{
    size_t used, capacity;
    assert_null(device_memory_allocate(*state, CAPACITY + 1));
    assert_null(device_memory_allocate(*state, SIZE_MAX));
    assert_null(device_memory_allocate(*state, 0));
    void *most = device_memory_allocate(*state, CAPACITY - 100);
    assert_non_null(most);
    device_memory_usage(*state, &used, &capacity);
    assert_int_equal(used, CAPACITY - 100);
    assert_int_equal(capacity, CAPACITY);
    assert_null(device_memory_allocate(*state, 101));
    assert_non_null(device_memory_allocate(*state, 100));
    assert_true(device_memory_free(*state, most));
    assert_non_null(device_memory_allocate(*state, 101));
}

static void host_memory_can_be_registered(void **state)
{
    static uint8_t host[64];
    assert_false(check(*state, address_of(host), 4, false));
    assert_true(device_memory_register(*state, host + 8, 16, true));
    assert_true(check(*state, address_of(host) + 8, 16, true));
    assert_false(check(*state, address_of(host) + 7, 1, false));
    assert_false(check(*state, address_of(host) + 24, 1, false));
    /* Not twice, nor what overlaps. */
    assert_false(device_memory_register(*state, host + 8, 16, true));
    assert_false(device_memory_register(*state, host, 9, true));
    assert_false(device_memory_register(*state, host + 23, 9, true));
    assert_true(device_memory_register(*state, host, 8, true));
    assert_true(device_memory_register(*state, host + 24, 8, true));
    assert_false(device_memory_register(*state, host, 0, true));
    assert_false(device_memory_register(*state, NULL, 16, true));
    assert_false(device_memory_register(*state, host + 40, SIZE_MAX, true));
    /* It isn't an allocation. */
    assert_false(device_memory_free(*state, host + 8));
    assert_true(device_memory_unregister(*state, host + 8));
    assert_false(device_memory_unregister(*state, host + 8));
    assert_false(check(*state, address_of(host) + 8, 16, false));
}

static void read_only_memory_can_only_be_read(void **state)
{
    static uint8_t host[64];
    char why[MEMORY_WHY_SIZE];
    struct memory_hint hint = {0};
    assert_true(device_memory_register(*state, host, sizeof host, false));
    assert_true(device_memory_check(*state, &hint, address_of(host), 64, false, why));
    assert_false(device_memory_check(*state, &hint, address_of(host), 4, true, why));
    assert_refused(*state, address_of(host) + 4, 4, true, host,
                   "4 bytes at 0x%llx are written inside a 64-byte read-only range at 0x%llx");
}

enum { RACERS = 3, ROUNDS = 2000 };

struct race {
    struct device_memory *memory;
    uint8_t *kept;
    atomic_bool over;
    atomic_int failures;
};

static void *allocate_and_free(void *argument)
{
    struct race *race = argument;
    for (int i = 0; i < ROUNDS; ++i) {
        void *some = device_memory_allocate(race->memory, 64 + i % 512);
        if (!some || !device_memory_free(race->memory, some))
            atomic_fetch_add(&race->failures, 1);
    }
    atomic_store(&race->over, true);
    return NULL;
}

static void *check_repeatedly(void *argument)
{
    struct race *race = argument;
    struct memory_hint hint = {0};
    char why[MEMORY_WHY_SIZE];
    uint64_t start = address_of(race->kept);
    while (!atomic_load(&race->over)) {
        if (!device_memory_check(race->memory, &hint, start + 96, 4, true, why) ||
            device_memory_check(race->memory, &hint, start + 97, 4, true, why))
            atomic_fetch_add(&race->failures, 1);
    }
    return NULL;
}

static void checks_are_right_while_others_allocate(void **state)
{
    struct race race = {.memory = *state, .kept = device_memory_allocate(*state, 100)};
    pthread_t checkers[RACERS], changer;
    assert_int_equal(pthread_create(&changer, NULL, allocate_and_free, &race), 0);
    for (int i = 0; i < RACERS; ++i)
        assert_int_equal(pthread_create(&checkers[i], NULL, check_repeatedly, &race), 0);
    pthread_join(changer, NULL);
    for (int i = 0; i < RACERS; ++i)
        pthread_join(checkers[i], NULL);
    assert_int_equal(atomic_load(&race.failures), 0);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, create, destroy)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(an_allocation_is_aligned_and_poisoned),
        TEST(access_is_permitted_to_the_byte),
        TEST(a_refusal_says_what_is_near),
        TEST(an_access_that_wraps_around_is_refused),
        TEST(freed_memory_is_named_as_such),
        TEST(a_hint_does_not_outlive_the_allocation),
        TEST(addresses_are_not_handed_out_again_soon),
        TEST(only_the_start_of_an_allocation_can_be_freed),
        TEST(the_capacity_is_a_limit),
        TEST(host_memory_can_be_registered),
        TEST(read_only_memory_can_only_be_read),
        TEST(checks_are_right_while_others_allocate),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
