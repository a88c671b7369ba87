/* Variants: the canonical text, what is refused, and the enumeration. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "codegen/variant.h"

static const char example[] =
    "sparse_mla/gfx950/heads=8,has_invalid=1,return_lse=0,index=i32,scale=pow2,math=bf16";

static void assert_formats_as(const struct variant *variant, const char *expected)
{
    struct bytes text = {0};
    variant_format(variant, &text);
    assert_string_equal(bytes_text(&text), expected);
    bytes_free(&text);
}

static void a_text_and_its_variant_are_the_same_thing(void **state)
{
    (void)state;
    struct variant variant;
    assert_int_equal(variant_parse(example, &variant, NULL), DSAJIT_OK);
    assert_int_equal(variant_value(&variant, SPARSE_MLA_HEADS), 8);
    assert_int_equal(variant_value(&variant, SPARSE_MLA_HAS_INVALID), 1);
    assert_int_equal(variant_value(&variant, SPARSE_MLA_RETURN_LSE), 0);
    assert_int_equal(variant_value(&variant, SPARSE_MLA_INDEX), SPARSE_MLA_INDEX_I32);
    assert_formats_as(&variant, example);
}

static void fields_may_come_in_any_order(void **state)
{
    (void)state;
    struct variant variant;
    assert_int_equal(variant_parse("sparse_mla/gfx950/math=bf16,scale=pow2,index=i32,return_lse=0,"
                                   "has_invalid=1,heads=8",
                                   &variant, NULL),
                     DSAJIT_OK);
    assert_formats_as(&variant, example);
}

static void a_refusal_names_the_part_and_what_is_allowed(void **state)
{
    (void)state;
    static const struct {
        const char *text, *named, *allowed;
    } cases[] = {
        {"", "is no variant", "FAMILY/ARCHITECTURE"},
        {"sparse_mla", "is no variant", "FAMILY/ARCHITECTURE"},
        {"dense_mla/gfx950/heads=8", "kernel family 'dense_mla'", "sparse_mla"},
        {"sparse_mla/gfx90a/heads=8", "architecture 'gfx90a'", "gfx950"},
        {"sparse_mla/gfx950/head=8", "field 'head'", "has_invalid"},
        {"sparse_mla/gfx950/heads=17", "value of heads '17'", "16"},
        {"sparse_mla/gfx950/heads=", "value of heads ''", "16"},
        {"sparse_mla/gfx950/heads", "'heads' has no '=value'", ""},
        {"sparse_mla/gfx950/heads=8,heads=8", "heads is given twice", ""},
        {"sparse_mla/gfx950/index=i16", "value of index 'i16'", "i32, i64"},
        {"sparse_mla/gfx950/heads=8", "does not say has_invalid", ""},
        {"sparse_mla/gfx950/heads=08", "value of heads '08'", ""},
        {"/", "kernel family ''", "sparse_mla"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct variant variant;
        dsajit_error error = {0};
        assert_int_equal(variant_parse(cases[i].text, &variant, &error),
                         DSAJIT_ERROR_INVALID_ARGUMENT);
        assert_non_null(strstr(error.message, cases[i].named));
        assert_non_null(strstr(error.message, cases[i].allowed));
    }
}

static void numbering_is_dense_and_every_variant_survives_its_text(void **state)
{
    (void)state;
    for (size_t family = 0; family < family_count; family++) {
        for (size_t i = 0; i < variant_count(family); i++) {
            struct variant variant, again;
            variant_at(family, i, &variant);
            assert_int_equal(variant_index(&variant), i);
            struct bytes text = {0};
            variant_format(&variant, &text);
            bool exists = variant_refusal(&variant) == NULL;
            assert_int_equal(variant_parse(bytes_text(&text), &again, NULL),
                             exists ? DSAJIT_OK : DSAJIT_ERROR_UNSUPPORTED);
            if (exists)
                assert_int_equal(variant_index(&again), i);
            bytes_free(&text);
        }
    }
}

static void sparse_mla_has_the_variants_of_its_table(void **state)
{
    (void)state;
    /* 16 head counts, has_invalid, return_lse, two index widths, two scales, one math. */
    assert_int_equal(variant_count(FAMILY_SPARSE_MLA), 16 * 2 * 2 * 2 * 2);
}

static size_t count_matches(const char *text)
{
    struct selection selection;
    assert_int_equal(selection_parse(text, &selection, NULL), DSAJIT_OK);
    size_t count = 0;
    for (size_t i = 0; i < variant_count(FAMILY_SPARSE_MLA); i++) {
        struct variant variant;
        variant_at(FAMILY_SPARSE_MLA, i, &variant);
        count += selection_matches(&selection, &variant);
    }
    return count;
}

static void a_selection_leaves_parts_open(void **state)
{
    (void)state;
    assert_int_equal(count_matches(NULL), 256);
    assert_int_equal(count_matches(""), 256);
    assert_int_equal(count_matches("sparse_mla"), 256);
    assert_int_equal(count_matches("sparse_mla/gfx950"), 256);
    assert_int_equal(count_matches("sparse_mla/gfx950/heads=8"), 16);
    assert_int_equal(count_matches("sparse_mla/gfx950/heads=8,scale=any"), 8);
    assert_int_equal(count_matches("sparse_mla//heads=8"), 16);
    assert_int_equal(count_matches(example), 1);
}

static void only_legal_values_can_be_set(void **state)
{
    (void)state;
    struct variant variant;
    assert_int_equal(variant_parse(example, &variant, NULL), DSAJIT_OK);
    assert_true(variant_set(&variant, SPARSE_MLA_HEADS, 16));
    assert_int_equal(variant_value(&variant, SPARSE_MLA_HEADS), 16);
    assert_false(variant_set(&variant, SPARSE_MLA_HEADS, 0));
    assert_false(variant_set(&variant, SPARSE_MLA_HEADS, 17));
    assert_false(variant_set(&variant, SPARSE_MLA_INDEX, 2));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_text_and_its_variant_are_the_same_thing),
        cmocka_unit_test(fields_may_come_in_any_order),
        cmocka_unit_test(a_refusal_names_the_part_and_what_is_allowed),
        cmocka_unit_test(numbering_is_dense_and_every_variant_survives_its_text),
        cmocka_unit_test(sparse_mla_has_the_variants_of_its_table),
        cmocka_unit_test(a_selection_leaves_parts_open),
        cmocka_unit_test(only_legal_values_can_be_set),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
