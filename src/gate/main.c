/* SPDX-License-Identifier: MIT */
/* adit-gate.fcgi: options, sockets, workers. */
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <syslog.h>
#include <unistd.h>

#include "base/number.h"
#include "base/process.h"
#include "base/standard_fds.h"
#include "conf/print.h"
#include "crypt/crypt.h"
#include "gate/fetch.h"
#include "gate/gate.h"
#include "gate/managed.h"
#include "gate/worker.h"
#include "serve/listen.h"
#include "serve/serve.h"
#include "serve/workers.h"

#define LOOPBACK "127.0.0.1:"

enum { EXIT_USAGE = 2 };

struct options {
    const char *conf_path;
    struct serve_place place; /* nowhere: at a socket that systemd passes */
    size_t n_workers;         /* 0: the default */
    bool check_confinement;
    struct conf_print print;
};

static const char usage[] =
    "Usage: adit-gate.fcgi [OPTION]...\n"
    "Decides who passes a route with an OAuth module, and signs visitors in at the route's\n"
    "identity provider.  Web servers ask it by FastCGI: nginx with auth_request, Apache with\n"
    "mod_authnz_fcgi.  It listens where --listen says, or on a socket that systemd passes.\n"
    "\n"
    "  -c, --conf FILE         read the settings from FILE (default: as adit.fcgi)\n"
    "  -l, --listen unix:PATH  listen on this Unix-domain socket\n"
    "  -l, --listen 127.0.0.1:PORT\n"
    "                          listen on this TCP port, for Apache\n"
    "  -m, --mode MODE         octal mode of the socket's file (default 0660)\n"
    "  -w, --workers N         number of worker processes, 1 to 256 (default: one per\n"
    "                          processor, 2 to 8)\n"
    "      --check-confinement\n"
    "                          confine this process like a worker and print what it can "
    "do\n" CONF_PRINT_HELP "  -h, --help              print this help\n"
    "  -V, --version           print the version\n";

static int wrong_usage(const char *what)
{
    fprintf(stderr, "adit-gate.fcgi: %s\n", what);
    return EXIT_USAGE;
}

/* Returns whether it is a place to listen at. */
static bool read_listen(const char *value, struct options *options)
{
    uint64_t port;

    if (strncmp(value, "unix:", 5) == 0) {
        options->place.path = value + 5;
        return value[5] != '\0';
    }
    if (strncmp(value, LOOPBACK, strlen(LOOPBACK)) != 0 ||
        !number_read(text_of(value + strlen(LOOPBACK)), 10, UINT16_MAX, &port))
        return false;
    options->place.port = (uint16_t)port;
    return port > 0;
}

/* Returns -1 to continue, or the exit status. */
static int read_option(int option, struct options *options)
{
    uint64_t number;

    switch (option) {
    case 'c':
        options->conf_path = optarg;
        return -1;
    case 'l':
        return read_listen(optarg, options)
                   ? -1
                   : wrong_usage("--listen takes unix:PATH or 127.0.0.1:PORT");
    case 'm':
        if (!number_read(text_of(optarg), 8, 0777, &number))
            return wrong_usage("--mode takes an octal mode such as 0660");
        options->place.mode = (mode_t)number;
        return -1;
    case 'w':
        if (!number_read(text_of(optarg), 10, WORKERS_MAX, &number) || number == 0)
            return wrong_usage("--workers takes 1 to 256");
        options->n_workers = (size_t)number;
        return -1;
    case 'k':
        options->check_confinement = true;
        return -1;
    case 'p':
        options->print.is_asked = true;
        return -1;
    case 'e':
        options->print.is_effective = true;
        return -1;
    case 'h':
        fputs(usage, stdout);
        return EXIT_SUCCESS;
    case 'V':
        puts("adit-gate.fcgi " PACKAGE_VERSION);
        return EXIT_SUCCESS;
    default:
        fprintf(stderr, "Try 'adit-gate.fcgi --help'.\n");
        return EXIT_USAGE;
    }
}

static int read_command_line(int argc, char **argv, struct options *options)
{
    static const struct option known[] = {
        {"conf", required_argument, NULL, 'c'},        {"listen", required_argument, NULL, 'l'},
        {"mode", required_argument, NULL, 'm'},        {"workers", required_argument, NULL, 'w'},
        {"check-confinement", no_argument, NULL, 'k'}, {"print-settings", no_argument, NULL, 'p'},
        {"effective", no_argument, NULL, 'e'},         {"help", no_argument, NULL, 'h'},
        {"version", no_argument, NULL, 'V'},           {NULL, 0, NULL, 0}};
    int status = -1;
    int option;

    while (status < 0 && (option = getopt_long(argc, argv, "c:l:m:w:hV", known, NULL)) != -1)
        status = read_option(option, options);
    if (status >= 0)
        return status;
    if (optind == argc)
        return conf_print_asked("adit-gate.fcgi", &options->print, options->conf_path);
    fprintf(stderr, "adit-gate.fcgi: unexpected argument '%s'\n", argv[optind]);
    return EXIT_USAGE;
}

