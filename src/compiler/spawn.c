#include "compiler/spawn.h"

#include "base/bytes.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

/* Moves a descriptor out of 0…2, where a host with closed standard streams would get it: there it
   would be overwritten while the child's own streams are set up. */
static bool raise_fd(int *fd)
{
    if (*fd > STDERR_FILENO)
        return true;
    int raised = fcntl(*fd, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
    close(*fd);
    *fd = raised;
    return raised >= 0;
}

/* The two channels, our end first. A socket rather than pipes for the conversation, since sending
   to a dead helper must not raise SIGPIPE in the host. */
struct channels {
    int socket[2];
    int log[2];
};

static bool open_channels(struct channels *channels)
{
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, channels->socket) ||
        pipe2(channels->log, O_CLOEXEC))
        return false;
    for (int i = 0; i < 2; i++) {
        if (!raise_fd(&channels->socket[i]) || !raise_fd(&channels->log[i]))
            return false;
    }
    return fcntl(channels->log[0], F_SETFL, O_NONBLOCK) == 0;
}

static void close_fd(int fd)
{
    if (fd >= 0)
        close(fd);
}

/* An allow-list: the loader, hipRTC, comgr and clang read dozens of variables, and many of them
   change the code (HIPRTC_COMPILE_OPTIONS_APPEND, CPATH, LD_PRELOAD, …). */
struct environment {
    struct bytes library_path, temporary;
    char *variables[3];
};

static bool build_environment(const struct spawn_command *command, struct environment *environment)
{
    size_t count = 0;
    if (command->library_path && !command->loader) {
        bytes_append_format(&environment->library_path, "LD_LIBRARY_PATH=%s",
                            command->library_path);
        environment->variables[count++] = (char *)environment->library_path.data;
    }
    const char *folder = secure_getenv("TMPDIR");
    if (folder) {
        bytes_append_format(&environment->temporary, "TMPDIR=%s", folder);
        environment->variables[count++] = (char *)environment->temporary.data;
    }
    environment->variables[count] = NULL;
    return !bytes_failed(&environment->library_path) && !bytes_failed(&environment->temporary);
}

enum { ARGUMENTS_MAX = 9 };

static void build_arguments(const struct spawn_command *command, const char *parent,
                            const char *arguments[ARGUMENTS_MAX])
{
    size_t count = 0;
    if (command->loader) {
        arguments[count++] = command->loader;
        arguments[count++] = "--library-path";
        arguments[count++] = command->library_path;
    }
    arguments[count++] = command->helper;
    arguments[count++] = "serve";
    arguments[count++] = parent;
    arguments[count++] = command->comgr;
    arguments[count++] = command->hiprtc;
    arguments[count] = NULL;
}

/* The child gets its three streams and nothing else that is open in the host, and none of the
   host's signal set-up. It is a process group of its own: Ctrl-C at a terminal goes to the host,
   which ends its helpers as it sees fit. Returns an errno value. */
static int set_up(posix_spawn_file_actions_t *actions, posix_spawnattr_t *attributes, int socket,
                  int log)
{
    sigset_t none, all;
    sigemptyset(&none);
    sigfillset(&all);
    int result;
    if ((result = posix_spawn_file_actions_adddup2(actions, socket, STDIN_FILENO)) ||
        (result = posix_spawn_file_actions_adddup2(actions, socket, STDOUT_FILENO)) ||
        (result = posix_spawn_file_actions_adddup2(actions, log, STDERR_FILENO)) ||
        (result = posix_spawn_file_actions_addclosefrom_np(actions, STDERR_FILENO + 1)) ||
        (result = posix_spawnattr_setsigmask(attributes, &none)) ||
        (result = posix_spawnattr_setsigdefault(attributes, &all)) ||
        (result = posix_spawnattr_setpgroup(attributes, 0)))
        return result;
    return posix_spawnattr_setflags(attributes, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF |
                                                    POSIX_SPAWN_SETPGROUP);
}

static int spawn(pid_t *pid, const struct spawn_command *command, int socket, int log,
                 char *const variables[])
{
    char parent[24];
    snprintf(parent, sizeof parent, "%ld", (long)getpid());
    const char *arguments[ARGUMENTS_MAX];
    build_arguments(command, parent, arguments);

    posix_spawn_file_actions_t actions;
    int result = posix_spawn_file_actions_init(&actions);
    if (result)
        return result;
    posix_spawnattr_t attributes;
    result = posix_spawnattr_init(&attributes);
    if (!result) {
        result = set_up(&actions, &attributes, socket, log);
        if (!result)
            result = posix_spawn(pid, arguments[0], &actions, &attributes, (char **)arguments,
                                 variables);
        posix_spawnattr_destroy(&attributes);
    }
    posix_spawn_file_actions_destroy(&actions);
    return result;
}

dsajit_status spawn_helper(const struct spawn_command *command, struct spawned *spawned,
                           dsajit_error *error)
{
    struct channels channels = {{-1, -1}, {-1, -1}};
    struct environment environment = {0};
    dsajit_status status = DSAJIT_OK;
    int result = 0;

    if (!build_environment(command, &environment)) {
        status =
            error_set(error, DSAJIT_ERROR_OUT_OF_MEMORY, "no memory to start the compiler helper");
    } else if (!open_channels(&channels)) {
        status = error_set_errno(error, DSAJIT_ERROR_IO, errno,
                                 "no socket or pipe for the compiler helper");
    } else if ((result = spawn(&spawned->pid, command, channels.socket[1], channels.log[1],
                               environment.variables))) {
        bool absent = result == ENOENT || result == EACCES || result == ENOEXEC;
        status =
            error_set_errno(error, absent ? DSAJIT_ERROR_TOOLCHAIN_MISSING : DSAJIT_ERROR_IO,
                            result, "the compiler helper %s can't be started", command->helper);
    } else {
        spawned->socket = channels.socket[0];
        spawned->log_pipe = channels.log[0];
        channels.socket[0] = channels.log[0] = -1;
    }

    for (int i = 0; i < 2; i++) {
        close_fd(channels.socket[i]);
        close_fd(channels.log[i]);
    }
    bytes_free(&environment.library_path);
    bytes_free(&environment.temporary);
    return status;
}
