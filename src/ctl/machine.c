/* SPDX-License-Identifier: MIT */
/* Runs programs of the machine and reads what they print. */
#include "ctl/machine.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>
#include <sys/wait.h>
#include <unistd.h>

#include "ask/ask.h"

#define OUTPUT_MAX (256 * 1024)

bool machine_run(char *const *arguments, struct buf *out)
{
    int status = -1;
    int ends[2];
    pid_t child;

    if (pipe2(ends, O_CLOEXEC) != 0)
        return false;
    child = fork();
    if (child == 0) {
        dup2(ends[1], STDOUT_FILENO);
        dup2(ends[1], STDERR_FILENO);
        execv(arguments[0], arguments);
        _exit(127);
    }
    close(ends[1]);
    while (child > 0 && out->len < OUTPUT_MAX) {
        char *room = buf_room(out, 4096);
        ssize_t n = room ? read(ends[0], room, 4096) : 0;

        if (n <= 0 && (n == 0 || errno != EINTR))
            break;
        if (n > 0)
            out->len += (size_t)n;
        out->data[out->len] = '\0';
    }
    close(ends[0]);
    if (child < 0 || waitpid(child, &status, 0) != child)
        return false;
    return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

bool machine_starts_at_boot(const char *unit)
{
    char name[64];
    char *const arguments[] = {(char[]){"/usr/bin/systemctl"}, (char[]){"is-enabled"}, name, NULL};
    struct buf out = {0};
    bool is_enabled;

    snprintf(name, sizeof name, "%s", unit);
    is_enabled = access(arguments[0], X_OK) == 0 && machine_run(arguments, &out);
    buf_free(&out);
    return is_enabled;
}

bool machine_may_be_there(const char *path)
{
    return access(path, F_OK) == 0 || errno == EACCES;
}

struct text machine_value(struct text lines, const char *name)
{
    size_t len = strlen(name);
    struct text line;

    while ((line = ask_next_line(&lines)).s) {
        if (line.len > len && strncasecmp(line.s, name, len) == 0 && line.s[len] == ' ')
            return text_part(line, len + 1, line.len);
    }
    return (struct text){0};
}

bool machine_sshd_has_penalties(void)
{
    char *const arguments[] = {(char[]){MACHINE_SSHD}, (char[]){"-G"}, (char[]){"-f"},
                               (char[]){"/dev/null"}, NULL};
    struct buf out = {0};
    /* Older ones do not know penalties, and the oldest not even -G. */
    bool found = access(MACHINE_SSHD, X_OK) == 0 && machine_run(arguments, &out) &&
                 text_present(machine_value(buf_text(&out), "persourcepenalties"));

    buf_free(&out);
    return found;
}
