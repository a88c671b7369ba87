/* Kernels from a cache on a device, the emulator: a layer that nobody can write and no compiler
   (R47), an entry that the device refuses (R33), no cache at all (R40). */
#include "../runtime/small_templates.h"
#include "runtime/code.h"
#include "support.h"

#include "dsajit/cache.h"

#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

static const char variant_text[] =
    "sparse_mla/gfx950/heads=4,has_invalid=0,return_lse=0,index=i32,scale=pow2,math=bf16";

static char templates[PATH_SIZE];
static dsajit_plan *plan;

static int set_up(void **state)
{
    (void)state;
    fresh_folder("device_templates", templates);
    write_template(templates, "");
    assert_int_equal(dsajit_plan_create(&plan, NULL), DSAJIT_OK);
    assert_int_equal(dsajit_plan_add(plan, variant_text, NULL), DSAJIT_OK);
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    dsajit_plan_free(plan);
    return 0;
}

static dsajit_context *open_context(const char *cache, const char *const *prebuilt,
                                    const char *rocm, struct log_lines *lines)
{
    static const char *const none[] = {NULL};
    const struct logger logger = counting_logger(lines);
    dsajit_options options = DSAJIT_OPTIONS_DEFAULT;
    options.device = DSAJIT_DEVICE_EMULATOR;
    options.cache_directory = cache;
    options.prebuilt = prebuilt ? prebuilt : none;
    options.rocm_path = rocm;
    options.template_directory = templates;
    options.log = logger.function;
    options.log_user = logger.user;
    dsajit_context *context;
    dsajit_error error;
    if (dsajit_open(&options, &context, &error))
        fail_msg("%s", error.message);
    return context;
}

/* Loads the plan's variant, launches it once and waits for it; fails the test unless its code came
   from `origin`. */
static void run(dsajit_context *context, dsajit_origin origin)
{
    dsajit_warm_options options = DSAJIT_WARM_OPTIONS_DEFAULT;
    dsajit_warm_report report;
    dsajit_error error;
    options.level = DSAJIT_WARM_RESIDENT;
    if (dsajit_warmup(context, plan, &options, &report, &error))
        fail_msg("%s", error.message);
    assert_int_equal(report.results[0].origin, origin);
    dsajit_warm_report_free(&report);
}

static uint64_t compiles(dsajit_context *context)
{
    dsajit_cache_statistics statistics;
    assert_int_equal(dsajit_cache_get_statistics(context, &statistics, NULL), DSAJIT_OK);
    const uint64_t count = statistics.compiles;
    dsajit_cache_statistics_free(&statistics);
    return count;
}

/* ---- Read-only, and no compiler ---- */

/* A mount that even root can't write, in a namespace of the test's own; false where that isn't
   allowed. */
static bool mount_read_only(const char *folder)
{
    return !unshare(CLONE_NEWNS) && !mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) &&
           !mount(folder, folder, NULL, MS_BIND, NULL) &&
           !mount(NULL, folder, NULL, MS_BIND | MS_REMOUNT | MS_RDONLY, NULL);
}

static bool is_writable(const char *folder)
{
    char path[PATH_SIZE + 16];
    snprintf(path, sizeof path, "%s/probe", folder);
    FILE *file = fopen(path, "we");
    if (!file)
        return false;
    fclose(file);
    unlink(path);
    return true;
}

static void fill(const char *layer)
{
    struct log_lines lines;
    dsajit_context *context = open_context(layer, NULL, NULL, &lines);
    run(context, DSAJIT_ORIGIN_COMPILED); /* and the emulator adds what it reads from the code */
    dsajit_close(context);
}

/* R47, R21: no lock file, no temporary file, no helper, no libhiprtc. */
static void a_read_only_layer_serves_without_a_compiler(void **state)
{
    (void)state;
    char layer[PATH_SIZE], before[2 * PATH_SIZE];
    struct log_lines lines;
    fresh_folder("device_layer", layer);
    fill(layer);
    shell("find '%s' -name '*.lock' -delete -o -name 'toolchain-*' -delete", layer);
    snprintf(before, sizeof before, "%s.before", layer);
    shell("find '%s' -printf '%%p %%s %%T@ %%C@\\n' | sort >'%s'", layer, before);
    if (!mount_read_only(layer))
        shell("chmod -R a-w '%s'", layer);
    if (is_writable(layer))
        skip(); /* root without the right to mount */

    const char *const prebuilt[] = {layer, NULL};
    dsajit_context *context = open_context("", prebuilt, "/nonexistent/rocm", &lines);
    const uint64_t helpers = compiler_start_count();
    run(context, DSAJIT_ORIGIN_PREBUILT);
    assert_int_equal(compiles(context), 0);
    assert_int_equal(compiler_start_count(), helpers);
    assert_int_equal(lines.warnings, 0);
    dsajit_close(context);
    shell("find '%s' -printf '%%p %%s %%T@ %%C@\\n' | sort | cmp - '%s'", layer, before);
}

