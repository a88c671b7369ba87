#include "progress.h"

#include "command.h"
#include "quantity.h"
#include "warm_result.h"

#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

/* Without a sign of life for so long, the plain mode says what is going on. */
static const double heartbeat_ms = 10000;

static bool can_draw(FILE *stream)
{
    const char *terminal = getenv("TERM");
    return isatty(fileno(stream)) && terminal && *terminal && strcmp(terminal, "dumb") != 0;
}

bool progress_parse_mode(const char *word, FILE *stream, enum progress_mode *mode)
{
    if (strcmp(word, "auto") == 0)
        *mode = can_draw(stream) ? PROGRESS_BAR : PROGRESS_PLAIN;
    else if (strcmp(word, "plain") == 0)
        *mode = PROGRESS_PLAIN;
    else if (strcmp(word, "json") == 0)
        *mode = PROGRESS_JSON;
    else if (strcmp(word, "off") == 0)
        *mode = PROGRESS_OFF;
    else
        return false;
    return true;
}

/* ---- The bar ---- */

/* The user's wish for no colour: https://no-color.org. */
static bool is_coloured(void)
{
    const char *wish = getenv("NO_COLOR");
    return !wish || !*wish;
}

static size_t terminal_width(FILE *stream)
{
    struct winsize size;
    enum { USUAL = 80 };
    const bool known = ioctl(fileno(stream), TIOCGWINSZ, &size) == 0 && size.ws_col > 0;
    return known ? size.ws_col : USUAL;
}

static void erase_bar(struct progress *progress)
{
    if (progress->bar)
        fputs("\r\033[K", progress->stream);
}

static void draw_bar(const struct progress *progress)
{
    if (progress->bar)
        fputs(progress->bar, progress->stream);
    fflush(progress->stream);
}

/* Family and fields, without the architecture. */
static void print_briefly(FILE *text, const char *variant)
{
    const size_t family = strcspn(variant, "/");
    fprintf(text, ": %.*s %s", (int)family, variant, strrchr(variant, '/') + 1);
}

/* "[######              ] 8/28, 1 failed, 4.1 s, about 10 s left: sparse_mla heads=8,… +1", cut to
   the width. */
static char *format_bar(FILE *stream, const dsajit_warm_progress *state)
{
    enum { CELLS = 20 };
    char *line = NULL;
    size_t size = 0;
    FILE *text = open_memstream(&line, &size);
    if (!text)
        return NULL;
    const size_t filled = state->total ? CELLS * state->done / state->total : CELLS;
    fputc('[', text);
    for (size_t i = 0; i < CELLS; i++)
        fputc(i < filled ? '#' : ' ', text);
    fprintf(text, "] %zu/%zu", state->done, state->total);
    if (state->failed)
        fprintf(text, ", %zu failed", state->failed);
    fprintf(text, ", %s", duration_format(state->elapsed_ms).text);
    if (state->remaining_ms >= 0 && state->done < state->total)
        fprintf(text, ", about %s left", duration_format(state->remaining_ms).text);
    if (state->running_count)
        print_briefly(text, state->running[0]);
    if (state->running_count > 1)
        fprintf(text, " +%zu", state->running_count - 1);
    if (fclose(text)) {
        free(line);
        return NULL;
    }
    /* The last column stays empty: some terminals wrap when it is written. */
    const size_t width = terminal_width(stream) - 1;
    if (size > width)
        line[width] = '\0';
    return line;
}

static void show_bar(struct progress *progress, const dsajit_warm_progress *state)
{
    static const char plain[] = "\r%s\033[K", coloured[] = "\r\033[%dm%s\033[0m\033[K";
    enum { GREEN = 32, RED = 31 };
    char *line = format_bar(progress->stream, state), *bar = NULL;
    if (!line)
        return;
    const int written = is_coloured() ? asprintf(&bar, coloured, state->failed ? RED : GREEN, line)
                                      : asprintf(&bar, plain, line);
    free(line);
    if (written < 0)
        return;
    free(progress->bar);
    progress->bar = bar;
    draw_bar(progress);
}

/* ---- Lines ---- */

static bool has_failed(const dsajit_warm_result *result)
{
    return result->status && result->status != DSAJIT_ERROR_CANCELLED;
}

