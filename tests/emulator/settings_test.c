/* The environment is read once a process, so each case has a process of its own. */
#include "support/gpu.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

struct expectation {
    const char *name, *value;
    hipError_t error; /* of hipGetDeviceCount */
    int count;
    const char *reason; /* part of it */
};

/* In the child: 0 if all is as expected. */
static int check(const struct expectation *expected)
{
    struct gpu gpu;
    int count = -1;
    setenv(expected->name, expected->value, 1);
    gpu_open(&gpu);
    if (gpu.hip.hipGetDeviceCount(&count) != expected->error || count != expected->count)
        return 1;
    if (expected->error && !strstr(gpu.error(), expected->reason))
        return 2;
    /* No device, no anything. */
    void *pointer;
    hipStream_t stream;
    if (expected->error && (gpu.hip.hipMalloc(&pointer, 16) != expected->error ||
                            gpu.hip.hipStreamCreateWithFlags(&stream, 0) != expected->error ||
                            gpu.hip.hipDeviceSynchronize() != expected->error))
        return 3;
    gpu_close(&gpu);
    return 0;
}

static void settings_are_checked(void **state)
{
    (void)state;
    static const struct expectation cases[] = {
        {"DSAJIT_EMULATOR_DEVICES", "3", hipSuccess, 3, NULL},
        {"DSAJIT_EMULATOR_DEVICES", "", hipSuccess, 1, NULL},
        {"DSAJIT_EMULATOR_DEVICES", "0", hipErrorNoDevice, 0, "DSAJIT_EMULATOR_DEVICES is 0"},
        {"DSAJIT_EMULATOR_DEVICES", "17", hipErrorNotInitialized, 0, "not a number from 0 to 16"},
        {"DSAJIT_EMULATOR_DEVICES", "-1", hipErrorNotInitialized, 0, "DSAJIT_EMULATOR_DEVICES"},
        {"DSAJIT_EMULATOR_THREADS", "many", hipErrorNotInitialized, 0, "\"many\""},
        {"DSAJIT_EMULATOR_THREADS", "4x", hipErrorNotInitialized, 0, "\"4x\""},
        {"DSAJIT_EMULATOR_MEMORY_GIB", "0", hipErrorNotInitialized, 0, "from 1 to 288"},
        {"DSAJIT_EMULATOR_SCHEDULE", "99999999999999999999", hipErrorNotInitialized, 0,
         "DSAJIT_EMULATOR_SCHEDULE"},
        {"DSAJIT_EMULATOR_CHECK_UNINITIALISED", "2", hipErrorNotInitialized, 0, "from 0 to 1"},
        {"DSAJIT_EMULATOR_SCHEDULE", "0x10", hipSuccess, 1, NULL},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        int status;
        pid_t child = fork();
        assert_true(child >= 0);
        if (!child)
            _exit(check(&cases[i]));
        assert_int_equal(waitpid(child, &status, 0), child);
        if (status)
            fail_msg("%s=%s: status 0x%x", cases[i].name, cases[i].value, (unsigned)status);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(settings_are_checked),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
