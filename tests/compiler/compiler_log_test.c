/* Temporary paths are cut from logs, and nothing else. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <cmocka.h>

#include "compiler_log.h"

static void expect(const char *log, const char *expected)
{
    char text[512];
    snprintf(text, sizeof text, "%s", log);
    strip_temporary_paths(text);
    assert_string_equal(text, expected);
}

static void a_source_is_shown_by_its_name(void **state)
{
    (void)state;
    expect("/tmp/comgr-20341-0-f190b9/input/a.hip:1:4: error: x\n", "a.hip:1:4: error: x\n");
    expect(
        "In file included from /tmp/comgr-1-0-ab/input/a.hip:1:\n/tmp/comgr-1-0-ab/input/b/c.h:2",
        "In file included from a.hip:1:\nb/c.h:2");
    expect("note: '/var/t/comgr-9-9-9/input/x' and \"/comgr-9-9-9/input/y\"",
           "note: 'x' and \"y\"");
}

static void the_rest_stays(void **state)
{
    (void)state;
    static const char *const logs[] = {
        "",
        "/comgr-",
        "/comgr-1 /input/x",
        "warning: comgr-1-2-3/input/x",
        "a/b/input/c\n",
        "/tmp/comgr-1-0-ab/include/x.h",
        "/comgr-1/comgr-2",
    };
    for (size_t i = 0; i < sizeof logs / sizeof *logs; i++)
        expect(logs[i], logs[i]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_source_is_shown_by_its_name),
        cmocka_unit_test(the_rest_stays),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
