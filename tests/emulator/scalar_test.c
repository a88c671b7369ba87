/* The scalar ALU. Expected values are worked out by hand from the instruction set manual. */
#include "harness.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <string.h>

/* One instruction with its sources in s[4:5] and s[6:7] and its result in s[8:9]. */
struct scalar_case {
    const char *text;
    uint64_t a, b;
    int scc; /* before */
    uint64_t result;
    int scc_after;
};

static const uint64_t UNTOUCHED = UINT64_C(0x1111111122222222); /* s[8:9] before */

static void set_pair(struct wave *wave, unsigned index, uint64_t value)
{
    wave->scalar[index] = (uint32_t)value;
    wave->scalar[index + 1] = (uint32_t)(value >> 32);
}

static uint64_t get_pair(const struct wave *wave, unsigned index)
{
    return (uint64_t)wave->scalar[index + 1] << 32 | wave->scalar[index];
}

static void check_cases(const struct scalar_case *cases, size_t count)
{
    for (size_t c = 0; c < count; ++c) {
        const struct scalar_case *it = &cases[c];
        struct harness h;
        harness_create(&h, it->text);
        harness_start(&h);
        struct wave *wave = harness_wave(&h);
        set_pair(wave, 4, it->a);
        set_pair(wave, 6, it->b);
        set_pair(wave, 8, UNTOUCHED);
        wave->scc = it->scc;
        if (!harness_finish(&h))
            fail_msg("%s", h.error.message);
        uint64_t result = get_pair(wave, 8);
        if (result != it->result || wave->scc != (it->scc_after != 0))
            fail_msg("case %zu, %s: 0x%llx and SCC %d instead of 0x%llx and %d", c, it->text,
                     (unsigned long long)result, wave->scc, (unsigned long long)it->result,
                     it->scc_after);
        harness_destroy(&h);
    }
}

#define CHECK(...)                                                                                 \
    do {                                                                                           \
        static const struct scalar_case cases[] = {__VA_ARGS__};                                   \
        (void)state;                                                                               \
        check_cases(cases, sizeof cases / sizeof cases[0]);                                        \
    } while (0)

/* A 32-bit result leaves s9 alone. */
#define LOW(value) (UINT64_C(0x1111111100000000) | (uint32_t)(value))
#define ALL_ONES   UINT64_C(0xffffffffffffffff)

static void addition_and_subtraction_carry(void **state)
{
    CHECK({"s_add_u32 s8, s4, s6", 0xffffffff, 1, 0, LOW(0), 1},
          {"s_add_u32 s8, s4, s6", 0x7fffffff, 1, 1, LOW(0x80000000), 0},
          {"s_add_i32 s8, s4, s6", 0x7fffffff, 1, 0, LOW(0x80000000), 1},
          {"s_add_i32 s8, s4, s6", 0xffffffff, 1, 1, LOW(0), 0},
          {"s_add_i32 s8, s4, s6", 0x80000000, 0x80000000, 0, LOW(0), 1},
          {"s_sub_u32 s8, s4, s6", 1, 2, 0, LOW(0xffffffff), 1},
          {"s_sub_u32 s8, s4, s6", 2, 2, 1, LOW(0), 0},
          {"s_sub_i32 s8, s4, s6", 0x80000000, 1, 0, LOW(0x7fffffff), 1},
          {"s_sub_i32 s8, s4, s6", 1, 2, 1, LOW(0xffffffff), 0},
          {"s_addc_u32 s8, s4, s6", 0xffffffff, 0xffffffff, 1, LOW(0xffffffff), 1},
          {"s_addc_u32 s8, s4, s6", 1, 2, 1, LOW(4), 0},
          {"s_addc_u32 s8, s4, s6", 1, 2, 0, LOW(3), 0},
          {"s_subb_u32 s8, s4, s6", 5, 5, 1, LOW(0xffffffff), 1},
          {"s_subb_u32 s8, s4, s6", 5, 0xffffffff, 1, LOW(5), 1},
          {"s_subb_u32 s8, s4, s6", 5, 2, 0, LOW(3), 0},
          {"s_addk_i32 s8, 0xffff", 0, 0, 1, LOW(0x22222221), 0},
          {"s_lshl3_add_u32 s8, s4, s6", 0x20000000, 7, 0, LOW(7), 1},
          {"s_lshl1_add_u32 s8, s4, s6", 0x7fffffff, 2, 0, LOW(0), 1},
          {"s_lshl4_add_u32 s8, s4, s6", 3, 2, 1, LOW(50), 0});
}

