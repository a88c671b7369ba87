#include "compiler/jobs.h"

#include "base/bytes.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

/* What one helper needs: 130 MiB resident were seen for the largest kernel, most of it LLVM's own
 * file pages. */
static const uint64_t helper_memory = 256ull << 20;

/* ---- Limits ---- */

static int usable_cores(void)
{
    cpu_set_t set;
    if (sched_getaffinity(0, sizeof set, &set) == 0)
        return CPU_COUNT(&set);
    long online = sysconf(_SC_NPROCESSORS_ONLN);
    return online > 0 ? (int)online : 1;
}

/* The first number in a file, or UINT64_MAX: "max", no number, no file. */
static uint64_t read_number(const char *path)
{
    uint64_t number = UINT64_MAX;
    FILE *file = fopen(path, "re");
    if (!file)
        return UINT64_MAX;
    if (fscanf(file, "%" SCNu64, &number) != 1)
        number = UINT64_MAX;
    fclose(file);
    return number;
}

static uint64_t available_memory(void)
{
    uint64_t kibibytes = UINT64_MAX >> 10;
    char line[256];
    FILE *file = fopen("/proc/meminfo", "re");
    if (!file)
        return UINT64_MAX;
    while (fgets(line, sizeof line, file))
        if (sscanf(line, "MemAvailable: %" SCNu64, &kibibytes) == 1)
            break;
    fclose(file);
    return kibibytes << 10;
}

/* What a control group leaves: its limit less its use. */
static uint64_t group_memory(const char *folder, const char *limit_file, const char *usage_file)
{
    struct bytes limit_path = {0}, usage_path = {0};
    bytes_append_format(&limit_path, "%s/%s", folder, limit_file);
    bytes_append_format(&usage_path, "%s/%s", folder, usage_file);
    uint64_t limit = UINT64_MAX, usage = 0;
    if (!bytes_failed(&limit_path) && !bytes_failed(&usage_path)) {
        limit = read_number(bytes_text(&limit_path));
        usage = read_number(bytes_text(&usage_path));
    }
    bytes_free(&limit_path);
    bytes_free(&usage_path);
    if (limit == UINT64_MAX || usage == UINT64_MAX)
        return UINT64_MAX;
    return limit > usage ? limit - usage : 0;
}

/* The tightest of a group and those around it: each can have a limit. Changes `folder`. */
static uint64_t group_tree_memory(char *folder, size_t root_size, const char *limit_file,
                                  const char *usage_file)
{
    uint64_t least = UINT64_MAX;
    for (;;) {
        uint64_t left = group_memory(folder, limit_file, usage_file);
        least = left < least ? left : least;
        char *slash = strrchr(folder, '/');
        if (!slash || (size_t)(slash - folder) < root_size)
            return least;
        *slash = '\0';
    }
}

/* Both versions of control groups: a line "ID:CONTROLLERS:PATH" of /proc/self/cgroup. */
static uint64_t control_group_memory(void)
{
    static const struct {
        const char *marker, *root, *limit, *usage;
    } versions[] = {
        {"0::", "/sys/fs/cgroup", "memory.max", "memory.current"},
        {":memory:", "/sys/fs/cgroup/memory", "memory.limit_in_bytes", "memory.usage_in_bytes"},
    };
    uint64_t least = UINT64_MAX;
    char *line = NULL;
    size_t capacity = 0;
    FILE *file = fopen("/proc/self/cgroup", "re");
    while (file && getline(&line, &capacity, file) > 0) {
        line[strcspn(line, "\n")] = '\0';
        for (size_t i = 0; i < 2; i++) {
            const char *path = strstr(line, versions[i].marker);
            if (!path || (i == 0 && path != line))
                continue;
            struct bytes folder = {0};
            bytes_append_format(&folder, "%s%s", versions[i].root,
                                path + strlen(versions[i].marker));
            if (!bytes_failed(&folder)) {
                uint64_t left = group_tree_memory((char *)folder.data, strlen(versions[i].root),
                                                  versions[i].limit, versions[i].usage);
                least = left < least ? left : least;
            }
            bytes_free(&folder);
        }
    }
    free(line);
    if (file)
        fclose(file);
    return least;
}

int jobs_limit(int requested)
{
    uint64_t memory = available_memory(), group = control_group_memory();
    uint64_t fitting = (memory < group ? memory : group) / helper_memory;
    int limit = usable_cores();
    if (fitting < (uint64_t)limit)
        limit = (int)fitting;
    if (requested > 0 && requested < limit)
        limit = requested;
    return limit > 0 ? limit : 1;
}

/* ---- Places ---- */

/* A folder of this user's alone, for lock files: below XDG_RUNTIME_DIR, else below /tmp with the
   user's number in its name. -1 when it can't be made or isn't ours. */
static int open_places(void)
{
    const char *runtime = secure_getenv("XDG_RUNTIME_DIR");
    struct bytes path = {0};
    if (runtime && *runtime == '/')
        bytes_append_format(&path, "%s/dsajit-jobs", runtime);
    else
        bytes_append_format(&path, "/tmp/dsajit-jobs-%ju", (uintmax_t)geteuid());
    int folder = -1;
    if (!bytes_failed(&path) && (mkdir(bytes_text(&path), 0700) == 0 || errno == EEXIST))
        folder = open(bytes_text(&path), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    bytes_free(&path);
    struct stat status;
    if (folder >= 0 && (fstat(folder, &status) || status.st_uid != geteuid() ||
                        status.st_mode & (S_IWGRP | S_IWOTH))) {
        close(folder);
        return -1;
    }
    return folder;
}

/* Tries every place once. -1: all taken, -2: they can't be used at all. */
static int try_places(int folder, int count)
{
    int reachable = -2;
    for (int i = 0; i < count; i++) {
        char name[32];
        snprintf(name, sizeof name, "%d.lock", i);
        int place = openat(folder, name, O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600);
        if (place < 0)
            continue;
        if (flock(place, LOCK_EX | LOCK_NB) == 0)
            return place;
        if (errno == EWOULDBLOCK)
            reachable = -1;
        close(place);
    }
    return reachable;
}

int jobs_enter(int timeout_ms, const atomic_bool *cancel)
{
    enum { PAUSE_MS = 20 };
    const struct timespec pause = {.tv_nsec = PAUSE_MS * 1000000l};
    int folder = open_places();
    if (folder < 0)
        return -1;
    int place = try_places(folder, usable_cores());
    for (int waited = 0; place == -1 && waited < timeout_ms; waited += PAUSE_MS) {
        if (cancel && atomic_load(cancel))
            break;
        nanosleep(&pause, NULL);
        place = try_places(folder, usable_cores());
    }
    close(folder);
    return place < 0 ? -1 : place;
}

void jobs_leave(int place)
{
    if (place >= 0)
        close(place);
}
