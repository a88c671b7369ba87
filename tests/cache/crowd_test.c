/* R25, R26, R27: 32 processes start at once on an empty cache and use it 200 times each. Every
   variant is compiled once, nobody sees an error. On the build's file system, in memory, and on an
   overlay, as containers have. */
#include "fake_toolchain.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/wait.h>
#include <unistd.h>

enum { PROCESSES = 32, ROUNDS = 200 };

static struct fake_toolchain toolchain;

static int make_toolchain(void **state)
{
    (void)state;
    fake_toolchain_make("crowd_toolchain", &toolchain);
    return 0;
}

/* One process's life; 0 when all went well, else what went wrong. */
static int use_cache(const char *cache, unsigned seed)
{
    struct log_lines lines;
    dsajit_context *context = fake_toolchain_open(&toolchain, cache, &lines);
    int failures = 0;
    for (unsigned round = 0; round < ROUNDS; round++) {
        char variant[128];
        dsajit_kernel_info info;
        dsajit_error error;
        /* All of them begin with the same variants, as the ranks of a job do. */
        fake_toolchain_variant((int)((round < 8 ? round : round * 7 + seed) % FAKE_VARIANTS),
                               variant);
        if (dsajit_prepare(context, variant, &info, &error)) {
            fprintf(stderr, "%s\n", error.message);
            failures = 1;
        }
    }
    if (lines.warnings) {
        fprintf(stderr, "%d warnings, the last: %s\n", lines.warnings, lines.last);
        failures = 2;
    }
    dsajit_close(context);
    return failures;
}

static void let_them_in(const char *cache)
{
    int start[2], before = fake_toolchain_compiles(&toolchain);
    char byte;
    assert_int_equal(pipe(start), 0);
    for (unsigned i = 0; i < PROCESSES; i++) {
        pid_t child = fork();
        assert_true(child >= 0);
        if (child == 0) {
            close(start[1]);
            if (read(start[0], &byte, 1) != 0) /* until the parent closes its end */
                _exit(4);
            _exit(use_cache(cache, i));
        }
    }
    close(start[0]);
    close(start[1]);
    for (unsigned i = 0; i < PROCESSES; i++) {
        int status;
        assert_true(wait(&status) > 0);
        assert_int_equal(status, 0);
    }
    assert_int_equal(fake_toolchain_compiles(&toolchain) - before, FAKE_VARIANTS);
    assert_int_equal(count_files(cache, "*.dsajit"), FAKE_VARIANTS);
    assert_int_equal(count_files(cache, ".tmp-*"), 0);
    assert_int_equal(count_files(cache, "*.bad"), 0);
}

static void each_variant_is_compiled_once(void **state)
{
    (void)state;
    char cache[PATH_SIZE];
    fresh_folder("crowd", cache);
    let_them_in(cache);
}

static void so_it_is_in_memory(void **state)
{
    (void)state;
    char cache[] = "/dev/shm/dsajit-test-XXXXXX";
    if (!mkdtemp(cache))
        skip();
    let_them_in(cache);
    shell("rm -rf '%s'", cache);
}

static void and_on_an_overlay(void **state)
{
    (void)state;
    char base[] = "/dev/shm/dsajit-test-XXXXXX", options[256], cache[64];
    if (!mkdtemp(base))
        skip();
    shell("mkdir '%s/lower' '%s/upper' '%s/work' '%s/merged'", base, base, base, base);
    snprintf(options, sizeof options, "lowerdir=%s/lower,upperdir=%s/upper,workdir=%s/work", base,
             base, base);
    snprintf(cache, sizeof cache, "%s/merged", base);
    bool mounted = !mount("overlay", cache, "overlay", 0, options);
    if (mounted) {
        let_them_in(cache);
        assert_int_equal(umount(cache), 0);
    }
    shell("rm -rf '%s'", base);
    if (!mounted)
        skip();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_variant_is_compiled_once),
        cmocka_unit_test(so_it_is_in_memory),
        cmocka_unit_test(and_on_an_overlay),
    };
    return cmocka_run_group_tests(tests, make_toolchain, NULL);
}