static void minima_and_maxima_tell_who_won(void **state)
{
    CHECK({"s_min_i32 s8, s4, s6", 0xffffffff, 1, 0, LOW(0xffffffff), 1},
          {"s_min_i32 s8, s4, s6", 3, 3, 1, LOW(3), 0},
          {"s_min_u32 s8, s4, s6", 0xffffffff, 1, 1, LOW(1), 0},
          {"s_max_i32 s8, s4, s6", 0xffffffff, 1, 1, LOW(1), 0},
          {"s_max_i32 s8, s4, s6", 3, 3, 0, LOW(3), 1},
          {"s_max_u32 s8, s4, s6", 0xffffffff, 1, 0, LOW(0xffffffff), 1});
}

static void products_leave_scc(void **state)
{
    CHECK({"s_mul_i32 s8, s4, s6", 0xffffffff, 5, 1, LOW(0xfffffffb), 1},
          {"s_mul_hi_u32 s8, s4, s6", 0xffffffff, 0xffffffff, 1, LOW(0xfffffffe), 1},
          {"s_mul_hi_i32 s8, s4, s6", 0xffffffff, 5, 0, LOW(0xffffffff), 0},
          {"s_mul_hi_i32 s8, s4, s6", 0x80000000, 0x80000000, 0, LOW(0x40000000), 0},
          {"s_mulk_i32 s8, 0xfffe", 0, 0, 1, LOW(0xbbbbbbbc), 1});
}

static void logic_tells_nonzero(void **state)
{
    CHECK({"s_and_b32 s8, s4, s6", 12, 10, 0, LOW(8), 1},
          {"s_and_b32 s8, s4, s6", 12, 3, 1, LOW(0), 0},
          {"s_and_b64 s[8:9], s[4:5], s[6:7]", 1ull << 40, 3ull << 40, 0, 1ull << 40, 1},
          {"s_or_b64 s[8:9], s[4:5], s[6:7]", 0, 0, 1, 0, 0},
          {"s_xor_b32 s8, s4, s6", 5, 5, 1, LOW(0), 0},
          {"s_andn2_b64 s[8:9], s[4:5], s[6:7]", ALL_ONES, 1, 0, ALL_ONES - 1, 1},
          {"s_orn2_b32 s8, s4, s6", 1, 0xfffffff0, 0, LOW(15), 1},
          {"s_nand_b32 s8, s4, s6", 0xffffffff, 0xffffffff, 1, LOW(0), 0},
          {"s_nor_b64 s[8:9], s[4:5], s[6:7]", 0, 1, 0, ALL_ONES - 1, 1},
          {"s_xnor_b32 s8, s4, s6", 3, 5, 0, LOW(0xfffffff9), 1},
          {"s_not_b32 s8, s4", 0xffffffff, 0, 1, LOW(0), 0},
          {"s_not_b64 s[8:9], s[4:5]", 0xffffffff, 0, 0, 0xffffffff00000000, 1});
}

static void selections_follow_scc(void **state)
{
    CHECK({"s_cselect_b32 s8, s4, s6", 1, 2, 1, LOW(1), 1},
          {"s_cselect_b64 s[8:9], s[4:5], s[6:7]", 1ull << 35, 2, 0, 2, 0},
          {"s_cselect_b64 s[8:9], -1, 0", 0, 0, 1, ALL_ONES, 1},
          {"s_cmov_b32 s8, s4", 7, 0, 0, UNTOUCHED, 0}, {"s_cmov_b32 s8, s4", 7, 0, 1, LOW(7), 1},
          {"s_cmovk_i32 s8, 0x8000", 0, 0, 1, LOW(0xffff8000), 1},
          {"s_cmovk_i32 s8, 0x8000", 0, 0, 0, UNTOUCHED, 0},
          {"s_movk_i32 s8, 0x8000", 0, 0, 0, LOW(0xffff8000), 0},
          {"s_mov_b64 s[8:9], s[4:5]", 1ull << 63 | 1, 0, 1, 1ull << 63 | 1, 1});
}

