#include "terminal.h"

#include "process.h"

#include <errno.h>
#include <pty.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>
#include <cmocka.h>

void terminal_start(struct terminal *terminal, unsigned short width, const char *const *environment,
                    const char *arguments, ...)
{
    struct process_command command;
    va_list list;
    va_start(list, arguments);
    process_prepare(&command, environment, arguments, list);
    va_end(list);
    const struct winsize size = {.ws_row = 24, .ws_col = width};
    *terminal = (struct terminal){.text = strdup("")};
    terminal->pid = forkpty(&terminal->descriptor, NULL, NULL, &size);
    if (terminal->pid < 0) {
        print_message("skipped: no terminals on this machine (/dev/pts): %s\n", strerror(errno));
        skip();
    }
    if (terminal->pid == 0) {
        execve(command.words[0], command.words, (char *const *)command.variables);
        _exit(127);
    }
}

/* False when the command and all that it started have closed the terminal. */
static bool read_more(struct terminal *terminal)
{
    char bytes[4096];
    const ssize_t count = read(terminal->descriptor, bytes, sizeof bytes);
    if (count < 0 && errno == EINTR)
        return true;
    if (count <= 0)
        return false;
    terminal->text = realloc(terminal->text, terminal->size + (size_t)count + 1);
    assert_non_null(terminal->text);
    memcpy(terminal->text + terminal->size, bytes, (size_t)count);
    terminal->size += (size_t)count;
    terminal->text[terminal->size] = '\0';
    return true;
}

void terminal_wait_for(struct terminal *terminal, const char *word)
{
    while (!strstr(terminal->text, word))
        if (!read_more(terminal))
            fail_msg("ended without \"%s\": %s", word, terminal->text);
}

void terminal_type(const struct terminal *terminal, char character)
{
    assert_int_equal(write(terminal->descriptor, &character, 1), 1);
}

int terminal_end(struct terminal *terminal)
{
    int status;
    while (read_more(terminal))
        continue;
    assert_int_equal(waitpid(terminal->pid, &status, 0), terminal->pid);
    close(terminal->descriptor);
    return process_exit_code(status);
}

void terminal_free(struct terminal *terminal)
{
    free(terminal->text);
}
