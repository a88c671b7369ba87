/* The environment: what it makes of a context, and what in it nothing knows. */
#include "dsajit/inspect.h"
#include "dsajit/warmup.h"

#include <ftw.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

/* One setting, copied while it is shown. */
struct seen {
    const char *wanted;
    size_t count;
    bool known;
    char value[4096], origin[128];
};

static bool look(void *user, const dsajit_setting *setting)
{
    struct seen *seen = user;
    if (strcmp(setting->variable, seen->wanted) != 0)
        return true;
    seen->count++;
    seen->known = setting->meaning != NULL;
    snprintf(seen->value, sizeof seen->value, "%s", setting->value ? setting->value : "(none)");
    snprintf(seen->origin, sizeof seen->origin, "%s", setting->origin);
    return true;
}

static struct seen find(const char *variable)
{
    struct seen seen = {.wanted = variable};
    assert_int_equal(dsajit_visit_settings(look, &seen, NULL), DSAJIT_OK);
    return seen;
}

static void expect(const char *variable, const char *value, const char *origin)
{
    const struct seen seen = find(variable);
    assert_int_equal(seen.count, 1);
    assert_true(seen.known);
    assert_string_equal(seen.value, value);
    assert_string_equal(seen.origin, origin);
}

static void a_variable_wins_over_what_is_usual(void **state)
{
    (void)state;
    expect("DSAJIT_STRICT", "0", "default");
    setenv("DSAJIT_STRICT", "1", 1);
    expect("DSAJIT_STRICT", "1", "DSAJIT_STRICT");
    setenv("DSAJIT_STRICT", "", 1); /* empty is unset */
    expect("DSAJIT_STRICT", "0", "default");
    unsetenv("DSAJIT_STRICT");
    expect("DSAJIT_COMPILER", getenv("DSAJIT_COMPILER"), "DSAJIT_COMPILER");
    expect("DSAJIT_HIP_LIBRARY", "(none)", "default");
}

/* R56: one directory tree, and the tool can show it. */
static void the_cache_directory_says_what_chose_it(void **state)
{
    (void)state;
    char path[4096], *home = strdup(getenv("HOME")), *caches = strdup(getenv("XDG_CACHE_HOME"));
    setenv("DSAJIT_CACHE_DIR", "/some/where", 1);
    expect("DSAJIT_CACHE_DIR", "/some/where", "DSAJIT_CACHE_DIR");
    unsetenv("DSAJIT_CACHE_DIR");
    snprintf(path, sizeof path, "%s/dsajit", caches);
    expect("DSAJIT_CACHE_DIR", path, "XDG_CACHE_HOME");
    unsetenv("XDG_CACHE_HOME");
    snprintf(path, sizeof path, "%s/.cache/dsajit", home);
    expect("DSAJIT_CACHE_DIR", path, "home directory");
    setenv("XDG_CACHE_HOME", caches, 1);
    free(home);
    free(caches);
}

static void a_value_that_is_refused_is_named_after_all_were_shown(void **state)
{
    (void)state;
    static const char *const wrong[][2] = {
        {"DSAJIT_STRICT", "maybe"},
        {"DSAJIT_DEVICE", "cpu"},
        {"DSAJIT_COMPILE_TIMEOUT_MS", "1s"},
        {"DSAJIT_JOBS", "0"},
    };
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        struct seen seen = {.wanted = "DSAJIT_EMULATOR_CHECK_UNINITIALISED"};
        dsajit_error error;
        setenv(wrong[i][0], wrong[i][1], 1);
        assert_int_equal(dsajit_visit_settings(look, &seen, &error), DSAJIT_ERROR_INVALID_ARGUMENT);
        assert_non_null(strstr(error.message, wrong[i][0]));
        assert_non_null(strstr(error.message, wrong[i][1]));
        assert_int_equal(seen.count, 1);
        unsetenv(wrong[i][0]);
    }
}

struct warnings {
    size_t count;
    char last[256];
};

static void keep_warning(void *user, dsajit_log_level level, const char *message)
{
    struct warnings *warnings = user;
    if (level != DSAJIT_LOG_WARNING)
        return;
    warnings->count++;
    snprintf(warnings->last, sizeof warnings->last, "%s", message);
}

