/* SPDX-License-Identifier: MIT */
/* adit.fcgi: options, sockets, workers. */
#include <getopt.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/types.h>
#include <unistd.h>

#include "base/listen.h"
#include "base/number.h"
#include "base/systemd.h"
#include "main/confined.h"
#include "main/process.h"
#include "main/worker.h"
#include "serve/cgi.h"
#include "serve/serve.h"
#include "serve/workers.h"

#define DEFAULT_WORKERS_LEAST 2
#define DEFAULT_WORKERS_MOST 8

enum { EXIT_USAGE = 2 };

struct options {
    const char *conf_path;
    const char *socket_path; /* NULL: a socket that was passed */
    int n_workers;           /* 0: the default */
    bool check_confinement;
    mode_t socket_mode;
};

static const char usage[] =
    "Usage: adit.fcgi [OPTION]...\n"
    "Answers requests to Adit's interface.  It speaks FastCGI on the socket of --listen,\n"
    "on a socket that systemd passes, or on descriptor 0 if that is a listening socket, as\n"
    "web servers and spawn-fcgi leave it.  Otherwise it is a CGI program: it answers one\n"
    "request.  If GATEWAY_INTERFACE is set, it ignores all options, because a web server\n"
    "may have made them from the query.\n"
    "\n"
    "  -c, --conf FILE         read the settings from FILE (default: $ADIT_CONF, else the first\n"
    "                          that exists of ROOT/etc/adit.conf, if this program is\n"
    "                          ROOT/libexec/adit/adit.fcgi, " ADIT_CONF_PATH "\n"
    "                          and adit.conf beside the program)\n"
    "  -l, --listen unix:PATH  listen on this Unix-domain socket\n"
    "  -m, --mode MODE         octal mode of that socket's file (default 0660)\n"
    "  -w, --workers N         number of worker processes, 1 to 256; each handles 5 requests\n"
    "                          at once, of which 4 may write (default: one per processor,\n"
    "                          2 to 8, with --listen or systemd's socket; else 1)\n"
    "      --check-confinement\n"
    "                          confine this process like a worker and print what it can do\n"
    "      --print-settings    print a settings file with every setting and its default\n"
    "  -h, --help              print this help\n"
    "  -V, --version           print the version\n";

/* Returns -1 to continue, or the exit status. */
static int parse_options(int argc, char **argv, struct options *options)
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

    /* A web server passes a query without "=" as arguments (RFC 3875, 4.4): ignore the client's
     * text. */
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

/* SIGTERM stays blocked, and a worker's loop reads it from a signalfd.  So it interrupts no
 * request, and no SIGTERM is lost. */
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

static int run_workers(struct process *process, const struct options *options, int n_default)
{
    int n_workers = options->n_workers ? options->n_workers : n_default;
    int status = EXIT_FAILURE;

    if (n_workers == 1 && !options->socket_path)
        return worker_serve_fcgi(process);
    if (n_workers > 1 && !serve_handover_open(process->handover)) {
        process_fault(&process->conf.log, "socketpair", "cannot connect the workers");
        return EXIT_FAILURE;
    }
    if (workers_run(n_workers, worker_serve_fcgi, process, &process->conf.log, &status) &&
        options->socket_path)
        unlink(options->socket_path);
    return status;
}

/* Workers do not wait for the database, so one for each processor is enough.  With two, one goes on
 * while the other is replaced. */
static int default_workers(void)
{
    long n = sysconf(_SC_NPROCESSORS_ONLN);

    if (n < DEFAULT_WORKERS_LEAST)
        return DEFAULT_WORKERS_LEAST;
    return n > DEFAULT_WORKERS_MOST ? DEFAULT_WORKERS_MOST : (int)n;
}

/* Tells systemd that it is ready only after everything that can fail: a failed start must not look
 * like a service that ends a moment later. */
static int run_responder(struct process *process, const struct options *options)
{
    const struct log *log = &process->conf.log;
    const char *what;
    char reason[64];
    int passed;

    if (options->check_confinement)
        return confined_check(&process->conf) ? EXIT_SUCCESS : EXIT_FAILURE;
    if (!systemd_listen_fd(&passed, reason, sizeof reason)) {
        process_cannot_start(log, reason);
        return EXIT_FAILURE;
    }
    if (passed >= 0 && options->socket_path) {
        process_cannot_start(
            log, "--listen names a socket, but systemd passes another; use one of them");
        return EXIT_FAILURE;
    }
    if (passed < 0 && !options->socket_path && serve_is_cgi())
        return worker_serve_cgi(process);
    if (passed >= 0)
        process->listen_fd = passed;
    else if (options->socket_path &&
             !listen_unix(options->socket_path, options->socket_mode, &process->listen_fd, &what)) {
        process_fault(log, options->socket_path, what);
        return EXIT_FAILURE;
    }
    if (!systemd_notify("READY=1"))
        process_fault(log, "NOTIFY_SOCKET", "cannot tell systemd that all is ready");
    return run_workers(process, options,
                       passed >= 0 || options->socket_path ? default_workers() : 1);
}

/* A core would hold keys and client secrets.  A limit below a page makes no file, and a limit of
 * exactly 1 keeps the kernel from piping the core to a program (coredump_pipe() in fs/coredump.c).
 */
static void forbid_cores(void)
{
    struct rlimit limit = {.rlim_cur = 1, .rlim_max = 1};

    setrlimit(RLIMIT_CORE, &limit); /* it fails only if the limit is 0 already */
}

int main(int argc, char **argv)
{
    struct options options = {.socket_mode = 0660};
    struct process process = {.listen_fd = STDIN_FILENO, .handover = {-1, -1}};
    int status = parse_options(argc, argv, &options);

    if (status >= 0)
        return status;
    set_signals();
    forbid_cores();
    status = process_open(&process, options.conf_path) ? run_responder(&process, &options)
                                                       : EXIT_FAILURE;
    process_close(&process);
    return status;
}
