/* SPDX-License-Identifier: MIT */
/* Starting the mocks, and talking to them over pipes. */
#include "mock.h"

#include <check.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define MAX_VALUES 256

static struct {
    pid_t pid;
    FILE *to;
    FILE *from;
    char names[MAX_VALUES][32];
    char values[MAX_VALUES][256];
    size_t n_values;
} mock;

static void run_mocks(int in, int out)
{
    const char *cases = getenv("CASES_DIR");
    char path[512];

    snprintf(path, sizeof path, "%s/../unit/gate/mocks", cases ? cases : "../tests/cases");
    dup2(in, STDIN_FILENO);
    dup2(out, STDOUT_FILENO);
    execlp("python3", "python3", path, (char *)NULL);
    perror("python3");
    _exit(127);
}

void mock_start(void)
{
    int to[2], from[2];
    char line[512];

    ck_assert_int_eq(pipe2(to, O_CLOEXEC), 0);
    ck_assert_int_eq(pipe2(from, O_CLOEXEC), 0);
    mock.pid = fork();
    ck_assert_int_ge(mock.pid, 0);
    if (mock.pid == 0)
        run_mocks(to[0], from[1]);
    close(to[0]);
    close(from[1]);
    mock.to = fdopen(to[1], "w");
    mock.from = fdopen(from[0], "r");
    ck_assert(mock.to && mock.from);
    mock.n_values = 0;
    while (fgets(line, sizeof line, mock.from) && line[0] != '\n') {
        ck_assert_uint_lt(mock.n_values, MAX_VALUES);
        ck_assert_int_eq(
            sscanf(line, "%31s %255[^\n]", mock.names[mock.n_values], mock.values[mock.n_values]),
            2);
        mock.n_values++;
    }
    ck_assert_msg(mock.n_values > 0, "the mocks have not started");
}

void mock_stop(void)
{
    fclose(mock.to);
    fclose(mock.from);
    waitpid(mock.pid, NULL, 0);
}

const char *mock_value(const char *name)
{
    for (size_t i = 0; i < mock.n_values; i++) {
        if (strcmp(mock.names[i], name) == 0)
            return mock.values[i];
    }
    ck_abort_msg("no mock is called %s", name);
    return NULL;
}

void mock_revoke(const char *name, const char *user)
{
    char line[64];

    fprintf(mock.to, "%s %s\n", name, user);
    fflush(mock.to);
    ck_assert(fgets(line, sizeof line, mock.from));
    ck_assert_str_eq(line, "done\n");
}
