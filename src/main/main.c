/* SPDX-License-Identifier: MIT */
/* adit.fcgi: the program that answers requests. */
#include <getopt.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/types.h>
#include <unistd.h>

#include "base/number.h"
#include "main/confined.h"
#include "main/listen.h"
#include "main/process.h"
#include "main/systemd.h"
#include "main/worker.h"
#include "main/workers.h"
#include "serve/serve.h"

#define DEFAULT_WORKERS_LEAST 2
#define DEFAULT_WORKERS_MOST 8

enum { EXIT_USAGE = 2 };

struct options {
    const char *conf_path;
    const char *socket_path; /* NULL: one that was passed */
    int n_workers;           /* 0: the default */
    bool check_confinement;
    mode_t socket_mode;
};

static const char usage[] =
    "Usage: adit.fcgi [OPTION]...\n"
    "Answers requests to Adit's interface: FastCGI on a socket of its own, on one that systemd\n"
    "passes, or on descriptor 0, where a web server or spawn-fcgi has put one; plain CGI where\n"
    "descriptor 0 is no socket; then it takes no options, for a server may have made them of the\n"
    "query.\n"
    "\n"
    "  -c, --conf FILE         settings; else $ADIT_CONF, ROOT/etc/adit.conf where this is\n"
    "                          ROOT/libexec/adit/adit.fcgi, " ADIT_CONF_PATH ",\n"
    "                          or adit.conf beside the program\n"
    "  -l, --listen unix:PATH  listen on this socket\n"
    "  -m, --mode MODE         mode of that socket (0660)\n"
    "  -w, --workers N         worker processes, each for 5 requests at once, of which\n"
    "                          4 may write (as many as processors, 2 to 8, with --listen\n"
    "                          or systemd's socket, else 1)\n"
    "      --check-confinement\n"
    "                          confine itself as a worker does, and print what that leaves\n"
    "      --print-settings    print a settings file with all settings and their defaults\n"
    "  -h, --help              print this\n"
    "  -V, --version           print the version\n";

/* Returns -1 to go on, or the status to exit with. */
static int read_options(int argc, char **argv, struct options *options)
{
    static const struct option known[] = {{"conf", required_argument, NULL, 'c'},
                                          {"listen", required_argument, NULL, 'l'},
                                          {"mode", required_argument, NULL, 'm'},
                                          {"workers", required_argument, NULL, 'w'},
                                          {"check-confinement", no_argument, NULL, 'k'},
                                          {"print-settings", no_argument, NULL, 'p'},
                                          {"help", no_argument, NULL, 'h'},
                                          {"version", no_argument, NULL, 'V'},
                                          {NULL, 0, NULL, 0}};
    int option;
    uint64_t number;

    /* A server makes arguments of a query without "=" (RFC 3875, 4.4): they are the client's. */
    if (getenv("GATEWAY_INTERFACE"))
        return -1;
    while ((option = getopt_long(argc, argv, "c:l:m:w:hV", known, NULL)) != -1) {
        switch (option) {
        case 'c':
            options->conf_path = optarg;
            break;
        case 'l':
            if (strncmp(optarg, "unix:", 5) != 0 || !optarg[5]) {
                fprintf(stderr, "adit.fcgi: --listen takes unix:PATH\n");
                return EXIT_USAGE;
            }
            options->socket_path = optarg + 5;
            break;
        case 'm':
            if (!number_read(text_of(optarg), 8, 0777, &number)) {
                fprintf(stderr, "adit.fcgi: --mode takes an octal mode such as 0660\n");
                return EXIT_USAGE;
            }
            options->socket_mode = (mode_t)number;
            break;
        case 'w':
            if (!number_read(text_of(optarg), 10, WORKERS_MAX, &number) || number == 0) {
                fprintf(stderr, "adit.fcgi: --workers takes 1 to %d\n", WORKERS_MAX);
                return EXIT_USAGE;
            }
            options->n_workers = (int)number;
            break;
        case 'k':
            options->check_confinement = true;
            break;
        case 'p':
            conf_print_sample(stdout);
            return EXIT_SUCCESS;
        case 'h':
            fputs(usage, stdout);
            return EXIT_SUCCESS;
        case 'V':
            puts("adit.fcgi " PACKAGE_VERSION);
            return EXIT_SUCCESS;
        default:
            fprintf(stderr, "Try 'adit.fcgi --help'.\n");
            return EXIT_USAGE;
        }
    }
    if (optind == argc)
        return -1;
    fprintf(stderr, "adit.fcgi: unexpected argument '%s'\n", argv[optind]);
    return EXIT_USAGE;
}