static void shifts_take_the_low_bits_of_the_amount(void **state)
{
    CHECK({"s_lshl_b32 s8, s4, s6", 3, 33, 0, LOW(6), 1},
          {"s_lshl_b32 s8, s4, s6", 0x80000000, 1, 1, LOW(0), 0},
          {"s_lshr_b32 s8, s4, s6", 0x80000000, 31, 0, LOW(1), 1},
          {"s_ashr_i32 s8, s4, s6", 0x80000000, 31, 0, LOW(0xffffffff), 1},
          {"s_ashr_i32 s8, s4, s6", 0x80000000, 32, 0, LOW(0x80000000), 1},
          {"s_lshl_b64 s[8:9], s[4:5], s6", 1, 63, 0, 1ull << 63, 1},
          {"s_lshr_b64 s[8:9], s[4:5], s6", 1ull << 63, 64 + 63, 0, 1, 1},
          {"s_ashr_i64 s[8:9], s[4:5], s6", 1ull << 63, 62, 0, ALL_ONES - 1, 1},
          {"s_bfm_b32 s8, s4, s6", 4, 8, 1, LOW(0xf00), 1},
          {"s_bfm_b64 s[8:9], s4, s6", 4, 40, 0, 0xfull << 40, 0});
}

static void bit_fields(void **state)
{
    CHECK({"s_bfe_u32 s8, s4, s6", 0xabcd1234, 8 | 12 << 16, 0, LOW(0xd12), 1},
          {"s_bfe_u32 s8, s4, s6", 0xffffffff, 28 | 12 << 16, 0, LOW(0xf), 1},
          {"s_bfe_u32 s8, s4, s6", 0xffffffff, 4 | 0 << 16, 1, LOW(0), 0},
          {"s_bfe_i32 s8, s4, s6", 0x00000f00, 8 | 4 << 16, 0, LOW(0xffffffff), 1},
          {"s_bfe_i32 s8, s4, s6", 0x00000700, 8 | 4 << 16, 0, LOW(7), 1},
          {"s_bfe_i32 s8, s4, s6", 0x80000000, 28 | 8 << 16, 0, LOW(0xfffffff8), 1},
          {"s_bfe_i32 s8, s4, s6", 0xffffffff, 0 | 32 << 16, 0, LOW(0xffffffff), 1},
          {"s_bfe_u64 s[8:9], s[4:5], s6", 0xabcull << 40, 44 | 8 << 16, 0, 0xab, 1},
          {"s_bfe_i64 s[8:9], s[4:5], s6", 0x8ull << 40, 40 | 4 << 16, 0, ALL_ONES - 7, 1},
          {"s_bfe_i64 s[8:9], s[4:5], s6", 1ull << 63, 0 | 64 << 16, 0, 1ull << 63, 1},
          {"s_pack_ll_b32_b16 s8, s4, s6", 0x11112222, 0x33334444, 1, LOW(0x44442222), 1},
          {"s_pack_lh_b32_b16 s8, s4, s6", 0x11112222, 0x33334444, 0, LOW(0x33332222), 0},
          {"s_pack_hh_b32_b16 s8, s4, s6", 0x11112222, 0x33334444, 0, LOW(0x33331111), 0},
          {"s_bitset0_b32 s8, s4", 33, 0, 1, LOW(0x22222220), 1},
          {"s_bitset1_b32 s8, s4", 31, 0, 0, LOW(0xa2222222), 0},
          {"s_bitset1_b64 s[8:9], s4", 63, 0, 0, 0x9111111122222222, 0},
          {"s_bitset0_b64 s[8:9], s4", 32, 0, 1, 0x1111111022222222, 1},
          {"s_bitreplicate_b64_b32 s[8:9], s4", 0x80000005, 0, 1, 0xc000000000000033, 1});
}

