/* How many compiles may run at once. */
#include "compiler/jobs.h"

#include <errno.h>
#include <sched.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>
#include <cmocka.h>

static char root[4096];

/* Writes a file below `root`, making its folders. */
static void put(const char *path, const char *text)
{
    char whole[8192];
    snprintf(whole, sizeof whole, "%s%s", root, path);
    for (char *slash = strchr(whole + strlen(root) + 1, '/'); slash;
         slash = strchr(slash + 1, '/')) {
        *slash = '\0';
        assert_true(mkdir(whole, 0700) == 0 || errno == EEXIST);
        *slash = '/';
    }
    FILE *file = fopen(whole, "we");
    assert_non_null(file);
    fputs(text, file);
    assert_int_equal(fclose(file), 0);
}

static int make_root(void **state)
{
    (void)state;
    const char *folder = getenv("DSAJIT_TEST_STATE");
    assert_non_null(folder);
    snprintf(root, sizeof root, "%s/machine-XXXXXX", folder);
    assert_non_null(mkdtemp(root));
    return 0;
}

static const uint64_t mebibyte = 1 << 20;

static void nothing_is_known_without_the_kernel_s_files(void **state)
{
    (void)state;
    assert_true(jobs_free_memory(root) == UINT64_MAX);
}

static void available_memory_counts(void **state)
{
    (void)state;
    put("/proc/meminfo", "MemTotal: 999999 kB\nMemFree: 1 kB\nMemAvailable:   3145728 kB\n");
    assert_true(jobs_free_memory(root) == 3072 * mebibyte);
}

/* R12. */
static void the_tightest_control_group_counts_its_use_subtracted(void **state)
{
    (void)state;
    put("/proc/meminfo", "MemAvailable: 3145728 kB\n");
    put("/proc/self/cgroup", "0::/pod/container\n");
    put("/sys/fs/cgroup/pod/container/memory.max", "max\n");
    put("/sys/fs/cgroup/pod/container/memory.current", "1048576\n");
    assert_true(jobs_free_memory(root) == 3072 * mebibyte);
    put("/sys/fs/cgroup/pod/memory.max", "1073741824\n");
    put("/sys/fs/cgroup/pod/memory.current", "805306368\n");
    assert_true(jobs_free_memory(root) == 256 * mebibyte);
    put("/sys/fs/cgroup/pod/container/memory.max", "536870912\n");
    put("/sys/fs/cgroup/pod/container/memory.current", "536870913\n");
    assert_true(jobs_free_memory(root) == 0);
}

static void control_groups_of_version_1_count_too(void **state)
{
    (void)state;
    put("/proc/self/cgroup", "9:name=systemd:/\n4:memory:/job/7\n0::/\n");
    put("/sys/fs/cgroup/memory/job/memory.limit_in_bytes", "1073741824\n");
    put("/sys/fs/cgroup/memory/job/memory.usage_in_bytes", "536870912\n");
    put("/sys/fs/cgroup/memory/job/7/memory.limit_in_bytes", "9223372036854771712\n");
    put("/sys/fs/cgroup/memory/job/7/memory.usage_in_bytes", "4096\n");
    assert_true(jobs_free_memory(root) == 512 * mebibyte);
}

static int count_cores(void)
{
    cpu_set_t set;
    assert_int_equal(sched_getaffinity(0, sizeof set, &set), 0);
    return CPU_COUNT(&set);
}

static void cores_are_the_limit_and_one_is_the_least(void **state)
{
    (void)state;
    assert_in_range(jobs_limit(0), 1, count_cores());
    assert_in_range(jobs_limit(1000000), 1, count_cores());
    assert_int_equal(jobs_limit(1), 1);
}

/* R29: every place is taken by somebody else's process; a waiter gets one as soon as that process
 * is killed. */
static void the_machine_s_places_are_shared_and_freed_by_death(void **state)
{
    (void)state;
    assert_int_equal(setenv("XDG_RUNTIME_DIR", root, 1), 0);
    int ready[2];
    assert_int_equal(pipe(ready), 0);
    pid_t holder = fork();
    assert_true(holder >= 0);
    if (holder == 0) {
        int taken = 0;
        while (jobs_enter(0, NULL) >= 0)
            taken++;
        if (write(ready[1], &taken, sizeof taken) != sizeof taken)
            _exit(1);
        for (;;)
            pause();
    }
    int taken;
    assert_int_equal(read(ready[0], &taken, sizeof taken), sizeof taken);
    assert_int_equal(taken, count_cores());
    assert_int_equal(jobs_enter(60, NULL), -1);
    const atomic_bool cancelled = true;
    assert_int_equal(jobs_enter(60000, &cancelled), -1);

    pid_t killer = fork();
    assert_true(killer >= 0);
    if (killer == 0) {
        usleep(100000);
        kill(holder, SIGKILL);
        _exit(0);
    }
    int place = jobs_enter(60000, NULL);
    assert_true(place >= 0);
    jobs_leave(place);
    assert_int_equal(waitpid(holder, NULL, 0), holder);
    assert_int_equal(waitpid(killer, NULL, 0), killer);
    close(ready[0]);
    close(ready[1]);
}

static void without_a_folder_of_its_own_there_is_no_place_and_no_wait(void **state)
{
    (void)state;
    char path[8192];
    snprintf(path, sizeof path, "%s/dsajit-jobs", root);
    assert_int_equal(setenv("XDG_RUNTIME_DIR", root, 1), 0);
    assert_int_equal(symlink("/tmp", path), 0);
    assert_int_equal(jobs_enter(60000, NULL), -1);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup(name, make_root)
    const struct CMUnitTest tests[] = {
        TEST(nothing_is_known_without_the_kernel_s_files),
        TEST(available_memory_counts),
        TEST(the_tightest_control_group_counts_its_use_subtracted),
        TEST(control_groups_of_version_1_count_too),
        TEST(cores_are_the_limit_and_one_is_the_least),
        TEST(the_machine_s_places_are_shared_and_freed_by_death),
        TEST(without_a_folder_of_its_own_there_is_no_place_and_no_wait),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
