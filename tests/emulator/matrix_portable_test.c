/* Matrix products have the same bits on every processor: the code compiled for the processor at
   hand against the same compiled for any (with the names below). */
#include "emulator/matrix_arithmetic.h"
#include "formats.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

void portable_load_terms(struct matrix_terms *terms, enum number_format_id format, unsigned size,
                         unsigned depth, const uint32_t *codes, const uint32_t *scales);
void portable_multiply_terms(const struct matrix_terms *a, const struct matrix_terms *b,
                             enum matrix_summation summation, uint32_t *accumulators);

static void fill(uint32_t *codes, unsigned count, uint32_t mask)
{
    for (unsigned i = 0; i < count; ++i)
        codes[i] = (uint32_t)(random_bits() >> 9) & mask;
}

static void compare(enum number_format_id format, unsigned size, unsigned depth,
                    enum matrix_summation summation, bool scaled)
{
    static uint32_t a_codes[MATRIX_ELEMENTS_MAX], b_codes[MATRIX_ELEMENTS_MAX];
    static uint32_t here[MATRIX_SIZE_MAX * MATRIX_SIZE_MAX], anywhere[sizeof here / sizeof *here];
    static struct matrix_terms a, b, portable_a, portable_b;
    uint32_t scales[MATRIX_SIZE_MAX * 4];
    unsigned elements = depth * matrix_stride(size);
    uint32_t mask = UINT32_MAX >> (32 - number_formats[format].bits);
    fill(a_codes, elements, mask);
    fill(b_codes, elements, mask);
    fill(scales, MATRIX_SIZE_MAX * 4, 0xff);
    fill(here, size * matrix_stride(size), UINT32_MAX);
    memcpy(anywhere, here, sizeof here);

    matrix_load_terms(&a, format, size, depth, a_codes, scaled ? scales : NULL);
    matrix_load_terms(&b, format, size, depth, b_codes, NULL);
    matrix_multiply_terms(&a, &b, summation, here);
    portable_load_terms(&portable_a, format, size, depth, a_codes, scaled ? scales : NULL);
    portable_load_terms(&portable_b, format, size, depth, b_codes, NULL);
    portable_multiply_terms(&portable_a, &portable_b, summation, anywhere);
    for (unsigned row = 0; row < size; ++row)
        assert_memory_equal(&here[row * matrix_stride(size)], &anywhere[row * matrix_stride(size)],
                            size * sizeof *here);
}

static void every_processor_gives_the_same_bits(void **state)
{
    (void)state;
    for (int round = 0; round < 20; ++round) {
        compare(NUMBER_BF16, 16, 32, SUM_FUSED, false);
        compare(NUMBER_BF16, 32, 4, SUM_FUSED, false);
        compare(NUMBER_F16, 32, 16, SUM_FUSED, false);
        compare(NUMBER_F16, 4, 4, SUM_FUSED, false);
        compare(NUMBER_E4M3, 16, 128, SUM_FUSED_SPLIT, true);
        compare(NUMBER_E5M2, 32, 16, SUM_FUSED_SPLIT, false);
        compare(NUMBER_E2M3, 32, 64, SUM_FUSED_SPLIT, true);
        compare(NUMBER_E2M1, 16, 128, SUM_FUSED_SPLIT, true);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(every_processor_gives_the_same_bits)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
