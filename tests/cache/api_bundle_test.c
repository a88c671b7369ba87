/* A cache's way to another place, through the public API. */
#include "api_fixture.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

static dsajit_plan *plan_of(int first, int count)
{
    dsajit_plan *plan;
    assert_int_equal(dsajit_plan_create(&plan, NULL), DSAJIT_OK);
    for (int i = first; i < first + count; i++) {
        char variant[128];
        fake_toolchain_variant(i, variant);
        assert_int_equal(dsajit_plan_add(plan, variant, NULL), DSAJIT_OK);
    }
    return plan;
}

static void an_exported_cache_is_imported_elsewhere(void **state)
{
    (void)state;
    struct fixture from, to;
    char folder[PATH_SIZE], file[PATH_SIZE + 16], secret[PATH_SIZE + 16], open_key[PATH_SIZE + 16];
    dsajit_bundle_report report;
    dsajit_error error;
    dsajit_kernel_info info;
    char variant[128];
    open_fixture(&from, "export", 4);
    open_fixture(&to, "import", 1);
    fresh_folder("export_files", folder);
    snprintf(file, sizeof file, "%s/bundle.tar", folder);
    snprintf(secret, sizeof secret, "%s/secret", folder);
    snprintf(open_key, sizeof open_key, "%s/public", folder);
    assert_int_equal(dsajit_bundle_create_keys(secret, open_key, NULL), DSAJIT_OK);

    dsajit_cache_export_options export = DSAJIT_CACHE_EXPORT_OPTIONS_DEFAULT;
    export.secret_key = secret;
    assert_int_equal(dsajit_cache_export(from.context, file, &export, &report, NULL), DSAJIT_OK);
    assert_int_equal(report.entries, 4);
    assert_true(report.bytes > 16384);
    assert_true(report.is_signed);
    assert_int_equal(strlen(report.signer), 64);

    const char *const keys[] = {open_key, NULL};
    dsajit_cache_import_options import = DSAJIT_CACHE_IMPORT_OPTIONS_DEFAULT;
    import.public_keys = keys;
    import.verify_only = true;
    assert_int_equal(dsajit_cache_import(to.context, file, &import, &report, NULL), DSAJIT_OK);
    assert_true(report.trusted);
    assert_int_equal(report.entries, 4);
    assert_int_equal(report.published, 0);
    assert_int_equal(count_files(to.cache, "*.dsajit"), 1);
    import.verify_only = false;
    assert_int_equal(dsajit_cache_import(to.context, file, &import, &report, NULL), DSAJIT_OK);
    assert_int_equal(report.published, 3);
    assert_int_equal(report.present, 1);
    fake_toolchain_variant(3, variant);
    assert_int_equal(dsajit_prepare(to.context, variant, &info, NULL), DSAJIT_OK);
    assert_int_equal(info.origin, DSAJIT_ORIGIN_CACHE);

    /* Exported again, unsigned, both give the same bytes. */
    dsajit_buffer one, other;
    assert_int_equal(dsajit_cache_clear(to.context, NULL, NULL), DSAJIT_OK);
    assert_int_equal(dsajit_cache_import(to.context, file, NULL, &report, NULL), DSAJIT_OK);
    assert_int_equal(dsajit_cache_serialise(from.context, NULL, &one, NULL), DSAJIT_OK);
    assert_int_equal(dsajit_cache_serialise(to.context, NULL, &other, NULL), DSAJIT_OK);
    assert_int_equal(one.size, other.size);
    assert_memory_equal(one.data, other.data, one.size);
    dsajit_buffer_free(&one);
    dsajit_buffer_free(&other);

    /* A bad bundle leaves nothing. */
    assert_int_equal(dsajit_cache_clear(to.context, NULL, NULL), DSAJIT_OK);
    shell("printf x | dd of='%s' bs=1 seek=$(($(stat -c %%s '%s') - 5000)) conv=notrunc "
          "status=none",
          file, file);
    assert_int_equal(dsajit_cache_import(to.context, file, NULL, &report, &error),
                     DSAJIT_ERROR_CORRUPT);
    assert_contains(error.message, file);
    assert_int_equal(count_files(to.cache, "*.dsajit"), 0);
    assert_int_equal(unlink(file), 0);
    assert_int_equal(dsajit_cache_import(to.context, file, NULL, NULL, NULL),
                     DSAJIT_ERROR_NOT_FOUND);
    close_fixture(&from);
    close_fixture(&to);
}

