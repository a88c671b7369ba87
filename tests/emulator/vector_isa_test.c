/* Every vector instruction of gfx950 has a row that takes its operands. */
#include "harness.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void every_instruction_decodes(void **state)
{
    (void)state;
    const char *root = getenv("DSAJIT_TEST_SOURCE");
    assert_non_null(root);
    char path[4096];
    snprintf(path, sizeof path, "%s/tests/emulator/vector_isa.txt", root);
    FILE *file = fopen(path, "r");
    assert_non_null(file);
    struct bytes assembly = {0};
    char line[256];
    while (fgets(line, sizeof line, file))
        if (line[0] != '#')
            bytes_append_format(&assembly, "%s", line);
    fclose(file);

    struct harness harness;
    harness_create(&harness, bytes_text(&assembly));
    bytes_free(&assembly);
    assert_true(harness.program.instruction_count > 500);
    for (size_t i = 0; i < harness.program.instruction_count; i++) {
        const struct instruction *instruction = &harness.program.instructions[i];
        if (instruction->defect)
            fail_msg("%s: %s", instruction->text, instruction->defect);
    }
    harness_destroy(&harness);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_instruction_decodes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
