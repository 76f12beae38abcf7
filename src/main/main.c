/* SPDX-License-Identifier: MIT */
/* adit.fcgi: options, sockets, workers. */
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/types.h>
#include <unistd.h>

#include "base/number.h"
#include "base/process.h"
#include "base/standard_fds.h"
#include "conf/print.h"
#include "confined/confined.h"
#include "main/responder.h"
#include "main/worker.h"
#include "serve/workers.h"
#include "serve/cgi.h"
#include "serve/listen.h"
#include "serve/serve.h"

enum { EXIT_USAGE = 2 };

struct options {
    const char *conf_path;
    struct serve_place place; /* nowhere: at a socket that was passed */
    size_t n_workers;         /* 0: the default */
    bool check_confinement;
    struct conf_print print;
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
    "                          confine this process like a worker and print what it can "
    "do\n" CONF_PRINT_HELP "  -h, --help              print this help\n"
    "  -V, --version           print the version\n";

/* Returns -1 to continue, or the exit status. */
static int parse_options(int argc, char **argv, struct options *options)
{
    static const struct option known[] = {
        {"conf", required_argument, NULL, 'c'},        {"listen", required_argument, NULL, 'l'},
        {"mode", required_argument, NULL, 'm'},        {"workers", required_argument, NULL, 'w'},
        {"check-confinement", no_argument, NULL, 'k'}, {"print-settings", no_argument, NULL, 'p'},
        {"effective", no_argument, NULL, 'e'},         {"help", no_argument, NULL, 'h'},
        {"version", no_argument, NULL, 'V'},           {NULL, 0, NULL, 0}};
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
            options->place.path = optarg + 5;
            break;
        case 'm':
            if (!number_read(text_of(optarg), 8, 0777, &number)) {
                fprintf(stderr, "adit.fcgi: --mode takes an octal mode such as 0660\n");
                return EXIT_USAGE;
            }
            options->place.mode = (mode_t)number;
            break;
        case 'w':
            if (!number_read(text_of(optarg), 10, WORKERS_MAX, &number) || number == 0) {
                fprintf(stderr, "adit.fcgi: --workers takes 1 to %d\n", WORKERS_MAX);
                return EXIT_USAGE;
            }
            options->n_workers = (size_t)number;
            break;
        case 'k':
            options->check_confinement = true;
            break;
        case 'p':
            options->print.is_asked = true;
            break;
        case 'e':
            options->print.is_effective = true;
            break;
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
        return conf_print_asked("adit.fcgi", &options->print, options->conf_path);
    fprintf(stderr, "adit.fcgi: unexpected argument '%s'\n", argv[optind]);
    return EXIT_USAGE;
}

/* ---- running ---- */

/* A responder that a web server has started ends when the web server says so, without draining.
 * mod_fcgid starts several programs, each with descriptor 0.  Each would count for itself, and a
 * scrape would reach any of them: so none counts. */
static int run_workers(struct responder *responder, const struct options *options, bool has_socket)
{
    size_t n_default = has_socket ? workers_default() : 1;
    size_t n = options->n_workers ? options->n_workers : n_default;
    bool is_alone = n == 1 && !options->place.path;
    struct workers_plan plan = {.n = n,
                                .drain_ms = has_socket ? responder->conf.drain_ms : 0,
                                .run = worker_serve_fcgi,
                                .context = responder,
                                .log = &responder->conf.log,
                                .kept = &responder->kept};
    int status = EXIT_FAILURE;

    responder->drain_ms = plan.drain_ms;
    if (!(is_alone && !has_socket) && !responder_count(responder, n))
        return EXIT_FAILURE;
    if (!kept_open(&responder->kept)) {
        process_fault(&responder->conf.log, "socketpair", "cannot keep connections");
        return EXIT_FAILURE;
    }
    if (is_alone && plan.drain_ms == 0 && responder->kept.pair[0] < 0)
        return worker_serve_fcgi(responder, 0);
    if (n > 1 && !serve_handover_open(responder->handover)) {
        process_fault(&responder->conf.log, "socketpair", "cannot connect the workers");
        return EXIT_FAILURE;
    }
    plan.metrics = responder->metrics;
    if (workers_run(&plan, &status) && options->place.path)
        unlink(options->place.path);
    return status;
}

static int run_responder(struct responder *responder, const struct options *options)
{
    const struct log *log = &responder->conf.log;
    const struct confined_needs needs = {.conf = &responder->conf,
                                         .conninfo = responder->conf.conninfo};
    int fd;

    if (options->check_confinement)
        return confined_check(&needs) ? EXIT_SUCCESS : EXIT_FAILURE;
    if (!serve_listen(&options->place, &responder->kept, log, &fd))
        return EXIT_FAILURE;
    if (fd < 0 && serve_is_cgi())
        return worker_serve_cgi(responder);
    if (fd >= 0)
        responder->listen_fd = fd;
    serve_tell_ready(&responder->kept, log);
    return run_workers(responder, options, fd >= 0);
}

int main(int argc, char **argv)
{
    struct options options = {.place.mode = 0660};
    struct responder responder = {
        .listen_fd = STDIN_FILENO, .handover = {-1, -1}, .kept = {.pair = {-1, -1}}};
    int status = standard_fds_fill() ? parse_options(argc, argv, &options) : EXIT_FAILURE;

    if (status >= 0)
        return status;
    process_set_signals();
    process_forbid_cores();
    status = responder_open(&responder, options.conf_path) ? run_responder(&responder, &options)
                                                           : EXIT_FAILURE;
    responder_close(&responder);
    return status;
}
