#include "process.h"

#include <fcntl.h>
#include <setjmp.h>
#include <spawn.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>
#include <cmocka.h>

const char *state_path(const char *name)
{
    static char path[4096];
    snprintf(path, sizeof path, "%s/%s", getenv("DSAJIT_TEST_STATE"), name);
    return path;
}

static char *read_file(const char *path)
{
    FILE *file = fopen(path, "rb");
    assert_non_null(file);
    char *text = NULL;
    size_t room = 0;
    if (getdelim(&text, &room, '\0', file) < 0) {
        free(text);
        text = strdup("");
    }
    assert_non_null(text);
    fclose(file);
    return text;
}

/* Variables of `more` come first: getenv finds the first of a name. */
static void join_environment(const char *all[PROCESS_VARIABLES_MAX], const char *const *more)
{
    size_t count = 0;
    for (; more && *more; more++)
        all[count++] = *more;
    for (char **variable = environ; *variable && count + 1 < PROCESS_VARIABLES_MAX; variable++) {
        bool replaced = false;
        for (size_t i = 0; i < count && !replaced; i++)
            replaced = strncmp(all[i], *variable, strcspn(*variable, "=") + 1) == 0;
        if (!replaced)
            all[count++] = *variable;
    }
    all[count] = NULL;
}

static void split(char *text, char *words[PROCESS_WORDS_MAX])
{
    size_t count = 1;
    words[0] = getenv("DSAJIT_TEST_TOOL");
    assert_non_null(words[0]);
    char *rest = NULL;
    for (char *word = strtok_r(text, " ", &rest); word; word = strtok_r(NULL, " ", &rest)) {
        assert_true(count + 1 < PROCESS_WORDS_MAX);
        words[count++] = word;
    }
    words[count] = NULL;
}

void process_prepare(struct process_command *command, const char *const *environment,
                     const char *arguments, va_list list)
{
    vsnprintf(command->text, sizeof command->text, arguments, list);
    split(command->text, command->words);
    join_environment(command->variables, environment);
}

static pid_t start(const struct process_command *command)
{
    char out[4096], err[4096];
    snprintf(out, sizeof out, "%s", state_path("stdout"));
    snprintf(err, sizeof err, "%s", state_path("stderr"));
    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0);
    posix_spawn_file_actions_addopen(&actions, 1, out, O_WRONLY | O_CREAT | O_TRUNC, 0600);
    posix_spawn_file_actions_addopen(&actions, 2, err, O_WRONLY | O_CREAT | O_TRUNC, 0600);
    pid_t pid;
    assert_int_equal(posix_spawn(&pid, command->words[0], &actions, NULL, command->words,
                                 (char *const *)command->variables),
                     0);
    posix_spawn_file_actions_destroy(&actions);
    return pid;
}

int process_exit_code(int status)
{
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

pid_t process_start(const char *const *environment, const char *arguments, ...)
{
    struct process_command command;
    va_list list;
    va_start(list, arguments);
    process_prepare(&command, environment, arguments, list);
    va_end(list);
    return start(&command);
}

void process_wait(struct process *process, pid_t pid)
{
    int status;
    assert_int_equal(waitpid(pid, &status, 0), pid);
    *process = (struct process){.exit_code = process_exit_code(status)};
    process->out = read_file(state_path("stdout"));
    process->err = read_file(state_path("stderr"));
}

void process_run(struct process *process, const char *const *environment, const char *arguments,
                 ...)
{
    struct process_command command;
    va_list list;
    va_start(list, arguments);
    process_prepare(&command, environment, arguments, list);
    va_end(list);
    process_wait(process, start(&command));
}

void process_free(struct process *process)
{
    free(process->out);
    free(process->err);
}

json_t *process_json(const struct process *process, const char *command)
{
    json_error_t wrong;
    json_t *object = json_loads(process->out, 0, &wrong);
    if (!object)
        fail_msg("%s in: %s%s", wrong.text, process->out, process->err);
    assert_int_equal(json_integer_value(json_at(object, "schema")), 1);
    assert_string_equal(json_string_value(json_at(object, "command")), command);
    return object;
}

const json_t *json_at(const json_t *object, const char *path)
{
    char names[256], *rest = NULL;
    snprintf(names, sizeof names, "%s", path);
    for (char *name = strtok_r(names, ".", &rest); name; name = strtok_r(NULL, ".", &rest)) {
        object = json_object_get(object, name);
        if (!object)
            fail_msg("there is no \"%s\" of \"%s\"", name, path);
    }
    return object;
}

size_t count_of(const char *text, const char *word)
{
    size_t count = 0;
    for (const char *at = text; (at = strstr(at, word)); at += strlen(word))
        count++;
    return count;
}

void assert_contains(const char *text, const char *word)
{
    if (!strstr(text, word))
        fail_msg("\"%s\" is not in: %s", word, text);
}
