/* SPDX-License-Identifier: MIT */
/* Stands in for sshd: its processes are called sshd, so adit-gateway takes them for monitors.
 * tools/bench --gateway measures with it.
 *
 *   bench-sshd exec N SOCKET HELPER EMPTY   runs HELPER as sshd does, and EMPTY for comparison
 *   bench-sshd ask N SOCKET                 asks adit-gateway itself, as HELPER does
 *
 * Each of the N logins has a monitor of its own, which exits.  Standard input has lines
 * "FINGERPRINT TYPE KEY"; the logins take them in turn.  Prints a line of two numbers for each
 * login, in nanoseconds: for "exec", HELPER and EMPTY from fork to exit; for "ask", the two
 * look-ups that sshd needs. */
#include <fcntl.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define KEYS_MAX 5000
#define LINE_SIZE 256
#define ANSWER_SIZE 4096
#define USER "tunnel"

/* What the answers begin with, if the key is granted. */
#define LINE_START "restrict,"
#define OK_START "ok\nrestrict,"

struct key {
    char line[LINE_SIZE]; /* holds the others */
    char *fingerprint;
    char *type;
    char *key;
};

static struct key keys[KEYS_MAX];
static size_t n_keys;
static struct sockaddr_un gateway = {.sun_family = AF_UNIX};

static void die(const char *what)
{
    perror(what);
    exit(1);
}

static void refuse(const char *what, const char *answer)
{
    fprintf(stderr, "%s: %s\n", what, answer);
    exit(1);
}

static int64_t now_ns(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

static void read_keys(void)
{
    while (n_keys < KEYS_MAX && fgets(keys[n_keys].line, LINE_SIZE, stdin)) {
        struct key *key = &keys[n_keys++];

        key->fingerprint = strtok(key->line, " \n");
        key->type = strtok(NULL, " \n");
        key->key = strtok(NULL, " \n");
        if (!key->key)
            refuse("standard input", "expected FINGERPRINT TYPE KEY");
    }
    if (n_keys == 0)
        refuse("standard input", "no keys");
}

/* Reads until the other side closes.  Fails if the answer does not begin like that. */
static void read_answer(int fd, const char *start, const char *who)
{
    char answer[ANSWER_SIZE];
    size_t len = 0;
    ssize_t n;

    while ((n = read(fd, answer + len, sizeof answer - 1 - len)) > 0)
        len += (size_t)n;
    answer[len] = '\0';
    close(fd);
    if (strncmp(answer, start, strlen(start)) != 0)
        refuse(who, answer);
}

static void await(pid_t child)
{
    int status;

    if (waitpid(child, &status, 0) != child || status != 0)
        refuse("a process", "did not exit with 0");
}

static pid_t start(void)
{
    pid_t child = fork();

    if (child < 0)
        die("fork");
    return child;
}

/* ---- exec ---- */

static void become(char **arguments, int out)
{
    char *environment[] = {NULL};
    int null = open("/dev/null", O_RDWR);

    if (null < 0 || dup2(null, 0) < 0 || dup2(out, 1) < 0 || dup2(null, 2) < 0)
        _exit(1);
    close(null);
    close(out);
    execve(arguments[0], arguments, environment);
    _exit(1);
}

/* Runs a program as sshd does: fork, exec, its output until the end, its exit status. */
static int64_t run(char **arguments, const char *output)
{
    int64_t began_ns = now_ns();
    int ends[2];
    pid_t child;

    if (pipe2(ends, O_CLOEXEC) != 0)
        die("pipe");
    child = start();
    if (child == 0)
        become(arguments, ends[1]);
    close(ends[1]);
    read_answer(ends[0], output, arguments[0]);
    await(child);
    return now_ns() - began_ns;
}

static void run_both(size_t number, const struct key *key, char **programs)
{
    char socket_option[] = "--socket", user[] = USER;
    char *helper[] = {programs[0],      socket_option, gateway.sun_path, user,
                      key->fingerprint, key->type,     key->key,         NULL};
    char *empty[] = {programs[1], NULL};
    int64_t helper_ns, empty_ns;

    /* In turns, so that neither always follows the other. */
    if (number % 2 == 0) {
        empty_ns = run(empty, "");
        helper_ns = run(helper, LINE_START);
    } else {
        helper_ns = run(helper, LINE_START);
        empty_ns = run(empty, "");
    }
    printf("%" PRId64 " %" PRId64 "\n", helper_ns, empty_ns);
}

/* ---- ask ---- */

static int64_t ask(const struct key *key)
{
    char question[ANSWER_SIZE];
    int len = snprintf(question, sizeof question, "keys\n\n" USER "\n%s\n%s\n%s\n",
                       key->fingerprint, key->type, key->key);
    int64_t began_ns = now_ns();
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

    if (fd < 0 || connect(fd, (const struct sockaddr *)&gateway, sizeof gateway) != 0 ||
        send(fd, question, (size_t)len, MSG_NOSIGNAL) != len || shutdown(fd, SHUT_WR) != 0)
        die("adit-gateway's socket");
    read_answer(fd, OK_START, "adit-gateway");
    return now_ns() - began_ns;
}

/* The asker must be a child of the monitor. */
static void ask_twice(const struct key *key)
{
    pid_t asker = start();
    int64_t first_ns;

    if (asker == 0) {
        first_ns = ask(key);
        printf("%" PRId64 " %" PRId64 "\n", first_ns, ask(key));
        fflush(stdout);
        _exit(0);
    }
    await(asker);
}

int main(int argc, char **argv)
{
    bool is_exec = argc == 6 && strcmp(argv[1], "exec") == 0;
    size_t n_logins;

    if (!is_exec && (argc != 4 || strcmp(argv[1], "ask") != 0))
        refuse("usage", "bench-sshd exec N SOCKET HELPER EMPTY | bench-sshd ask N SOCKET");
    if (strlen(argv[3]) >= sizeof gateway.sun_path)
        refuse(argv[3], "the path is too long");
    memcpy(gateway.sun_path, argv[3], strlen(argv[3]) + 1);
    if (prctl(PR_SET_NAME, "sshd") != 0)
        die("prctl");
    read_keys();
    n_logins = strtoul(argv[2], NULL, 10);
    for (size_t i = 0; i < n_logins; i++) {
        pid_t monitor = start();

        if (monitor == 0) {
            if (is_exec)
                run_both(i, &keys[i % n_keys], argv + 4);
            else
                ask_twice(&keys[i % n_keys]);
            fflush(stdout);
            _exit(0);
        }
        await(monitor);
    }
    return 0;
}
