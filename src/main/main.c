/* SPDX-License-Identifier: MIT */
/* adit.fcgi: the program that answers requests. */
#include <errno.h>
#include <getopt.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <syslog.h>
#include <unistd.h>

#include "api/api.h"
#include "conf/conf.h"
#include "crypt/crypt.h"
#include "http/response.h"
#include "main/confined.h"
#include "main/systemd.h"
#include "main/workers.h"
#include "pg/pipeline.h"
#include "serve/cgi.h"
#include "serve/serve.h"
#include "store/keyring.h"

#define BACKLOG 1024
#define DEFAULT_WORKERS_LEAST 2
#define DEFAULT_WORKERS_MOST 8

/* Requests that a worker works on at once, one of them a short read at least.  They share a session
 * in the database for short reads, and have one each for other work. */
#define LANES 5

/* A CGI program is one request's; it may not outlive it by much. */
#define CGI_TIMEOUT_S 30

enum { EXIT_USAGE = 2 };

struct options {
    const char *conf_path;
    const char *socket_path; /* NULL: one that was passed */
    int n_workers;           /* 0: the default */
    bool check_confinement;
    mode_t socket_mode;
};

/* All that a worker needs, made before the workers are. */
struct process {
    struct conf conf;
    struct api_settings settings;
    struct log_limit log_limit;
    struct keyring *keyring;
    int listen_fd;
    int handover[2]; /* between workers */
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

static bool read_number(const char *s, int base, long most, long *out)
{
    char *end;

    errno = 0;
    *out = strtol(s, &end, base);
    return errno == 0 && end != s && *end == '\0' && *out >= 0 && *out <= most;
}

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
    long number;

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
            if (!read_number(optarg, 8, 0777, &number)) {
                fprintf(stderr, "adit.fcgi: --mode takes an octal mode such as 0660\n");
                return EXIT_USAGE;
            }
            options->socket_mode = (mode_t)number;
            break;
        case 'w':
            if (!read_number(optarg, 10, WORKERS_MAX, &number) || number == 0) {
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

/* ---- start ---- */

/* Reports why the program cannot start, on the log's target as well as the terminal can show it. */
static bool cannot_start(const struct log *log, const char *reason)
{
    struct log_pair pairs[] = {{"cause", reason}, {NULL, NULL}};

    log_event(log, LOG_LEVEL_ERROR, "cannot start", pairs);
    return false;
}

static void fill_settings(struct process *process)
{
    struct api_settings *settings = &process->settings;
    const struct conf *conf = &process->conf;

    names_fill(&settings->names, conf->service_name);
    for (size_t i = 0; i < OAUTH_N_PROVIDERS; i++)
        settings->oauth.providers[i] = conf->provider_names[i];
    settings->oauth.cookie_prefix = settings->names.cookie_prefix;
    settings->base_url = conf->base_url[0] ? conf->base_url : NULL;
    settings->log = conf->log;
}

static bool prepare(struct process *process, const struct options *options)
{
    const struct log early = {.level = LOG_LEVEL_INFO, .target = LOG_TARGET_STDERR};
    char reason[CONF_REASON_SIZE] = "";
    const char *route;

    if (!conf_read(&process->conf, options->conf_path, reason))
        return cannot_start(&early, reason);
    openlog("adit", LOG_PID, LOG_DAEMON);
    process->conf.log.limit = &process->log_limit;
    fill_settings(process);
    if (!route_table_fits(api_routes, &route)) {
        snprintf(reason, sizeof reason, "%s has more identifiers or parameters than fit", route);
        return cannot_start(&process->conf.log, reason);
    }
    if (!crypt_start())
        return cannot_start(&process->conf.log, "libcrypto does not work");
    process->keyring = keyring_load(process->conf.key_file, reason, sizeof reason);
    if (!process->keyring)
        return cannot_start(&process->conf.log, reason);
    return true;
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

/* ---- a worker ---- */

/* What works on one request at a time. */
struct lane {
    const struct process *process;
    struct wait wait;
    struct pg *pg;
    struct store *store;
    struct arena arena;
    struct response response;
};

static bool lane_open(struct lane *lane, struct pg_pipeline *pipeline)
{
    lane->pg = pg_new(lane->process->conf.conninfo, &lane->wait);
    if (lane->pg)
        pg_use_pipeline(lane->pg, pipeline);
    lane->store = lane->pg ? store_new(lane->pg, lane->process->keyring) : NULL;
    return lane->store && response_reserve(&lane->response);
}

static void lane_close(struct lane *lane)
{
    store_free(lane->store);
    pg_free(lane->pg);
    arena_free(&lane->arena);
    buf_free(&lane->response.headers);
    buf_free(&lane->response.body);
}

static struct response *answer(void *context, const struct request *request)
{
    struct lane *lane = context;

    pg_start_request(lane->pg, request->peer_gone, request->peer);
    api_answer(&lane->process->settings, lane->store, &lane->arena, request, &lane->response);
    return &lane->response;
}

/* A worker that wakes up does not push aside whoever runs, which has more for it when its turn
 * comes: under load, that saves a sixth of its processor time.  A service that may not say so, or
 * ends for it, is started that way. */
static void let_others_finish(void)
{
    const struct sched_param none = {.sched_priority = 0};

    if (sched_getscheduler(0) == SCHED_OTHER)
        (void)sched_setscheduler(0, SCHED_BATCH, &none);
}

/* What all lanes of a worker share. */
struct worker {
    const struct process *process;
    struct pg_pipeline *pipeline;
    struct lane lanes[LANES];
    struct lane at_once; /* no lane: it has neither a stack nor a database */
};

static enum fcgi_work sort(void *context, struct text method, struct text path)
{
    (void)context;
    switch (api_work(method, path)) {
    case ROUTE_INSTANT:
        return FCGI_WORK_INSTANT;
    case ROUTE_SHORT:
        return FCGI_WORK_SHORT;
    case ROUTE_LONG:
        break;
    }
    return FCGI_WORK_LONG;
}

static struct response *answer_at_once(void *context, const struct request *request)
{
    struct worker *worker = context;
    struct lane *lane = &worker->at_once;

    api_answer(&worker->process->settings, lane->store, &lane->arena, request, &lane->response);
    return &lane->response;
}

static void send_pipeline(void *context)
{
    pg_pipeline_send(((struct worker *)context)->pipeline);
}

static void receive_pipeline(void *context)
{
    pg_pipeline_receive(((struct worker *)context)->pipeline);
}

static bool worker_open(struct worker *worker, struct fcgi *fcgi)
{
    const struct process *process = worker->process;

    if (!worker->pipeline)
        return false;
    worker->at_once.store = store_new(NULL, process->keyring);
    if (!worker->at_once.store || !response_reserve(&worker->at_once.response))
        return false;
    for (int i = 0; i < LANES; i++) {
        struct lane *lane = &worker->lanes[i];

        lane->process = process;
        if (!fcgi_add_lane(fcgi, answer, lane, &lane->wait) || !lane_open(lane, worker->pipeline))
            return false;
    }
    return true;
}

static void worker_close(struct worker *worker)
{
    for (int i = 0; i < LANES; i++)
        lane_close(&worker->lanes[i]);
    lane_close(&worker->at_once);
    pg_pipeline_free(worker->pipeline);
}

static int serve_fcgi(void *context)
{
    const struct process *process = context;
    struct worker worker = {.process = process,
                            .pipeline = pg_pipeline_new(process->conf.conninfo)};
    const struct fcgi_callbacks callbacks = {sort, answer_at_once, send_pipeline, receive_pipeline,
                                             &worker};
    struct fcgi *fcgi = fcgi_open(process->listen_fd, process->handover,
                                  process->settings.names.version_variable, &process->conf.log);
    bool ok = false;

    if (!fcgi) {
        cannot_start(&process->conf.log, "the socket cannot be used");
    } else if (!worker_open(&worker, fcgi)) {
        cannot_start(&process->conf.log, "out of memory");
    } else {
        let_others_finish();
        /* Before anything of a client's is read, and after all that it needs is open. */
        confined_enter(&process->conf);
        fcgi_serve(fcgi, &callbacks);
        ok = true;
    }
    worker_close(&worker);
    fcgi_close(fcgi);
    return ok ? EXIT_SUCCESS : EXIT_FAILURE;
}

static int serve_cgi(const struct process *process)
{
    struct lane lane = {.process = process, .wait = wait_alone};
    struct request request;
    struct buf body = {0};
    bool ok = lane_open(&lane, NULL) || cannot_start(&process->conf.log, "out of memory");

    alarm(CGI_TIMEOUT_S);
    confined_enter(&process->conf);
    if (ok && cgi_read(&request, &body, process->settings.names.version_variable)) {
        ok = cgi_answer(answer(&lane, &request));
    } else if (ok) {
        ok = cannot_start(&process->conf.log,
                          "descriptor 0 is no listening socket, and there is no CGI request");
    }
    buf_free(&body);
    lane_close(&lane);
    return ok ? EXIT_SUCCESS : EXIT_FAILURE;
}

/* ---- the socket ---- */

static bool socket_fault(const struct log *log, const char *path, const char *what)
{
    char reason[256];

    snprintf(reason, sizeof reason, "%s: %s: %s", path, what, strerror(errno));
    return cannot_start(log, reason);
}

/* A socket file that nobody listens on is what an earlier run left behind.  It is known by one
 * error alone: any other may come of a socket that is in use, by a responder that is busy, say, or
 * that this user may not connect to. */
static bool remove_stale(const struct sockaddr_un *address, const struct log *log)
{
    struct stat status;
    int fd;
    int fault;

    if (lstat(address->sun_path, &status) != 0)
        return true;
    if (!S_ISSOCK(status.st_mode)) {
        errno = EEXIST;
        return socket_fault(log, address->sun_path, "cannot listen");
    }
    fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (fd < 0)
        return socket_fault(log, address->sun_path, "cannot listen");
    fault = EADDRINUSE;
    if (connect(fd, (const struct sockaddr *)address, sizeof *address) != 0)
        fault = errno;
    close(fd);
    if (fault != ECONNREFUSED) {
        errno = fault == EAGAIN ? EADDRINUSE : fault;
        return socket_fault(log, address->sun_path, "cannot listen");
    }
    return unlink(address->sun_path) == 0 ||
           socket_fault(log, address->sun_path, "cannot remove the old socket");
}

static bool open_socket(struct process *process, const struct options *options)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    const struct log *log = &process->conf.log;
    mode_t old_mask;
    int bound;

    if (strlen(options->socket_path) >= sizeof address.sun_path) {
        errno = ENAMETOOLONG;
        return socket_fault(log, options->socket_path, "cannot listen");
    }
    snprintf(address.sun_path, sizeof address.sun_path, "%s", options->socket_path);
    if (!remove_stale(&address, log))
        return false;
    process->listen_fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (process->listen_fd < 0)
        return socket_fault(log, options->socket_path, "cannot listen");
    old_mask = umask(0777 & ~options->socket_mode);
    bound = bind(process->listen_fd, (const struct sockaddr *)&address, sizeof address);
    umask(old_mask);
    if (bound != 0 || listen(process->listen_fd, BACKLOG) != 0)
        return socket_fault(log, options->socket_path, "cannot listen");
    return true;
}

static int serve(struct process *process, const struct options *options, int n_default)
{
    int n_workers = options->n_workers ? options->n_workers : n_default;
    int status = EXIT_FAILURE;

    if (n_workers == 1 && !options->socket_path)
        return serve_fcgi(process);
    if (n_workers > 1 && !fcgi_handover_open(process->handover)) {
        socket_fault(&process->conf.log, "socketpair", "cannot connect the workers");
        return EXIT_FAILURE;
    }
    if (workers_run(n_workers, serve_fcgi, process, &process->conf.log, &status) &&
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
        cannot_start(log, reason);
        return EXIT_FAILURE;
    }
    if (passed >= 0 && options->socket_path) {
        cannot_start(log, "--listen names a socket, and systemd passes another");
        return EXIT_FAILURE;
    }
    if (passed < 0 && !options->socket_path && fcgi_is_cgi())
        return serve_cgi(process);
    if (passed >= 0)
        process->listen_fd = passed;
    else if (options->socket_path && !open_socket(process, options))
        return EXIT_FAILURE;
    if (!systemd_notify("READY=1"))
        socket_fault(log, "NOTIFY_SOCKET", "cannot tell systemd that all is ready");
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
    status = prepare(&process, &options) ? run(&process, &options) : EXIT_FAILURE;
    keyring_free(process.keyring);
    conf_free(&process.conf);
    return status;
}