static void open_and_close(struct warnings *warnings)
{
    dsajit_options options = DSAJIT_OPTIONS_DEFAULT;
    dsajit_context *context;
    options.device = DSAJIT_DEVICE_NONE;
    options.cache_directory = "";
    options.log = keep_warning;
    options.log_user = warnings;
    *warnings = (struct warnings){0};
    assert_int_equal(dsajit_open(&options, &context, NULL), DSAJIT_OK);
    dsajit_close(context);
}

static void a_misspelled_variable_costs_a_warning(void **state)
{
    (void)state;
    struct warnings warnings;
    open_and_close(&warnings);
    assert_int_equal(warnings.count, 0);
    setenv("DSAJIT_CACHE_DRI", "/some/where", 1);
    open_and_close(&warnings);
    assert_int_equal(warnings.count, 1);
    assert_non_null(strstr(warnings.last, "DSAJIT_CACHE_DRI"));
    const struct seen seen = find("DSAJIT_CACHE_DRI");
    assert_int_equal(seen.count, 1);
    assert_false(seen.known);
    assert_string_equal(seen.value, "/some/where");
    unsetenv("DSAJIT_CACHE_DRI");
}

static void the_environment_can_limit_the_jobs_of_a_warmup(void **state)
{
    (void)state;
    dsajit_options options = DSAJIT_OPTIONS_DEFAULT;
    dsajit_context *context;
    dsajit_plan *plan;
    dsajit_error error;
    options.device = DSAJIT_DEVICE_NONE;
    options.cache_directory = "";
    assert_int_equal(dsajit_open(&options, &context, NULL), DSAJIT_OK);
    assert_int_equal(dsajit_plan_create(&plan, NULL), DSAJIT_OK);
    setenv("DSAJIT_JOBS", "many", 1);
    assert_int_equal(dsajit_warmup(context, plan, NULL, NULL, &error),
                     DSAJIT_ERROR_INVALID_ARGUMENT);
    assert_non_null(strstr(error.message, "DSAJIT_JOBS"));
    setenv("DSAJIT_JOBS", "1", 1);
    assert_int_equal(dsajit_warmup(context, plan, NULL, NULL, &error), DSAJIT_OK);
    unsetenv("DSAJIT_JOBS");
    dsajit_plan_free(plan);
    dsajit_close(context);
}

/* ---- The table against the sources ---- */

static size_t variables_in_sources;

/* Every "DSAJIT_NAME" that a source file has in quotes is the name of a variable. */
static int check_source(const char *path, const struct stat *about, int kind, struct FTW *place)
{
    (void)about, (void)place;
    static const char letters[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZ_";
    const char *dot = strrchr(path, '.');
    if (kind != FTW_F || !dot || strcmp(dot, ".c") != 0)
        return 0;
    char *text = NULL;
    size_t room = 0;
    FILE *file = fopen(path, "re");
    assert_non_null(file);
    if (getdelim(&text, &room, '\0', file) < 0)
        fail_msg("%s is empty", path);
    fclose(file);
    for (const char *at = text; (at = strstr(at, "\"DSAJIT_"));) {
        char name[128];
        const size_t size = strspn(++at, letters);
        if (at[size] != '"' || at[size - 1] == '_')
            continue; /* another text, or the beginning that all names share */
        snprintf(name, sizeof name, "%.*s", (int)size, at);
        const struct seen seen = find(name);
        if (seen.count != 1 || !seen.known)
            fail_msg("%s reads %s, which dsajit_visit_settings does not show", path, name);
        variables_in_sources++;
    }
    free(text);
    return 0;
}

static void every_variable_that_is_read_is_a_setting(void **state)
{
    (void)state;
    static const char *const folders[] = {"src", "helper", "tools"};
    for (size_t i = 0; i < sizeof folders / sizeof *folders; i++) {
        char path[4096];
        snprintf(path, sizeof path, "%s/%s", getenv("DSAJIT_TEST_SOURCE"), folders[i]);
        assert_int_equal(nftw(path, check_source, 16, FTW_PHYS), 0);
    }
    assert_true(variables_in_sources >= 20);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_variable_wins_over_what_is_usual),
        cmocka_unit_test(the_cache_directory_says_what_chose_it),
        cmocka_unit_test(a_value_that_is_refused_is_named_after_all_were_shown),
        cmocka_unit_test(a_misspelled_variable_costs_a_warning),
        cmocka_unit_test(the_environment_can_limit_the_jobs_of_a_warmup),
        cmocka_unit_test(every_variable_that_is_read_is_a_setting),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
