/* The specialised source: prologue, flattening, determinism, names. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "codegen/specialise.h"

static struct variant variant_of(const char *text)
{
    struct variant variant;
    assert_int_equal(variant_parse(text, &variant, NULL), DSAJIT_OK);
    return variant;
}

static struct variant example(void)
{
    return variant_of(
        "sparse_mla/gfx950/heads=7,has_invalid=1,return_lse=0,index=i64,scale=any,math=bf16");
}

/* Templates of the test's own. */
struct fake_file {
    const char *name, *text; /* NULL: memory runs out */
};

static dsajit_status read_fake(void *user, const char *name, struct bytes *text,
                               dsajit_error *error)
{
    for (const struct fake_file *file = user; file->name; file++) {
        if (strcmp(file->name, name) == 0) {
            if (file->text)
                bytes_append_text(text, file->text);
            else
                text->failed = true;
            return DSAJIT_OK;
        }
    }
    return error_set(error, DSAJIT_ERROR_NOT_FOUND, "no template '%s'", name);
}

static dsajit_status specialise_fake(struct fake_file *files, struct bytes *source,
                                     dsajit_error *error)
{
    struct variant variant = example();
    const struct template_source templates = {read_fake, files};
    return codegen_specialise(&variant, &templates, source, error);
}

static void the_prologue_states_every_field(void **state)
{
    (void)state;
    struct fake_file files[] = {{"sparse_mla.hip", "body\n"}, {0}};
    struct bytes source = {0};
    assert_int_equal(specialise_fake(files, &source, NULL), DSAJIT_OK);
    assert_string_equal(
        bytes_text(&source),
        "// sparse_mla/gfx950/heads=7,has_invalid=1,return_lse=0,index=i64,scale=any,math=bf16\n"
        "#define DSAJIT_KERNEL "
        "dsajit_sparse_mla_gfx950_heads_7_has_invalid_1_return_lse_0_index_i64_scale_any_math_"
        "bf16\n"
        "namespace variant {\n"
        "constexpr int heads = 7;\n"
        "constexpr bool has_invalid = true;\n"
        "constexpr bool return_lse = false;\n"
        "enum class index_values { i32, i64 };\n"
        "constexpr index_values index = index_values::i64;\n"
        "enum class scale_values { pow2, any };\n"
        "constexpr scale_values scale = scale_values::any;\n"
        "enum class math_values { bf16 };\n"
        "constexpr math_values math = math_values::bf16;\n"
        "} // namespace variant\n"
        "#line 1 \"sparse_mla.hip\"\n"
        "body\n");
    bytes_free(&source);
}

static void each_include_is_flattened_once(void **state)
{
    (void)state;
    struct fake_file files[] = {{"sparse_mla.hip", "#include \"a.hpp\"\n#include \"b.hpp\"\nlast"},
                                {"a.hpp", "#pragma once\n#include \"b.hpp\"\nfrom a\n"},
                                {"b.hpp", "#pragma once\n#include \"a.hpp\"\nfrom b\n"},
                                {0}};
    struct bytes source = {0};
    assert_int_equal(specialise_fake(files, &source, NULL), DSAJIT_OK);
    const char *text = bytes_text(&source);
    const char *from_b = strstr(text, "from b"), *from_a = strstr(text, "from a"),
               *last = strstr(text, "last");
    assert_non_null(from_b);
    assert_true(from_b < from_a && from_a < last);
    assert_null(strstr(from_b + 1, "from b"));
    assert_null(strstr(from_a + 1, "from a"));
    assert_null(strstr(text, "#include"));
    assert_null(strstr(text, "#pragma once"));
    bytes_free(&source);
}

static void line_directives_point_into_the_templates(void **state)
{
    (void)state;
    struct fake_file files[] = {
        {"sparse_mla.hip", "one\n#include \"a.hpp\"\nthree\n"}, {"a.hpp", "from a\n"}, {0}};
    struct bytes source = {0};
    assert_int_equal(specialise_fake(files, &source, NULL), DSAJIT_OK);
    assert_non_null(strstr(bytes_text(&source), "#line 1 \"sparse_mla.hip\"\none\n"
                                                "#line 1 \"a.hpp\"\nfrom a\n"
                                                "#line 3 \"sparse_mla.hip\"\nthree\n"));
    bytes_free(&source);
}

static void a_missing_include_is_an_error_that_names_it(void **state)
{
    (void)state;
    struct fake_file files[] = {{"sparse_mla.hip", "#include \"lost.hpp\"\n"}, {0}};
    struct bytes source = {0};
    dsajit_error error;
    assert_int_equal(specialise_fake(files, &source, &error), DSAJIT_ERROR_NOT_FOUND);
    assert_non_null(strstr(error.message, "lost.hpp"));
    bytes_free(&source);
}

/* Else the source would be another one, without a word. */
static void an_include_without_memory_is_an_error(void **state)
{
    (void)state;
    struct fake_file files[] = {
        {"sparse_mla.hip", "#include \"a.hpp\"\nrest\n"}, {"a.hpp", NULL}, {0}};
    struct bytes source = {0};
    dsajit_error error;
    assert_int_equal(specialise_fake(files, &source, &error), DSAJIT_ERROR_OUT_OF_MEMORY);
    bytes_free(&source);
}

static void the_builtin_source_is_self_contained_and_the_same_each_time(void **state)
{
    (void)state;
    struct variant variant = example();
    struct bytes first = {0}, second = {0};
    assert_int_equal(codegen_specialise(&variant, &builtin_templates, &first, NULL), DSAJIT_OK);
    assert_int_equal(codegen_specialise(&variant, &builtin_templates, &second, NULL), DSAJIT_OK);
    assert_int_equal(first.size, second.size);
    assert_memory_equal(first.data, second.data, first.size);
    assert_null(strstr(bytes_text(&first), "#include"));
    assert_non_null(strstr(bytes_text(&first), "DSAJIT_KERNEL("));
    bytes_free(&first);
    bytes_free(&second);
}

static void different_variants_have_different_sources_and_symbols(void **state)
{
    (void)state;
    struct variant one = example(), other = example();
    assert_true(variant_set(&other, SPARSE_MLA_HEADS, 8));
    struct bytes text[4] = {0};
    codegen_symbol(&one, &text[0]);
    codegen_symbol(&other, &text[1]);
    assert_string_not_equal(bytes_text(&text[0]), bytes_text(&text[1]));
    assert_int_equal(codegen_specialise(&one, &builtin_templates, &text[2], NULL), DSAJIT_OK);
    assert_int_equal(codegen_specialise(&other, &builtin_templates, &text[3], NULL), DSAJIT_OK);
    assert_string_not_equal(bytes_text(&text[2]), bytes_text(&text[3]));
    for (size_t i = 0; i < 4; i++)
        bytes_free(&text[i]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_prologue_states_every_field),
        cmocka_unit_test(each_include_is_flattened_once),
        cmocka_unit_test(line_directives_point_into_the_templates),
        cmocka_unit_test(a_missing_include_is_an_error_that_names_it),
        cmocka_unit_test(an_include_without_memory_is_an_error),
        cmocka_unit_test(the_builtin_source_is_self_contained_and_the_same_each_time),
        cmocka_unit_test(different_variants_have_different_sources_and_symbols),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
