/* Why a variant is a hit or a miss. */
#include "api_fixture.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

struct field_text {
    char text[512];
};

static bool write_field(void *user, const dsajit_key_field *field)
{
    struct field_text *fields = user;
    size_t used = strlen(fields->text);
    snprintf(fields->text + used, sizeof fields->text - used, "%s:%s:%s:%d ", field->name,
             field->wanted ? field->wanted : "-", field->found ? field->found : "-", field->equal);
    return true;
}

static void keys_are_compared_by_name(void **state)
{
    (void)state;
    struct field_text fields = {""};
    assert_int_equal(
        dsajit_cache_compare_keys("a=1\nb=2\nc=3\n", "c=3\nb=x\nd=4\n", write_field, &fields, NULL),
        DSAJIT_OK);
    assert_string_equal(fields.text, "a:1:-:0 b:2:x:0 c:3:3:1 d:-:4:0 ");
    fields.text[0] = '\0';
    assert_int_equal(dsajit_cache_compare_keys("", "v=a=b\n", write_field, &fields, NULL),
                     DSAJIT_OK);
    assert_string_equal(fields.text, "v:-:a=b:0 ");
    assert_int_equal(dsajit_cache_compare_keys("no line", "", write_field, &fields, NULL),
                     DSAJIT_ERROR_INVALID_ARGUMENT);
}

/* R39: the whole of it, so that a change of what a key holds is a change of this test. */
static void a_key_is_this_text(void **state)
{
    (void)state;
    struct fixture fixture;
    dsajit_text source, key;
    char variant[128], hex[65], expected[1024];
    open_fixture(&fixture, "golden", 0);
    fake_toolchain_variant(7, variant);
    assert_int_equal(dsajit_get_source(fixture.context, variant, &source, NULL), DSAJIT_OK);
    assert_int_equal(dsajit_get_key(fixture.context, variant, &key, NULL), DSAJIT_OK);
    b2sum(source.data, source.size, hex);
    snprintf(expected, sizeof expected,
             "format=1\n"
             "kind=kernel\n"
             "variant=sparse_mla/gfx950/heads=8,has_invalid=0,return_lse=0,index=i32,scale=pow2,"
             "math=bf16\n"
             "source=%s\n"
             "target=gfx950\n"
             "options=-O3 -std=c++17\n"
             "libfake.so=build-id:fa4e\n",
             hex);
    assert_string_equal(key.data, expected);
    dsajit_text_free(&source);
    dsajit_text_free(&key);
    close_fixture(&fixture);
}

/* R38: another prefix, another home, another cache directory, and the same key. */
static void a_key_knows_no_place(void **state)
{
    (void)state;
    struct fake_toolchain elsewhere;
    struct fixture fixture;
    struct log_lines lines;
    dsajit_text key, other_key;
    char variant[128];
    open_fixture(&fixture, "place", 0);
    fake_toolchain_variant(7, variant);
    setenv("HOME", "/", 1);
    assert_int_equal(dsajit_get_key(fixture.context, variant, &key, NULL), DSAJIT_OK);
    fake_toolchain_make("another toolchain", &elsewhere);
    setenv("HOME", elsewhere.folder, 1);
    dsajit_context *context = fake_toolchain_open(&elsewhere, "", &lines);
    assert_int_equal(dsajit_get_key(context, variant, &other_key, NULL), DSAJIT_OK);
    assert_string_equal(key.data, other_key.data);
    assert_null(strchr(strstr(key.data, "options=-O3"), '/'));
    dsajit_text_free(&key);
    dsajit_text_free(&other_key);
    dsajit_close(context);
    close_fixture(&fixture);
}

