/* What LLVM prints for gfx950 is what decoding understands. */
#include "harness.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { LINES_MAX = 4096, LINES_EXPECTED = 2000 };

/* Each line decodes, or if it begins with "-" is known not to. */
static void every_line_decodes(void **state)
{
    (void)state;
    static bool served[LINES_MAX];
    const char *root = getenv("DSAJIT_TEST_SOURCE");
    assert_non_null(root);
    char path[4096], line[256];
    snprintf(path, sizeof path, "%s/tests/emulator/disassembly.txt", root);
    FILE *file = fopen(path, "r");
    assert_non_null(file);
    struct bytes assembly = {0};
    size_t count = 0;
    while (fgets(line, sizeof line, file)) {
        if (line[0] == '#')
            continue;
        assert_true(count < LINES_MAX);
        served[count] = line[0] != '-';
        bytes_append_text(&assembly, served[count] ? line : line + 1);
        ++count;
    }
    fclose(file);
    assert_true(count > LINES_EXPECTED);

    struct harness harness;
    harness_create(&harness, bytes_text(&assembly));
    bytes_free(&assembly);
    assert_int_equal(harness.program.instruction_count, count + 1);
    for (size_t i = 0; i < count; ++i) {
        const struct instruction *instruction = &harness.program.instructions[i];
        if (served[i] && instruction->defect)
            fail_msg("%s: %s", instruction->text, instruction->defect);
        if (!served[i] && !instruction->defect)
            fail_msg("%s decodes", instruction->text);
    }
    harness_destroy(&harness);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_line_decodes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
