/* What happened to a key's entry, kept in its lock file: a line for each event, newest last. For
   people, and to say why something is compiled again; nothing decides by it. */
#ifndef CACHE_HISTORY_H
#define CACHE_HISTORY_H

#include "base/bytes.h"

#include <stdbool.h>

enum history_event {
    HISTORY_BEGAN, /* somebody took the lock, to compile */
    HISTORY_PUBLISHED,
    HISTORY_NOT_KEPT, /* compiled, but the entry couldn't be written */
    HISTORY_DAMAGED,  /* found bad and moved aside */
    HISTORY_EVICTED,  /* removed to keep the cache small */
    HISTORY_REMOVED,  /* removed because somebody asked for it */
    HISTORY_EVENT_COUNT
};

/* A line taken apart. */
struct history_record {
    enum history_event event;
    char when[24];    /* 2026-01-31T12:00:00Z */
    char who[96];     /* "process 12 on host" */
    char detail[256]; /* "" when there is none */
};

/* Best effort: a full disk or another's file loses the line. `detail` may be NULL. The second form
   adds to a file that exists, and never makes one. */
void history_append(int fd, enum history_event event, const char *detail);
void history_append_to(const char *lock_path, enum history_event event, const char *detail);

/* The newest line. With `others_only`, lines of this process that say "began" are skipped: they are
   about the compile that is under way. False when there is none. */
bool history_last(const char *lock_path, bool others_only, struct history_record *record);

/* Adds the record as a sentence's words, "process 12 on host at … published it". */
void history_describe(const struct history_record *record, struct bytes *text);

#endif