static bool took_work(const dsajit_warm_result *result)
{
    return has_failed(result) || (!result->status && (result->origin == DSAJIT_ORIGIN_COMPILED ||
                                                      result->resident_ms > 0));
}

static void print_result(FILE *stream, const dsajit_warm_progress *state)
{
    const dsajit_warm_result *result = state->finished;
    fprintf(stream, "[%zu/%zu] ", state->done, state->total);
    if (result->status) {
        /* The whole message, a key perhaps, is for the end or for JSON. */
        const int line = (int)strcspn(result->error.message, "\n");
        fprintf(stream, "FAILED: %.*s\n", line, result->error.message);
        return;
    }
    fprintf(stream, "%s: %s in %s", result->variant, command_origin_name(result->origin),
            duration_format(result->compile_ms).text);
    if (result->resident_ms > 0)
        fprintf(stream, ", resident in %s", duration_format(result->resident_ms).text);
    fputc('\n', stream);
}

static void print_heartbeat(FILE *stream, const dsajit_warm_progress *state)
{
    fprintf(stream, "[%zu/%zu] %s", state->done, state->total,
            duration_format(state->elapsed_ms).text);
    if (state->remaining_ms >= 0)
        fprintf(stream, ", about %s left", duration_format(state->remaining_ms).text);
    fputs("; running:", stream);
    for (size_t i = 0; i < state->running_count; i++)
        fprintf(stream, "%s %s", i ? "," : "", state->running[i]);
    fputc('\n', stream);
}

static void show_plain(struct progress *progress, const dsajit_warm_progress *state)
{
    if (state->finished && took_work(state->finished))
        print_result(progress->stream, state);
    else if (!state->finished && state->elapsed_ms - progress->told_ms >= heartbeat_ms)
        print_heartbeat(progress->stream, state);
    else
        return;
    progress->told_ms = state->elapsed_ms;
    fflush(progress->stream);
}

/* A failure is a line of its own, above the bar. */
static void show_failure_and_bar(struct progress *progress, const dsajit_warm_progress *state)
{
    if (state->finished && has_failed(state->finished)) {
        erase_bar(progress);
        print_result(progress->stream, state);
    }
    show_bar(progress, state);
}

static void show_json(const struct progress *progress, const dsajit_warm_progress *state)
{
    json_t *object =
        json_pack("{s:i, s:s, s:I, s:I, s:I, s:I, s:o, s:o}", "schema", 1, "event",
                  state->finished ? "finished" : "running", "total", (json_int_t)state->total,
                  "done", (json_int_t)state->done, "failed", (json_int_t)state->failed, "compiled",
                  (json_int_t)state->compiled, "elapsed_ms", command_json_number(state->elapsed_ms),
                  "remaining_ms",
                  state->remaining_ms < 0 ? json_null() : command_json_number(state->remaining_ms));
    json_t *running = json_array();
    for (size_t i = 0; i < state->running_count; i++)
        json_array_append_new(running, json_string(state->running[i]));
    json_object_set_new(object, "running", running);
    if (state->finished)
        json_object_set_new(object, "result", warm_result_json(state->finished));
    json_dumpf(object, progress->stream, JSON_COMPACT | JSON_REAL_PRECISION(9));
    fputc('\n', progress->stream);
    fflush(progress->stream);
    json_decref(object);
}

/* ---- All modes ---- */

void progress_show(struct progress *progress, const dsajit_warm_progress *state)
{
    pthread_mutex_lock(&progress->mutex);
    switch (progress->mode) {
    case PROGRESS_OFF:
        break;
    case PROGRESS_PLAIN:
        show_plain(progress, state);
        break;
    case PROGRESS_BAR:
        show_failure_and_bar(progress, state);
        break;
    case PROGRESS_JSON:
        show_json(progress, state);
        break;
    }
    pthread_mutex_unlock(&progress->mutex);
}

void progress_pause(struct progress *progress)
{
    pthread_mutex_lock(&progress->mutex);
    erase_bar(progress);
}

void progress_resume(struct progress *progress)
{
    draw_bar(progress);
    pthread_mutex_unlock(&progress->mutex);
}

void progress_end(struct progress *progress)
{
    progress_pause(progress);
    free(progress->bar);
    progress->bar = NULL;
    progress_resume(progress);
}