static void an_explanation_tells_a_hit_from_a_miss(void **state)
{
    (void)state;
    struct fixture fixture;
    dsajit_cache_explanation explanation;
    struct seen seen = {0};
    char variant[128];
    open_fixture(&fixture, "explain", 0);
    fake_toolchain_variant(0, variant); /* heads=1, has_invalid=0, return_lse=0 */

    assert_int_equal(dsajit_cache_explain(fixture.context, variant, &explanation, NULL), DSAJIT_OK);
    assert_false(explanation.hit);
    assert_null(explanation.nearest_path);
    assert_contains(explanation.reason, "no layer has an entry");
    assert_contains(explanation.key, variant);
    assert_contains(explanation.key, "libfake.so=build-id:fa4e\n");
    assert_int_equal(strncmp(explanation.path, fixture.cache, strlen(fixture.cache)), 0);
    dsajit_cache_explanation_free(&explanation);
    close_fixture(&fixture);

    open_fixture(&fixture, "explain", 25); /* … and 24: heads=1, has_invalid=0, return_lse=1 */
    assert_int_equal(dsajit_cache_explain(fixture.context, variant, &explanation, NULL), DSAJIT_OK);
    assert_true(explanation.hit);
    assert_false(explanation.other_toolchain);
    assert_int_equal(explanation.layer_kind, DSAJIT_LAYER_WRITABLE);
    assert_int_equal(dsajit_cache_inspect(explanation.path, see, &seen, NULL), DSAJIT_OK);
    assert_string_equal(seen.variant, variant);
    assert_null(explanation.nearest_path);
    assert_int_equal(unlink(explanation.path), 0);
    dsajit_cache_explanation_free(&explanation);

    /* One field of the variant differs, and so the source. */
    assert_int_equal(dsajit_cache_explain(fixture.context, variant, &explanation, NULL), DSAJIT_OK);
    assert_false(explanation.hit);
    assert_contains(explanation.reason, "has vanished");
    assert_contains(explanation.reason, "differs in: variant, source");
    assert_int_equal(explanation.differences, 2);
    assert_non_null(explanation.nearest_path);
    dsajit_cache_explanation_free(&explanation);
    close_fixture(&fixture);
}

/* An upgrade gives a miss, and the explanation says so. */
static void an_upgrade_is_explained(void **state)
{
    (void)state;
    struct fixture fixture;
    struct seen seen = {0};
    dsajit_cache_explanation explanation;
    char variant[128];
    open_fixture(&fixture, "upgrade", 3);
    fake_toolchain_variant(1, variant);
    /* As another toolchain would have left it: its entry instead of ours. */
    assert_int_equal(dsajit_cache_explain(fixture.context, variant, &explanation, NULL), DSAJIT_OK);
    assert_int_equal(dsajit_cache_inspect(explanation.path, see, &seen, NULL), DSAJIT_OK);
    struct log_lines lines;
    struct cache *cache = open_layers(fixture.cache, NULL, &lines);
    struct cache_key key = {0};
    const char *toolchain_part = strstr(explanation.key, "libfake.so=");
    assert_non_null(toolchain_part);
    bytes_append(&key.base, explanation.key, (size_t)(toolchain_part - explanation.key));
    bytes_append_text(&key.toolchain, "libfake.so=build-id:0123\n");
    publish_text(cache, &key, "code");
    assert_int_equal(unlink(explanation.path), 0);
    shell("rm '%s'/*/*.lock", fixture.cache);
    dsajit_cache_explanation_free(&explanation);

    assert_int_equal(dsajit_cache_explain(fixture.context, variant, &explanation, NULL), DSAJIT_OK);
    assert_false(explanation.hit);
    assert_contains(explanation.reason, "toolchain has changed");
    assert_contains(explanation.reason, "differs in: libfake.so");
    assert_int_equal(explanation.differences, 1);
    dsajit_cache_explanation_free(&explanation);
    dsajit_close(fixture.context);

    /* In a prebuilt layer the same entry is a hit. */
    dsajit_options options = DSAJIT_OPTIONS_DEFAULT;
    const char *const prebuilt[] = {fixture.cache, NULL};
    options.device = DSAJIT_DEVICE_NONE;
    options.cache_directory = "";
    options.prebuilt = prebuilt;
    options.rocm_path = toolchain.rocm;
    options.compiler = toolchain.helper;
    assert_int_equal(dsajit_open(&options, &fixture.context, NULL), DSAJIT_OK);
    assert_int_equal(dsajit_cache_explain(fixture.context, variant, &explanation, NULL), DSAJIT_OK);
    assert_true(explanation.hit && explanation.other_toolchain);
    assert_int_equal(explanation.layer_kind, DSAJIT_LAYER_PREBUILT);
    assert_contains(explanation.nearest_key, "build-id:0123");
    assert_int_equal(explanation.differences, 1);
    dsajit_cache_explanation_free(&explanation);
    cache_close(cache);
    cache_key_free(&key);
    close_fixture(&fixture);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(keys_are_compared_by_name),
        cmocka_unit_test(a_key_is_this_text),
        cmocka_unit_test(a_key_knows_no_place),
        cmocka_unit_test(an_explanation_tells_a_hit_from_a_miss),
        cmocka_unit_test(an_upgrade_is_explained),
    };
    return cmocka_run_group_tests(tests, make_toolchain, NULL);
}
