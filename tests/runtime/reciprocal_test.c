/* Division by multiplication, against the machine's own division. */
#include "runtime/reciprocal.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

static void assert_divides(uint32_t n, uint32_t d)
{
    const struct reciprocal reciprocal = reciprocal_of(d);
    const uint64_t quotient = (uint64_t)n * reciprocal.multiplier >> reciprocal.shift;
    if (quotient != n / d)
        fail_msg("%u / %u gives %llu, not %u", n, d, (unsigned long long)quotient, n / d);
}

/* Where a quotient changes, at both ends and in the middle of the numbers. */
static void assert_divides_everywhere(uint32_t d)
{
    const uint32_t largest = INT32_MAX, quotients[] = {0, 1, 2, largest / d / 2, largest / d};
    for (size_t i = 0; i < sizeof quotients / sizeof *quotients; i++) {
        const uint32_t multiple = quotients[i] * d;
        for (uint32_t n = multiple ? multiple - 1 : 0; n <= multiple + 1 && n <= largest; n++)
            assert_divides(n, d);
        if (d - 1 <= largest - multiple)
            assert_divides(multiple + d - 1, d);
    }
    assert_divides(largest, d);
}

static void divides_by_every_small_number(void **state)
{
    (void)state;
    for (uint32_t d = 1; d <= 100000; d++)
        assert_divides_everywhere(d);
}

static void divides_by_large_numbers(void **state)
{
    (void)state;
    for (int bit = 16; bit < 31; bit++)
        for (uint32_t d = ((uint32_t)1 << bit) - 3; d <= ((uint32_t)1 << bit) + 3; d++)
            assert_divides_everywhere(d);
    for (uint32_t d = INT32_MAX; d > INT32_MAX - 1000u; d--)
        assert_divides_everywhere(d);
}

static void divides_every_number_in_a_range(void **state)
{
    (void)state;
    static const uint32_t divisors[] = {1, 3, 7, 64, 100, 641, 65537, 1000003};
    for (size_t i = 0; i < sizeof divisors / sizeof *divisors; i++)
        for (uint32_t n = 0; n < 300000; n++) {
            assert_divides(n, divisors[i]);
            assert_divides(INT32_MAX - n, divisors[i]);
        }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(divides_by_every_small_number),
        cmocka_unit_test(divides_by_large_numbers),
        cmocka_unit_test(divides_every_number_in_a_range),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