static void absolute_values_and_sign_extension(void **state)
{
    CHECK({"s_abs_i32 s8, s4", 0xfffffffb, 0, 0, LOW(5), 1},
          {"s_abs_i32 s8, s4", 0x80000000, 0, 0, LOW(0x80000000), 1},
          {"s_abs_i32 s8, s4", 0, 0, 1, LOW(0), 0},
          {"s_absdiff_i32 s8, s4, s6", 3, 5, 0, LOW(2), 1},
          {"s_absdiff_i32 s8, s4, s6", 5, 5, 1, LOW(0), 0},
          {"s_sext_i32_i8 s8, s4", 0x1280, 0, 1, LOW(0xffffff80), 1},
          {"s_sext_i32_i16 s8, s4", 0x12345678, 0, 0, LOW(0x5678), 0});
}

static void counting_and_finding_bits(void **state)
{
    CHECK({"s_bcnt0_i32_b32 s8, s4", 0xffffffff, 0, 1, LOW(0), 0},
          {"s_bcnt0_i32_b64 s8, s[4:5]", 1, 0, 0, LOW(63), 1},
          {"s_bcnt1_i32_b32 s8, s4", 0xf0f0, 0, 0, LOW(8), 1},
          {"s_bcnt1_i32_b64 s8, s[4:5]", 0, 0, 1, LOW(0), 0},
          /* the finding ones leave SCC and give -1 when there is nothing to find */
          {"s_ff1_i32_b32 s8, s4", 0x50, 0, 1, LOW(4), 1},
          {"s_ff1_i32_b32 s8, s4", 0, 0, 1, LOW(0xffffffff), 1},
          {"s_ff1_i32_b64 s8, s[4:5]", 1ull << 50, 0, 0, LOW(50), 0},
          {"s_ff0_i32_b32 s8, s4", 0x0f, 0, 0, LOW(4), 0},
          {"s_ff0_i32_b32 s8, s4", 0xffffffff, 0, 0, LOW(0xffffffff), 0},
          {"s_ff0_i32_b64 s8, s[4:5]", 0xffffffff, 0, 0, LOW(32), 0},
          {"s_ff0_i32_b64 s8, s[4:5]", ALL_ONES, 0, 1, LOW(0xffffffff), 1},
          {"s_flbit_i32_b32 s8, s4", 0x00800000, 0, 1, LOW(8), 1},
          {"s_flbit_i32_b32 s8, s4", 0, 0, 1, LOW(0xffffffff), 1},
          {"s_flbit_i32_b64 s8, s[4:5]", 1, 0, 0, LOW(63), 0},
          {"s_flbit_i32 s8, s4", 0xfff00000, 0, 0, LOW(12), 0},
          {"s_flbit_i32 s8, s4", 0x000fffff, 0, 0, LOW(12), 0},
          {"s_flbit_i32 s8, s4", 0xffffffff, 0, 0, LOW(0xffffffff), 0},
          {"s_flbit_i32_i64 s8, s[4:5]", 0xffffffff, 0, 0, LOW(32), 0},
          {"s_brev_b32 s8, s4", 0x00000003, 0, 1, LOW(0xc0000000), 1},
          {"s_brev_b64 s[8:9], s[4:5]", 1, 0, 0, 1ull << 63, 0},
          {"s_wqm_b32 s8, s4", 0x00000810, 0, 0, LOW(0xff0), 1},
          {"s_wqm_b64 s[8:9], s[4:5]", 0, 0, 1, 0, 0},
          {"s_quadmask_b32 s8, s4", 0x80000810, 0, 0, LOW(0x86), 1},
          {"s_quadmask_b64 s[8:9], s[4:5]", 1ull << 63, 0, 0, 0x8000, 1});
}