/* ---- running ---- */

/* Reads them before the workers start, which share them.  Without them, checks still work. */
static bool load_authorities(struct gate *gate)
{
    const char *why;

    gate->authorities = fetch_authorities(gate->conf.gate.ca_file);
    if (!gate->authorities)
        return process_cannot_start(&gate->conf.log, "out of memory");
    why = authorities_read(gate->authorities);
    if (why) {
        const struct log_pair pairs[] = {
            {"cause", why}, {"ca_file", gate->conf.gate.ca_file}, {NULL, NULL}};

        log_event(&gate->conf.log, LOG_LEVEL_WARNING, "nobody can sign in", pairs);
    }
    return true;
}

static bool gate_open(struct gate *gate, const char *conf_path)
{
    const struct log early = {.level = LOG_LEVEL_INFO, .target = LOG_TARGET_STDERR};
    const struct log *log = &gate->conf.log;
    char reason[CONF_REASON_SIZE] = "";

    if (!conf_read(&gate->conf, conf_path, reason))
        return process_cannot_start(&early, reason);
    openlog("adit-gate", LOG_PID, LOG_DAEMON);
    gate->conf.log.limit = &gate->log_limit;
    names_fill(&gate->names, gate->conf.service_name);
    if (!crypt_start() || !fetch_start())
        return process_cannot_start(log, "libcrypto or libcurl does not work");
    gate->keyring = keyring_load(gate->conf.key_file, reason, sizeof reason);
    if (!gate->keyring || !managed_read(gate, reason, sizeof reason))
        return process_cannot_start(log, reason);
    return load_authorities(gate);
}

static void gate_close(struct gate *gate)
{
    authorities_free(gate->authorities);
    managed_free(gate);
    keyring_free(gate->keyring);
    conf_free(&gate->conf);
}

/* Listens where the options say, or takes systemd's socket. */
static bool gate_listen(struct gate *gate, const struct options *options)
{
    const struct log *log = &gate->conf.log;

    if (!serve_listen(&options->place, &gate->kept, log, &gate->listen_fd))
        return false;
    if (gate->listen_fd < 0)
        return process_cannot_start(log, "no socket; start it with --listen unix:PATH");
    serve_tell_ready(&gate->kept, log);
    return true;
}

static int gate_run(struct gate *gate, const struct options *options)
{
    size_t n = options->n_workers ? options->n_workers : workers_default();
    const struct log *log = &gate->conf.log;
    struct workers_plan plan = {.n = n,
                                .metrics = metrics_new(n),
                                .run = worker_run,
                                .context = gate,
                                .log = log,
                                .kept = &gate->kept};
    int status = EXIT_FAILURE;

    gate->counts = counts_new(n);
    if (!plan.metrics || !gate->counts)
        process_fault(log, "mmap", "cannot share memory with the workers");
    else if (!kept_open(&gate->kept) || (n > 1 && !serve_handover_open(gate->handover)))
        process_fault(log, "socketpair", "cannot connect the workers");
    else if (workers_run(&plan, &status) && options->place.path)
        unlink(options->place.path);
    metrics_free(plan.metrics, n);
    counts_free(gate->counts, n);
    return status;
}

/* Returns the exit status. */
static int gate_do(struct gate *gate, const struct options *options)
{
    const struct confined_needs needs = gate_needs(gate);

    if (options->check_confinement)
        return confined_check(&needs) ? EXIT_SUCCESS : EXIT_FAILURE;
    return gate_listen(gate, options) ? gate_run(gate, options) : EXIT_FAILURE;
}

int main(int argc, char **argv)
{
    struct options options = {.place.mode = 0660};
    struct gate gate = {.listen_fd = -1, .handover = {-1, -1}, .kept = {.pair = {-1, -1}}};
    int status = standard_fds_fill() ? read_command_line(argc, argv, &options) : EXIT_FAILURE;

    if (status >= 0)
        return status;
    process_set_signals();
    process_forbid_cores();
    status = gate_open(&gate, options.conf_path) ? gate_do(&gate, &options) : EXIT_FAILURE;
    gate_close(&gate);
    return status;
}