/* SIGTERM stays blocked: a worker looks for it where it waits, so that it can cut no request and is
 * never lost. */
static void set_signals(void)
{
    struct sigaction ignore = {.sa_handler = SIG_IGN};
    sigset_t blocked;

    sigaction(SIGPIPE, &ignore, NULL);
    sigaction(SIGUSR1, &ignore, NULL);
    sigemptyset(&blocked);
    sigaddset(&blocked, SIGTERM);
    sigprocmask(SIG_BLOCK, &blocked, NULL);
}

/* ---- running ---- */

static int serve(struct process *process, const struct options *options, int n_default)
{
    int n_workers = options->n_workers ? options->n_workers : n_default;
    int status = EXIT_FAILURE;

    if (n_workers == 1 && !options->socket_path)
        return worker_serve_fcgi(process);
    if (n_workers > 1 && !fcgi_handover_open(process->handover)) {
        process_fault(&process->conf.log, "socketpair", "cannot connect the workers");
        return EXIT_FAILURE;
    }
    if (workers_run(n_workers, worker_serve_fcgi, process, &process->conf.log, &status) &&
        options->socket_path)
        unlink(options->socket_path);
    return status;
}

/* Workers do not wait for the database, and need no more than the processors there are; a second
 * one goes on where one has died. */
static int default_workers(void)
{
    long n = sysconf(_SC_NPROCESSORS_ONLN);

    if (n < DEFAULT_WORKERS_LEAST)
        return DEFAULT_WORKERS_LEAST;
    return n > DEFAULT_WORKERS_MOST ? DEFAULT_WORKERS_MOST : (int)n;
}

/* What can keep it from answering has been looked at when systemd is told that it is ready: a start
 * that fails is then a start that failed, and not a service that ends a moment later. */
static int run(struct process *process, const struct options *options)
{
    const struct log *log = &process->conf.log;
    char reason[64];
    int passed;

    if (options->check_confinement)
        return confined_check(&process->conf) ? EXIT_SUCCESS : EXIT_FAILURE;
    if (!systemd_listen_fd(&passed, reason, sizeof reason)) {
        process_cannot_start(log, reason);
        return EXIT_FAILURE;
    }
    if (passed >= 0 && options->socket_path) {
        process_cannot_start(log, "--listen names a socket, and systemd passes another");
        return EXIT_FAILURE;
    }
    if (passed < 0 && !options->socket_path && fcgi_is_cgi())
        return worker_serve_cgi(process);
    if (passed >= 0)
        process->listen_fd = passed;
    else if (options->socket_path &&
             !listen_open(process, options->socket_path, options->socket_mode))
        return EXIT_FAILURE;
    if (!systemd_notify("READY=1"))
        process_fault(log, "NOTIFY_SOCKET", "cannot tell systemd that all is ready");
    return serve(process, options, passed >= 0 || options->socket_path ? default_workers() : 1);
}

/* A core would hold keys and client secrets.  Less than a page makes no file, and exactly one byte
 * keeps the kernel from handing it to a program as well (coredump_pipe() in Linux' fs/coredump.c).
 */
static void forbid_cores(void)
{
    struct rlimit limit = {.rlim_cur = 1, .rlim_max = 1};

    setrlimit(RLIMIT_CORE, &limit); /* where it fails, it is 0 already: no file at least */
}

int main(int argc, char **argv)
{
    struct options options = {.socket_mode = 0660};
    struct process process = {.listen_fd = STDIN_FILENO, .handover = {-1, -1}};
    int status = read_options(argc, argv, &options);

    if (status >= 0)
        return status;
    set_signals();
    forbid_cores();
    status = process_open(&process, options.conf_path) ? run(&process, &options) : EXIT_FAILURE;
    process_close(&process);
    return status;
}