/* The same as the environment would have it, and with a writable layer in front. */
static void a_prebuilt_layer_serves_beside_an_empty_cache(void **state)
{
    (void)state;
    char layer[PATH_SIZE], own[PATH_SIZE];
    struct log_lines lines;
    fresh_folder("device_layer_2", layer);
    fresh_folder("device_own", own);
    fill(layer);
    const char *const prebuilt[] = {layer, NULL};
    dsajit_context *context = open_context(own, prebuilt, "/nonexistent/rocm", &lines);
    run(context, DSAJIT_ORIGIN_PREBUILT);
    assert_int_equal(lines.warnings, 0);
    dsajit_close(context);
    assert_int_equal(count_files(own, "*"), 0);
}

/* ---- What the device refuses ---- */

/* Puts another code under the variant's key: a whole entry of something that is no code object. */
static void replace_code(const char *cache, const void *code, size_t size)
{
    struct log_lines lines;
    dsajit_context *context = open_context(cache, NULL, NULL, &lines);
    struct variant variant;
    struct cache_key key = {0};
    struct bytes source = {0};
    struct cache_entry entry;
    assert_int_equal(variant_parse(variant_text, &variant, NULL), DSAJIT_OK);
    assert_int_equal(code_key(context, &variant, &key, &source, NULL), DSAJIT_OK);
    assert_int_equal(cache_get(context->cache, &key, &entry, NULL), DSAJIT_OK);
    struct cache_section sections[CACHE_SECTIONS_MAX];
    for (size_t i = 0; i < entry.section_count; i++) {
        sections[i] = entry.sections[i];
        if (!strcmp(sections[i].name, "code"))
            sections[i] = (struct cache_section){"code", code, size};
    }
    assert_int_equal(cache_publish(context->cache, &key, sections, entry.section_count, NULL),
                     DSAJIT_OK);
    cache_entry_free(&entry);
    bytes_free(&source);
    cache_key_free(&key);
    dsajit_close(context);
}

/* R33: hipErrorInvalidImage and its kin cost one compile and one warning. */
static void a_refused_entry_is_compiled_again_once(void **state)
{
    (void)state;
    static const char garbage[] = "\x7f"
                                  "ELF, but nothing that a driver would load";
    char cache[PATH_SIZE];
    struct log_lines lines;
    fresh_folder("device_refused", cache);
    fill(cache);
    replace_code(cache, garbage, sizeof garbage);

    dsajit_context *context = open_context(cache, NULL, NULL, &lines);
    run(context, DSAJIT_ORIGIN_CACHE); /* as it was found, before the device was asked */
    assert_int_equal(compiles(context), 1);
    assert_int_equal(lines.warnings, 1);
    assert_contains(lines.last, "refuses");
    dsajit_close(context);

    context = open_context(cache, NULL, NULL, &lines);
    run(context, DSAJIT_ORIGIN_CACHE);
    assert_int_equal(compiles(context), 0);
    assert_int_equal(lines.warnings, 0);
    dsajit_close(context);
}

/* ---- No cache ---- */

/* R40: a kernel owns its code, whether or not there is a cache; the sanitizers watch. */
static void without_a_cache_kernels_stay_usable(void **state)
{
    (void)state;
    struct log_lines lines;
    dsajit_context *context = open_context("", NULL, NULL, &lines);
    run(context, DSAJIT_ORIGIN_COMPILED);
    for (int i = 0; i < 3; i++) {
        dsajit_warm_options options = DSAJIT_WARM_OPTIONS_DEFAULT;
        options.level = DSAJIT_WARM_RESIDENT;
        assert_int_equal(dsajit_warmup(context, plan, &options, NULL, NULL), DSAJIT_OK);
    }
    assert_int_equal(dsajit_assert_warm(context, plan, 0, NULL, NULL), DSAJIT_OK);
    dsajit_close(context);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_prebuilt_layer_serves_beside_an_empty_cache),
        cmocka_unit_test(a_refused_entry_is_compiled_again_once),
        cmocka_unit_test(without_a_cache_kernels_stay_usable),
        /* Last: it leaves the process in a namespace of its own. */
        cmocka_unit_test(a_read_only_layer_serves_without_a_compiler),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
