/* What a warmup tells of its work while it is going on, on standard error. */
#ifndef TOOLS_PROGRESS_H
#define TOOLS_PROGRESS_H

#include <dsajit/warmup.h>
#include <pthread.h>
#include <stdio.h>

enum progress_mode {
    PROGRESS_OFF,
    PROGRESS_PLAIN, /* a line for each variant that took work, and one every ten seconds */
    PROGRESS_BAR,   /* one line, drawn again and again */
    PROGRESS_JSON   /* a JSON object on each line */
};

/* Sets *mode to what "auto", "plain", "json" or "off" means for `stream`; false for another word.
   "auto" is a bar on a terminal that can draw one, else plain. */
bool progress_parse_mode(const char *word, FILE *stream, enum progress_mode *mode);

/* Start from {.mode = …, .stream = …, .mutex = PTHREAD_MUTEX_INITIALIZER}. */
struct progress {
    enum progress_mode mode;
    FILE *stream;
    pthread_mutex_t mutex; /* logging threads and the one that shows progress share the terminal */
    char *bar;             /* as it stands on the terminal; NULL: none does */
    double told_ms;        /* elapsed time at the last plain line */
};

void progress_show(struct progress *progress, const dsajit_warm_progress *state);

/* Bracket for lines that others print on the same stream: the bar is taken away for them. */
void progress_pause(struct progress *progress);
void progress_resume(struct progress *progress);

/* Takes the bar away for good. */
void progress_end(struct progress *progress);

#endif
