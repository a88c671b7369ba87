/* R41: which GPUs the kernels are for. They are compiled for any sramecc and xnack setting, so that
   the processor's name alone decides; the whole of it, not its start. */
#include "dsajit/dsajit.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

static dsajit_status open_on(const char *target, dsajit_context **context, dsajit_error *error)
{
    dsajit_options options = DSAJIT_OPTIONS_DEFAULT;
    options.device = DSAJIT_DEVICE_HIP;
    options.hip_library = RETARGETED_HIP;
    setenv("DSAJIT_TEST_TARGET", target, 1);
    return dsajit_open(&options, context, error);
}

static void every_setting_of_a_served_processor_is_served(void **state)
{
    (void)state;
    static const char *const targets[] = {"gfx950", "gfx950:sramecc+:xnack-", "gfx950:xnack-",
                                          "gfx950:sramecc-:xnack+", "gfx950:sramecc+"};
    for (size_t i = 0; i < sizeof targets / sizeof *targets; i++) {
        dsajit_context *context;
        dsajit_device_info info;
        dsajit_error error;
        if (open_on(targets[i], &context, &error))
            fail_msg("%s: %s", targets[i], error.message);
        assert_int_equal(dsajit_get_device_info(context, &info, NULL), DSAJIT_OK);
        assert_int_equal(info.kind, DSAJIT_DEVICE_HIP);
        assert_string_equal(info.target, targets[i]);
        dsajit_close(context);
    }
}

static void other_processors_are_not(void **state)
{
    (void)state;
    static const char *const targets[] = {"gfx942",        "gfx942:sramecc+:xnack-",
                                          "gfx90a",        "gfx1250",
                                          "gfx9500",       "gfx95",
                                          "GFX950",        "",
                                          ":gfx950",       "gfx950 ",
                                          "gfx950-generic"};
    for (size_t i = 0; i < sizeof targets / sizeof *targets; i++) {
        dsajit_context *context;
        dsajit_error error;
        dsajit_status status = open_on(targets[i], &context, &error);
        if (status != DSAJIT_ERROR_NO_DEVICE)
            fail_msg("%s: status %d", targets[i], (int)status);
        assert_null(context);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_setting_of_a_served_processor_is_served),
        cmocka_unit_test(other_processors_are_not),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
