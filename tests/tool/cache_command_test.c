/* dsajit cache: what each command says, does and returns. */
#include "process.h"
#include "small_cache.h"

#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>
#include <cmocka.h>

/* The four variants of 3 heads, compiled once for all tests. */
static int make_bundle(void **state)
{
    struct process process;
    small_cache_set_up(state);
    process_run(&process, NULL, "warmup --heads 3");
    assert_int_equal(process.exit_code, 0);
    process_free(&process);
    process_run(&process, NULL, "cache export %s", state_path("bundle.tar"));
    assert_int_equal(process.exit_code, 0);
    process_free(&process);
    return 0;
}

static int set_up(void **state)
{
    struct process process;
    small_cache_set_up(state);
    process_run(&process, NULL, "cache import %s", state_path("bundle.tar"));
    assert_int_equal(process.exit_code, 0);
    process_free(&process);
    return 0;
}

__attribute__((format(printf, 3, 4))) static void run(struct process *process, int exit_code,
                                                      const char *format, ...)
{
    char arguments[8192];
    va_list list;
    va_start(list, format);
    vsnprintf(arguments, sizeof arguments, format, list);
    va_end(list);
    process_run(process, NULL, "%s", arguments);
    if (process->exit_code != exit_code)
        fail_msg("%s: exit code %d: %s%s", arguments, process->exit_code, process->out,
                 process->err);
}

/* The caller releases it. */
static json_t *run_json(int exit_code, const char *command, const char *options)
{
    struct process process;
    run(&process, exit_code, "%s --json %s", command, options);
    json_t *object = process_json(&process, command);
    process_free(&process);
    return object;
}

static json_int_t number(const json_t *object, const char *path)
{
    return json_integer_value(json_at(object, path));
}

/* ---- Looking ---- */

static size_t count_listed(const char *options)
{
    json_t *object = run_json(0, "cache list", options);
    const size_t count = json_array_size(json_at(object, "entries"));
    json_decref(object);
    return count;
}

static void list_shows_and_filters_entries(void **state)
{
    (void)state;
    struct process process;
    assert_int_equal(count_listed(""), 4);
    assert_int_equal(count_listed("--filter kind=kernel"), 4);
    assert_int_equal(count_listed("--filter heads=3"), 4);
    assert_int_equal(count_listed("--filter has_invalid=1"), 2);
    assert_int_equal(count_listed("--filter has_invalid=1 --filter return_lse=0"), 1);
    assert_int_equal(count_listed("--filter target=gfx950"), 4);
    assert_int_equal(count_listed("--filter target=gfx9"), 0);
    json_t *object = run_json(0, "cache list", "--filter has_invalid=1");
    const json_t *entry = json_array_get(json_at(object, "entries"), 0);
    assert_string_equal(json_string_value(json_at(entry, "state")), "ok");
    assert_string_equal(json_string_value(json_at(entry, "layer_kind")), "writable");
    assert_string_equal(json_string_value(json_at(entry, "layer")), getenv("DSAJIT_CACHE_DIR"));
    assert_true(json_real_value(json_at(entry, "compile_ms")) > 0);
    assert_true(number(entry, "code_bytes") > 0);
    assert_true(number(entry, "file_bytes") > number(entry, "code_bytes"));
    json_decref(object);
    run(&process, 0, "cache list --filter return_lse=0");
    assert_int_equal(count_of(process.out, "\n"), 3); /* a heading */
    assert_contains(process.out, "sparse_mla/gfx950/heads=3,has_invalid=0,return_lse=0");
    process_free(&process);
    run(&process, 2, "cache list --filter heads");
    process_free(&process);
    run(&process, 2, "cache list --sort weight");
    process_free(&process);
}

static void list_sorts(void **state)
{
    (void)state;
    static const char *const orders[][2] = {
        {"used", "used"}, {"size", "file_bytes"}, {"compile", "compile_ms"}};
    for (size_t i = 0; i < 3; i++) {
        char option[32];
        double before = 0;
        snprintf(option, sizeof option, "--sort %s", orders[i][0]);
        json_t *object = run_json(0, "cache list", option);
        size_t k;
        json_t *entry;
        json_array_foreach(json_at(object, "entries"), k, entry)
        {
            const double value = json_number_value(json_at(entry, orders[i][1]));
            assert_true(value >= before);
            before = value;
        }
        assert_int_equal(k, 4);
        json_decref(object);
    }
    json_t *object = run_json(0, "cache list", "--sort name");
    const json_t *entries = json_at(object, "entries");
    for (size_t k = 1; k < 4; k++) {
        const char *one = json_string_value(json_at(json_array_get(entries, k - 1), "variant"));
        const char *next = json_string_value(json_at(json_array_get(entries, k), "variant"));
        assert_true(strcmp(one, next) < 0);
    }
    json_decref(object);
}

