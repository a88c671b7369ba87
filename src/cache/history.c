#include "cache/history.h"

#include "base/file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

/* A file that has grown to HISTORY_FULL starts anew; a reader looks no further than READ_MAX. */
enum { HISTORY_FULL = 4096, READ_MAX = 2 * HISTORY_FULL, LINE_MAX_SIZE = 512 };

static const struct {
    const char *word;     /* in the file */
    const char *sentence; /* after who and when */
} events[HISTORY_EVENT_COUNT] = {
    [HISTORY_BEGAN] = {"began", "began to compile it and has not finished"},
    [HISTORY_PUBLISHED] = {"published", "published it, and it has vanished since"},
    [HISTORY_NOT_KEPT] = {"not-kept", "compiled it but could not keep it"},
    [HISTORY_DAMAGED] = {"damaged", "found it damaged and moved it aside"},
    [HISTORY_EVICTED] = {"evicted",
                         "removed it to keep the cache below its limit (DSAJIT_CACHE_MAX_SIZE)"},
    [HISTORY_REMOVED] = {"removed", "removed it when asked to"},
};

static void name_self(char who[96])
{
    char host[64] = "?";
    gethostname(host, sizeof host - 1);
    snprintf(who, 96, "process %ld on %s", (long)getpid(), host);
}

void history_append(int fd, enum history_event event, const char *detail)
{
    char when[24], who[96], line[LINE_MAX_SIZE];
    struct tm utc;
    struct stat state;
    const time_t now = time(NULL);
    gmtime_r(&now, &utc);
    strftime(when, sizeof when, "%Y-%m-%dT%H:%M:%SZ", &utc);
    name_self(who);
    int size = snprintf(line, sizeof line, "%s %s %s%s%s", events[event].word, when, who,
                        detail ? ": " : "", detail ? detail : "");
    size_t length = (size_t)size < sizeof line - 1 ? (size_t)size : sizeof line - 2;
    line[length++] = '\n';
    if (!fstat(fd, &state) && state.st_size >= HISTORY_FULL && ftruncate(fd, 0))
        return;
    if (write(fd, line, length) != (ssize_t)length)
        return; /* a full disk; the cache's work is done without it */
}

void history_append_to(const char *lock_path, enum history_event event, const char *detail)
{
    int fd = open(lock_path, O_WRONLY | O_APPEND | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY);
    if (fd < 0)
        return;
    history_append(fd, event, detail);
    close(fd);
}

/* Copies up to `end`, with question marks for what isn't printable; false when it doesn't fit. */
static bool copy(char *to, size_t size, const char *from, const char *end)
{
    if (end < from || (size_t)(end - from) >= size)
        return false;
    for (; from < end; from++)
        *to++ = *from >= ' ' && *from <= '~' ? *from : '?';
    *to = '\0';
    return true;
}

/* "WORD TIME process PID on HOST[: DETAIL]"; the bytes are anybody's. */
static bool parse_line(char *line, struct history_record *record)
{
    char *when = strchr(line, ' ');
    char *who = when ? strchr(when + 1, ' ') : NULL;
    if (!who)
        return false;
    size_t event = 0;
    while (event < HISTORY_EVENT_COUNT &&
           (strlen(events[event].word) != (size_t)(when - line) ||
            strncmp(line, events[event].word, (size_t)(when - line)) != 0))
        event++;
    const char *end = line + strlen(line);
    const char *colon = strstr(who, ": ");
    record->event = (enum history_event)event;
    return event < HISTORY_EVENT_COUNT && when + 1 < who && who[1] &&
           copy(record->when, sizeof record->when, when + 1, who) &&
           copy(record->who, sizeof record->who, who + 1, colon ? colon : end) &&
           copy(record->detail, sizeof record->detail, colon ? colon + 2 : end, end);
}

/* Some file systems leave zeros where a crash has lost data; they must not hide what follows. */
static void replace_zeros(struct bytes *file)
{
    for (size_t i = 0; i < file->size; i++) {
        if (!file->data[i])
            file->data[i] = '?';
    }
}

bool history_last(const char *lock_path, bool others_only, struct history_record *record)
{
    struct bytes file = {0};
    char self[96];
    bool found = false;
    name_self(self);
    if (!file_read(lock_path, READ_MAX, &file, NULL) && file.size) {
        char *rest = NULL;
        replace_zeros(&file);
        for (char *line = strtok_r((char *)file.data, "\n", &rest); line;
             line = strtok_r(NULL, "\n", &rest)) {
            struct history_record next = {0};
            if (!parse_line(line, &next) ||
                (others_only && next.event == HISTORY_BEGAN && !strcmp(next.who, self)))
                continue;
            *record = next;
            found = true;
        }
    }
    bytes_free(&file);
    return found;
}

void history_describe(const struct history_record *record, struct bytes *text)
{
    bytes_append_format(text, "%s at %s %s%s%s", record->who, record->when,
                        events[record->event].sentence, *record->detail ? ": " : "",
                        record->detail);
}