static void comparisons(void **state)
{
    CHECK({"s_cmp_eq_i32 s4, s6", 5, 5, 0, UNTOUCHED, 1},
          {"s_cmp_lg_i32 s4, s6", 5, 5, 1, UNTOUCHED, 0},
          {"s_cmp_gt_i32 s4, s6", 0xffffffff, 1, 1, UNTOUCHED, 0},
          {"s_cmp_ge_i32 s4, s6", 1, 1, 0, UNTOUCHED, 1},
          {"s_cmp_lt_i32 s4, s6", 0xffffffff, 1, 0, UNTOUCHED, 1},
          {"s_cmp_le_i32 s4, s6", 2, 1, 1, UNTOUCHED, 0},
          {"s_cmp_gt_u32 s4, s6", 0xffffffff, 1, 0, UNTOUCHED, 1},
          {"s_cmp_lt_u32 s4, s6", 0xffffffff, 1, 1, UNTOUCHED, 0},
          {"s_cmp_ge_u32 s4, s6", 0, 1, 1, UNTOUCHED, 0},
          {"s_cmp_le_u32 s4, s6", 1, 1, 0, UNTOUCHED, 1},
          {"s_cmp_eq_u64 s[4:5], s[6:7]", 1ull << 32, 1ull << 32, 0, UNTOUCHED, 1},
          {"s_cmp_lg_u64 s[4:5], s[6:7]", 1ull << 32, 0, 0, UNTOUCHED, 1},
          {"s_cmpk_lt_i32 s4, 0xffff", 0xfffffffe, 0, 0, UNTOUCHED, 1},
          {"s_cmpk_lt_u32 s4, 0xffff", 0xfffffffe, 0, 1, UNTOUCHED, 0},
          {"s_cmpk_eq_u32 s4, 0xffff", 0xffff, 0, 0, UNTOUCHED, 1},
          {"s_cmpk_eq_i32 s4, 0xffff", 0xffff, 0, 1, UNTOUCHED, 0},
          {"s_bitcmp0_b32 s4, s6", 0xfffffffd, 33, 0, UNTOUCHED, 1},
          {"s_bitcmp1_b32 s4, s6", 2, 1, 0, UNTOUCHED, 1},
          {"s_bitcmp1_b64 s[4:5], s6", 1ull << 40, 40, 0, UNTOUCHED, 1},
          {"s_bitcmp0_b64 s[4:5], s6", 1ull << 40, 40, 1, UNTOUCHED, 0});
}

/* EXEC is all ones before; the result is EXEC before, SCC whether EXEC is nonzero after. */
static void exec_is_saved_and_changed(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        uint64_t source, exec, exec_after, result;
    } cases[] = {
        {"s_and_saveexec_b64 s[8:9], s[4:5]", 12, 10, 8, 10},
        {"s_and_saveexec_b64 s[8:9], s[4:5]", 1, 2, 0, 2},
        {"s_or_saveexec_b64 s[8:9], s[4:5]", 12, 10, 14, 10},
        {"s_xor_saveexec_b64 s[8:9], s[4:5]", 12, 10, 6, 10},
        {"s_andn1_saveexec_b64 s[8:9], s[4:5]", 12, 10, 2, 10},
        {"s_andn2_saveexec_b64 s[8:9], s[4:5]", 12, 10, 4, 10},
        {"s_orn1_saveexec_b64 s[8:9], s[4:5]", 12, 10, ~UINT64_C(4), 10},
        {"s_orn2_saveexec_b64 s[8:9], s[4:5]", 12, 10, ~UINT64_C(2), 10},
        {"s_nand_saveexec_b64 s[8:9], s[4:5]", 12, 10, ~UINT64_C(8), 10},
        {"s_nor_saveexec_b64 s[8:9], s[4:5]", 12, 10, ~UINT64_C(14), 10},
        {"s_xnor_saveexec_b64 s[8:9], s[4:5]", 12, 10, ~UINT64_C(6), 10},
        {"s_andn1_wrexec_b64 s[8:9], s[4:5]", 12, 10, 2, 2},
        {"s_andn2_wrexec_b64 s[8:9], s[4:5]", 12, 10, 4, 4},
    };
    for (size_t c = 0; c < sizeof cases / sizeof cases[0]; ++c) {
        struct harness h;
        harness_create(&h, cases[c].text);
        harness_start(&h);
        set_pair(harness_wave(&h), 4, cases[c].source);
        set_pair(harness_wave(&h), SCALAR_EXEC, cases[c].exec);
        assert_true(harness_finish(&h));
        assert_int_equal(wave_exec(harness_wave(&h)), cases[c].exec_after);
        assert_int_equal(get_pair(harness_wave(&h), 8), cases[c].result);
        assert_int_equal(harness_wave(&h)->scc, cases[c].exec_after != 0);
        harness_destroy(&h);
    }
}