static void show_describes_an_entry_by_variant_and_by_file(void **state)
{
    (void)state;
    struct process process;
    json_t *object = run_json(0, "cache show", small_variant(3));
    assert_string_equal(json_string_value(json_at(object, "entry.variant")), small_variant(3));
    assert_contains(json_string_value(json_at(object, "entry.key")), "target=gfx950\n");
    assert_contains(json_string_value(json_at(object, "entry.toolchain")), "libhiprtc");
    assert_true(number(object, "entry.sections.code") > 0);
    assert_true(json_is_integer(json_at(object, "entry.lds_bytes")));
    char path[4096];
    snprintf(path, sizeof path, "%s", json_string_value(json_at(object, "entry.path")));
    json_decref(object);
    run(&process, 0, "cache show --inspect %s", path);
    assert_contains(process.out, small_variant(3));
    process_free(&process);
    run(&process, 0, "cache show %s", path);
    assert_contains(process.out, small_variant(3));
    process_free(&process);
    small_cache_damage(path);
    char option[4200];
    snprintf(option, sizeof option, "--inspect %s", path);
    object = run_json(4, "cache show", option);
    assert_string_equal(json_string_value(json_at(object, "entry.state")), "corrupt");
    json_decref(object);
}

static void show_prints_parts_on_request(void **state)
{
    (void)state;
    struct process source, direct;
    run(&source, 0, "cache show --source %s", small_variant(3));
    run(&direct, 0, "source %s", small_variant(3));
    assert_string_equal(source.out, direct.out);
    process_free(&source);
    process_free(&direct);
    run(&source, 0, "cache show --isa %s", small_variant(3));
    assert_contains(source.out, "s_endpgm");
    process_free(&source);
    run(&source, 0, "cache show --section symbol %s", small_variant(3));
    assert_contains(source.out, "dsajit_sparse_mla_gfx950_heads_3");
    process_free(&source);
    run(&source, 0, "cache show --section code %s", small_variant(3));
    assert_memory_equal(source.out, "\177ELF", 4);
    process_free(&source);
    run(&source, 4, "cache show --section nothing %s", small_variant(3));
    process_free(&source);
    run(&source, 2, "cache show --section code --json %s", small_variant(3));
    process_free(&source);
    run(&source, 2, "cache show --isa --source %s", small_variant(3));
    process_free(&source);

    /* Another template gives another text: it isn't the entry's. */
    const char *path = small_cache_entry();
    char kept[4096];
    snprintf(kept, sizeof kept, "%s", path);
    small_cache_write_template("// another");
    run(&source, 4, "cache show --source %s", kept);
    assert_contains(source.err, "another source");
    process_free(&source);
}

static void what_is_not_there_is_code_4(void **state)
{
    (void)state;
    struct process process;
    run(&process, 4, "cache show %s", small_variant(5));
    assert_contains(process.err, "most similar entry differs in: variant, source");
    process_free(&process);
    run(&process, 2, "cache show");
    process_free(&process);
    run(&process, 2, "cache show nonsense");
    process_free(&process);
    run(&process, 4, "cache show --inspect /no/such/file");
    process_free(&process);
    run(&process, 2, "cache");
    assert_contains(process.err, "cache list");
    process_free(&process);
}

static void diff_compares_two_entries(void **state)
{
    (void)state;
    struct process process;
    char both[512], other[128];
    snprintf(other, sizeof other, "%s", small_variant(3));
    strstr(other, "return_lse=0")[strlen("return_lse=")] = '1';
    snprintf(both, sizeof both, "%s %s", small_variant(3), small_variant(3));
    json_t *object = run_json(0, "cache diff", both);
    assert_true(json_is_true(json_at(object, "same")));
    json_decref(object);
    snprintf(both, sizeof both, "%s %s", small_variant(3), other);
    object = run_json(1, "cache diff", both);
    assert_false(json_is_true(json_at(object, "same")));
    assert_true(json_array_size(json_at(object, "sections")) >= 4);
    json_decref(object);
    run(&process, 1, "cache diff %s", both);
    assert_contains(process.out, "section symbol differs");
    assert_contains(process.out, "+ variant");
    process_free(&process);
    run(&process, 2, "cache diff %s", small_variant(3));
    process_free(&process);
    run(&process, 4, "cache diff %s %s", other, small_variant(5));
    process_free(&process);
}

