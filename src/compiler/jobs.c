#include "compiler/jobs.h"

#include "base/bytes.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

/* What one helper needs: 130 MiB resident were seen for the largest kernel, most of it LLVM's own
   file pages. */
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

/* Opens ROOT/FOLDER/NAME; NULL when there is none. */
static FILE *open_file(const char *root, const char *folder, const char *name)
{
    struct bytes path = {0};
    bytes_append_format(&path, "%s%s/%s", root, folder, name);
    FILE *file = bytes_failed(&path) ? NULL : fopen(bytes_text(&path), "re");
    bytes_free(&path);
    return file;
}

/* The number that a file holds, or UINT64_MAX: "max", nothing, no file. */
static uint64_t read_number(const char *root, const char *folder, const char *name)
{
    char line[64] = "", *end = line;
    FILE *file = open_file(root, folder, name);
    if (!file)
        return UINT64_MAX;
    if (fgets(line, sizeof line, file))
        line[strcspn(line, "\n")] = '\0';
    fclose(file);
    uint64_t number = strtoull(line, &end, 10);
    return end == line || *end ? UINT64_MAX : number;
}

static uint64_t available_memory(const char *root)
{
    static const char label[] = "MemAvailable:";
    uint64_t bytes = UINT64_MAX;
    char line[256];
    FILE *file = open_file(root, "/proc", "meminfo");
    while (file && fgets(line, sizeof line, file))
        if (strncmp(line, label, sizeof label - 1) == 0)
            bytes = strtoull(line + sizeof label - 1, NULL, 10) << 10;
    if (file)
        fclose(file);
    return bytes;
}

/* The files of one version of control groups. */
struct group_version {
    const char *marker; /* what stands before the path in a line of /proc/self/cgroup */
    bool starts_line;   /* the marker */
    const char *mount, *limit, *usage;
};

/* What a group leaves: its limit less its use. */
static uint64_t group_memory(const char *root, const char *folder,
                             const struct group_version *version)
{
    uint64_t limit = read_number(root, folder, version->limit);
    uint64_t usage = read_number(root, folder, version->usage);
    if (limit == UINT64_MAX || usage == UINT64_MAX)
        return UINT64_MAX;
    return limit > usage ? limit - usage : 0;
}

/* The tightest of a group and those around it: each can have a limit. */
static uint64_t group_tree_memory(const char *root, const char *path,
                                  const struct group_version *version)
{
    uint64_t least = UINT64_MAX;
    struct bytes folder = {0};
    bytes_append_format(&folder, "%s%s", version->mount, path);
    while (!bytes_failed(&folder)) {
        uint64_t left = group_memory(root, bytes_text(&folder), version);
        least = left < least ? left : least;
        const char *slash = strrchr(bytes_text(&folder), '/');
        size_t size = slash ? (size_t)(slash - bytes_text(&folder)) : 0;
        if (size < strlen(version->mount))
            break;
        folder.size = size;
        folder.data[size] = 0;
    }
    bytes_free(&folder);
    return least;
}

static uint64_t control_group_memory(const char *root)
{
    static const struct group_version versions[] = {
        {"0::", true, "/sys/fs/cgroup", "memory.max", "memory.current"},
        {":memory:", false, "/sys/fs/cgroup/memory", "memory.limit_in_bytes",
         "memory.usage_in_bytes"},
    };
    uint64_t least = UINT64_MAX;
    char *line = NULL;
    size_t capacity = 0;
    FILE *file = open_file(root, "/proc/self", "cgroup");
    while (file && getline(&line, &capacity, file) > 0) {
        line[strcspn(line, "\n")] = '\0';
        for (size_t i = 0; i < sizeof versions / sizeof *versions; i++) {
            const char *marker = strstr(line, versions[i].marker);
            if (!marker || (versions[i].starts_line && marker != line))
                continue;
            uint64_t left =
                group_tree_memory(root, marker + strlen(versions[i].marker), &versions[i]);
            least = left < least ? left : least;
        }
    }
    free(line);
    if (file)
        fclose(file);
    return least;
}

uint64_t jobs_free_memory(const char *root)
{
    uint64_t available = available_memory(root), group = control_group_memory(root);
    return available < group ? available : group;
}

int jobs_limit(int requested)
{
    uint64_t fitting = jobs_free_memory("") / helper_memory;
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
    const struct timespec pause = {.tv_nsec = PAUSE_MS * 1000000L};
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