static void a_plan_chooses_what_is_sent(void **state)
{
    (void)state;
    struct fixture rank0, rank1;
    dsajit_buffer buffer;
    dsajit_bundle_report report;
    dsajit_error error;
    open_fixture(&rank0, "rank0", 6);
    open_fixture(&rank1, "rank1", 0);
    dsajit_plan *some = plan_of(2, 3), *missing = plan_of(5, 2);
    assert_int_equal(dsajit_cache_serialise(rank0.context, some, &buffer, NULL), DSAJIT_OK);
    assert_int_equal(
        dsajit_cache_deserialise(rank1.context, buffer.data, buffer.size, &report, NULL),
        DSAJIT_OK);
    assert_int_equal(report.published, 3);
    assert_int_equal(count_files(rank1.cache, "*.dsajit"), 3);
    dsajit_buffer_free(&buffer);
    assert_int_equal(dsajit_cache_serialise(rank0.context, missing, &buffer, &error),
                     DSAJIT_ERROR_NOT_FOUND);
    assert_contains(error.message, dsajit_plan_variant(missing, 1));
    assert_null(buffer.data);
    assert_int_equal(dsajit_cache_deserialise(rank1.context, "x", 1, NULL, NULL),
                     DSAJIT_ERROR_CORRUPT);
    dsajit_plan_free(some);
    dsajit_plan_free(missing);
    close_fixture(&rank0);
    close_fixture(&rank1);
}

/* What the emulator has read from a kernel goes with it; what it has read from others doesn't. */
static void inspections_go_with_their_kernels(void **state)
{
    (void)state;
    struct fixture fixture;
    struct log_lines lines;
    struct seen seen = {0};
    dsajit_buffer buffer;
    dsajit_bundle_report report;
    dsajit_cache_explanation explanation;
    char variant[128], copy[PATH_SIZE];
    static const char *const codes[2] = {NULL, "0123"};
    open_fixture(&fixture, "inspections", 1);
    fake_toolchain_variant(0, variant);
    assert_int_equal(dsajit_cache_explain(fixture.context, variant, &explanation, NULL), DSAJIT_OK);
    assert_int_equal(dsajit_cache_inspect(explanation.path, see, &seen, NULL), DSAJIT_OK);
    struct cache *cache = open_layers(fixture.cache, NULL, &lines);
    for (int i = 0; i < 2; i++) {
        struct cache_key key = {0};
        char hex[65] = "";
        if (!codes[i]) { /* the fake helper's code is the source's start */
            dsajit_text source;
            assert_int_equal(dsajit_get_source(fixture.context, variant, &source, NULL), DSAJIT_OK);
            b2sum(source.data, 4096, hex);
            dsajit_text_free(&source);
        }
        cache_key_append(&key, "kind", "inspection");
        cache_key_append(&key, "code", codes[i] ? codes[i] : hex);
        publish_text(cache, &key, "listing");
        cache_key_free(&key);
    }
    cache_close(cache);
    dsajit_plan *plan = plan_of(0, 1);
    assert_int_equal(dsajit_cache_serialise(fixture.context, plan, &buffer, NULL), DSAJIT_OK);
    dsajit_plan_free(plan);
    close_fixture(&fixture);
    fresh_folder("inspections_copy", copy);
    fixture.context = fake_toolchain_open(&toolchain, copy, &lines);
    assert_int_equal(
        dsajit_cache_deserialise(fixture.context, buffer.data, buffer.size, &report, NULL),
        DSAJIT_OK);
    assert_int_equal(report.published, 2);
    dsajit_buffer_free(&buffer);
    dsajit_cache_explanation_free(&explanation);
    close_fixture(&fixture);
}

static void without_a_directory_there_is_no_place_to_import_to(void **state)
{
    (void)state;
    struct fixture from, to;
    dsajit_buffer buffer;
    open_fixture(&from, "no_place", 1);
    to.context = fake_toolchain_open(&toolchain, "", &to.lines);
    assert_int_equal(dsajit_cache_serialise(from.context, NULL, &buffer, NULL), DSAJIT_OK);
    assert_int_equal(dsajit_cache_deserialise(to.context, buffer.data, buffer.size, NULL, NULL),
                     DSAJIT_ERROR_CACHE_UNUSABLE);
    dsajit_buffer_free(&buffer);
    assert_int_equal(dsajit_cache_serialise(to.context, NULL, &buffer, NULL), DSAJIT_OK);
    dsajit_buffer_free(&buffer); /* of nothing */
    close_fixture(&from);
    close_fixture(&to);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_exported_cache_is_imported_elsewhere),
        cmocka_unit_test(a_plan_chooses_what_is_sent),
        cmocka_unit_test(inspections_go_with_their_kernels),
        cmocka_unit_test(without_a_directory_there_is_no_place_to_import_to),
    };
    return cmocka_run_group_tests(tests, make_toolchain, NULL);
}