static void stats_count_the_layers(void **state)
{
    (void)state;
    struct process process;
    json_t *object = run_json(0, "cache stats", "");
    const json_t *layer = json_array_get(json_at(object, "layers"), 0);
    assert_int_equal(number(layer, "entries"), 4);
    assert_true(number(layer, "entry_bytes") > 0);
    assert_int_equal(number(object, "max_bytes"), 1 << 30);
    json_decref(object);
    const char *const unlimited[] = {"DSAJIT_CACHE_MAX_SIZE=0", NULL};
    process_run(&process, unlimited, "cache stats --json");
    object = process_json(&process, "cache stats");
    assert_true(json_is_null(json_at(object, "max_bytes")));
    json_decref(object);
    process_free(&process);
}

static void path_is_the_directory(void **state)
{
    (void)state;
    struct process process;
    run(&process, 0, "cache path");
    assert_int_equal(strcspn(process.out, "\n") + 1, strlen(process.out));
    process.out[strcspn(process.out, "\n")] = '\0';
    assert_string_equal(process.out, getenv("DSAJIT_CACHE_DIR"));
    process_free(&process);
    const char *const unusable[] = {"DSAJIT_CACHE_DIR=/proc/no-cache", NULL};
    process_run(&process, unusable, "cache path");
    assert_int_equal(process.exit_code, 5);
    process_free(&process);
}

/* ---- Keeping in order ---- */

static void verify_finds_and_repairs_bad_entries(void **state)
{
    (void)state;
    struct process process;
    json_t *object = run_json(0, "cache verify", "");
    assert_int_equal(number(object, "good"), 4);
    json_decref(object);
    small_cache_damage(small_cache_entry());
    object = run_json(4, "cache verify", "");
    assert_int_equal(number(object, "good"), 3);
    assert_int_equal(number(object, "corrupt"), 1);
    assert_int_equal(json_array_size(json_at(object, "bad")), 1);
    json_decref(object);
    run(&process, 4, "cache verify");
    assert_contains(process.out, "corrupt  ");
    process_free(&process);
    object = run_json(0, "cache verify", "--repair");
    assert_int_equal(number(object, "repaired"), 1);
    json_decref(object);
    object = run_json(0, "cache verify", "");
    assert_int_equal(number(object, "corrupt"), 0);
    json_decref(object);
}

static void prune_removes_what_its_options_cover(void **state)
{
    (void)state;
    struct process process;
    json_t *object = run_json(0, "cache prune", "--older-than 1h");
    assert_int_equal(number(object, "removed"), 0);
    json_decref(object);
    enum { THREE_DAYS = 3 * 86400 };
    const struct timespec then = {.tv_sec = time(NULL) - THREE_DAYS};
    const struct timespec old[] = {then, then};
    assert_int_equal(utimensat(AT_FDCWD, small_cache_entry(), old, 0), 0);
    object = run_json(0, "cache prune", "--older-than 2d --dry-run");
    assert_int_equal(number(object, "removed"), 1);
    assert_int_equal(json_array_size(json_at(object, "entries")), 1);
    json_decref(object);
    assert_int_equal(small_cache_count(), 4);
    object = run_json(0, "cache prune", "--older-than 2d");
    assert_int_equal(number(object, "removed"), 1);
    json_decref(object);
    assert_int_equal(small_cache_count(), 3);
    object = run_json(0, "cache prune", "--stale");
    assert_int_equal(number(object, "removed"), 0); /* all by the present toolchain */
    json_decref(object);
    run(&process, 0, "cache prune --max-size 0");
    assert_contains(process.out, "3 entries with ");
    process_free(&process);
    assert_int_equal(small_cache_count(), 0);
    static const char *const wrong[] = {"--max-size 1X", "--max-size -1", "--older-than 3",
                                        "--older-than d", "--max-size 99999999999999999999"};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        run(&process, 2, "cache prune %s", wrong[i]);
        process_free(&process);
    }
}