static void special_sources_have_their_values(void **state)
{
    (void)state;
    struct harness h;
    harness_create(&h, "s_mov_b64 vcc, 0\ns_cmp_eq_u32 0, 0\n"
                       "s_mov_b32 s8, src_vccz\ns_mov_b32 s9, src_scc\ns_mov_b32 s10, src_execz\n"
                       "s_mov_b64 s[12:13], src_shared_base\ns_mov_b32 s14, src_private_base\n");
    harness_start(&h);
    assert_true(harness_finish(&h));
    const uint32_t *s = harness_wave(&h)->scalar;
    assert_int_equal(s[8], 1);
    assert_int_equal(s[9], 1);
    assert_int_equal(s[10], 0);
    assert_int_equal(get_pair(harness_wave(&h), 12), APERTURE_SHARED_BASE);
    assert_int_equal(s[14], APERTURE_PRIVATE_BASE >> 32);
    harness_destroy(&h);
}

static void m0_chooses_registers(void **state)
{
    (void)state;
    struct harness h;
    harness_create(&h, "s_mov_b32 m0, 2\ns_movrels_b32 s8, s4\ns_movreld_b64 s[10:11], s[4:5]\n"
                       "s_movk_i32 m0, 98\ns_movrels_b32 s8, s4\n");
    harness_start(&h);
    set_pair(harness_wave(&h), 4, 0x500000004);
    set_pair(harness_wave(&h), 6, 0x700000006);
    assert_false(harness_finish(&h));
    assert_int_equal(harness_wave(&h)->scalar[8], 6);
    assert_int_equal(get_pair(harness_wave(&h), 12), 0x500000004);
    assert_non_null(strstr(h.error.message, "M0 = 98 leads beyond the scalar registers"));
    harness_destroy(&h);
}

static void mode_is_read_and_written_by_fields(void **state)
{
    (void)state;
    struct harness h;
    harness_create(&h, "s_getreg_b32 s8, hwreg(HW_REG_MODE)\n"
                       "s_setreg_imm32_b32 hwreg(HW_REG_MODE, 4, 2), 1\n"
                       "s_getreg_b32 s9, hwreg(HW_REG_MODE, 4, 4)\n"
                       "s_getreg_b32 s10, hwreg(HW_REG_XCC_ID, 0, 4)\n"
                       "s_setreg_b32 hwreg(HW_REG_TRAPSTS), s8\n");
    harness_start(&h);
    assert_false(harness_finish(&h));
    const uint32_t *s = harness_wave(&h)->scalar;
    assert_int_equal(s[8], 0x3f0); /* denormals on, DX10_CLAMP and IEEE set */
    assert_int_equal(s[9], 0xd);
    assert_int_equal(s[10], 0);
    assert_int_equal(harness_wave(&h)->mode, 0x3d0);
    assert_non_null(strstr(h.error.message, "hardware register 3 is not to be written"));
    harness_destroy(&h);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(addition_and_subtraction_carry),
        cmocka_unit_test(minima_and_maxima_tell_who_won),
        cmocka_unit_test(products_leave_scc),
        cmocka_unit_test(logic_tells_nonzero),
        cmocka_unit_test(selections_follow_scc),
        cmocka_unit_test(shifts_take_the_low_bits_of_the_amount),
        cmocka_unit_test(bit_fields),
        cmocka_unit_test(absolute_values_and_sign_extension),
        cmocka_unit_test(counting_and_finding_bits),
        cmocka_unit_test(comparisons),
        cmocka_unit_test(exec_is_saved_and_changed),
        cmocka_unit_test(special_sources_have_their_values),
        cmocka_unit_test(m0_chooses_registers),
        cmocka_unit_test(mode_is_read_and_written_by_fields),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