static void clear_asks_before(void **state)
{
    (void)state;
    struct process process;
    run(&process, 2, "cache clear");
    assert_contains(process.err, "--yes");
    process_free(&process);
    assert_int_equal(small_cache_count(), 4);
    json_t *object = run_json(0, "cache clear", "--yes");
    assert_int_equal(number(object, "removed"), 4);
    json_decref(object);
    assert_int_equal(small_cache_count(), 0);
}

/* ---- Bundles ---- */

static void a_bundle_travels_signed(void **state)
{
    (void)state;
    struct process process;
    char bundle[4096], keys[8400], options[8400];
    snprintf(bundle, sizeof bundle, "%s", state_path("cache-small/bundle.tar"));
    snprintf(keys, sizeof keys, "%s", state_path("templates-small/secret"));
    snprintf(keys + strlen(keys), sizeof keys - strlen(keys), " %s",
             state_path("templates-small/public"));
    run(&process, 0, "cache keygen %s", keys);
    process_free(&process);
    run(&process, 1, "cache keygen %s", keys); /* never replaced */
    process_free(&process);

    snprintf(options, sizeof options, "--heads 3 --has-invalid 0 --sign %s %s",
             state_path("templates-small/secret"), bundle);
    json_t *object = run_json(0, "cache export", options);
    assert_int_equal(number(object, "entries"), 2);
    assert_int_equal(strlen(json_string_value(json_at(object, "signer"))), 64);
    json_decref(object);

    setenv("DSAJIT_CACHE_DIR", state_path("templates-small/other-cache"), 1);
    snprintf(options, sizeof options, "--key %s %s", state_path("templates-small/public"), bundle);
    object = run_json(0, "cache import", options);
    assert_int_equal(number(object, "published"), 2);
    assert_true(json_is_true(json_at(object, "trusted")));
    json_decref(object);
    assert_int_equal(small_cache_count(), 2);
    object = run_json(0, "cache import", options);
    assert_int_equal(number(object, "published"), 0);
    assert_int_equal(number(object, "present"), 2);
    json_decref(object);
    run(&process, 0, "check --heads 3 --has-invalid 0");
    process_free(&process);
}

static void a_bundle_that_is_not_trusted_is_refused(void **state)
{
    (void)state;
    struct process process;
    char bundle[4096], public_key[4096];
    snprintf(bundle, sizeof bundle, "%s", state_path("templates-small/bundle.tar"));
    run(&process, 0, "cache export %s", bundle);
    assert_contains(process.out, "4 entries");
    assert_contains(process.out, "not signed");
    process_free(&process);
    snprintf(public_key, sizeof public_key, "%s", state_path("templates-small/public"));
    run(&process, 0, "cache keygen %s %s", state_path("templates-small/secret"), public_key);
    process_free(&process);

    setenv("DSAJIT_CACHE_DIR", state_path("templates-small/other-cache"), 1);
    run(&process, 1, "cache import --key %s %s", public_key, bundle);
    process_free(&process);
    assert_int_equal(small_cache_count(), 0);
    run(&process, 0, "cache import --verify-only %s", bundle);
    assert_contains(process.out, "4 good entries");
    process_free(&process);
    assert_int_equal(small_cache_count(), 0);
    small_cache_damage(bundle);
    run(&process, 1, "cache import %s", bundle);
    process_free(&process);
    assert_int_equal(small_cache_count(), 0);
}

static void exporting_what_is_missing_is_code_4(void **state)
{
    (void)state;
    struct process process;
    run(&process, 4, "cache export --heads 3,4 %s", state_path("templates-small/bundle.tar"));
    assert_contains(process.err, "heads=4");
    process_free(&process);
    assert_int_equal(small_cache_count_below("templates-small/bundle.tar"), 0);
}

int main(void)
{
#define TEST(function) cmocka_unit_test_setup(function, set_up)
    const struct CMUnitTest tests[] = {
        TEST(list_shows_and_filters_entries),
        TEST(list_sorts),
        TEST(show_describes_an_entry_by_variant_and_by_file),
        TEST(show_prints_parts_on_request),
        TEST(what_is_not_there_is_code_4),
        TEST(diff_compares_two_entries),
        TEST(stats_count_the_layers),
        TEST(path_is_the_directory),
        TEST(verify_finds_and_repairs_bad_entries),
        TEST(prune_removes_what_its_options_cover),
        TEST(clear_asks_before),
        TEST(a_bundle_travels_signed),
        TEST(a_bundle_that_is_not_trusted_is_refused),
        TEST(exporting_what_is_missing_is_code_4),
    };
    return cmocka_run_group_tests(tests, make_bundle, NULL);
}
