/* SPDX-License-Identifier: MIT */
/* adit-gateway: options, settings, start and end. */
#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <syslog.h>
#include <unistd.h>

#include "base/listen.h"
#include "base/process.h"
#include "base/standard_fds.h"
#include "base/systemd.h"
#include "conf/print.h"
#include "gateway/drivers.h"
#include "gateway/login.h"
#include "gateway/loop.h"
#include "gateway/proc.h"
#include "gateway/session_file.h"

enum { EXIT_USAGE = 2 };

/* The group of the socket's folder may ask. */
#define SOCKET_MODE 0660

static const char usage[] =
    "Usage: adit-gateway [OPTION]...\n"
    "Tells sshd which keys may open tunnels, and ends sessions whose rules have changed.  It\n"
    "stays in the foreground.\n"
    "\n"
    "  -c, --conf FILE         read the settings from FILE (default: $ADIT_CONF, else the first\n"
    "                          that exists of ROOT/etc/adit.conf, if this program is\n"
    "                          ROOT/libexec/adit/adit-gateway, " ADIT_CONF_PATH "\n"
    "                          and adit.conf beside the program)\n" CONF_PRINT_HELP
    "  -h, --help              print this help\n"
    "  -V, --version           print the version\n";

/* Returns -1 to continue, or the exit status. */
static int read_options(int argc, char **argv, const char **conf_path)
{
    static const struct option known[] = {
        {"conf", required_argument, NULL, 'c'}, {"print-settings", no_argument, NULL, 'p'},
        {"effective", no_argument, NULL, 'e'},  {"help", no_argument, NULL, 'h'},
        {"version", no_argument, NULL, 'V'},    {NULL, 0, NULL, 0}};
    struct conf_print print = {false, false};
    int option;

    while ((option = getopt_long(argc, argv, "c:hV", known, NULL)) != -1) {
        switch (option) {
        case 'c':
            *conf_path = optarg;
            break;
        case 'p':
            print.is_asked = true;
            break;
        case 'e':
            print.is_effective = true;
            break;
        case 'h':
            fputs(usage, stdout);
            return EXIT_SUCCESS;
        case 'V':
            puts("adit-gateway " PACKAGE_VERSION);
            return EXIT_SUCCESS;
        default:
            fprintf(stderr, "Try 'adit-gateway --help'.\n");
            return EXIT_USAGE;
        }
    }
    if (optind == argc)
        return conf_print_asked("adit-gateway", &print, *conf_path);
    fprintf(stderr, "adit-gateway: unexpected argument '%s'\n", argv[optind]);
    return EXIT_USAGE;
}

/* As process_fault(), for the folder of sessions: says what to do. */
static bool state_failed(const struct log *log, const char *path, const char *what)
{
    const char *fault = strerror(errno);
    char reason[512];

    if (strncmp(what, "cannot ", 7) != 0)
        return process_fault(log, path, what);
    snprintf(reason, sizeof reason,
             "%s: %s: %s; make its parent folder for the user of adit-gateway, or set state in "
             "[gateway] to another folder",
             path, what, fault);
    return process_cannot_start(log, reason);
}

/* The loop reads SIGTERM and SIGINT from a signalfd. */
static void block_signals(void)
{
    struct sigaction ignore = {.sa_handler = SIG_IGN};
    sigset_t blocked;

    sigaction(SIGPIPE, &ignore, NULL);
    sigaction(SIGHUP, &ignore, NULL);
    sigemptyset(&blocked);
    sigaddset(&blocked, SIGTERM);
    sigaddset(&blocked, SIGINT);
    sigprocmask(SIG_BLOCK, &blocked, NULL);
}

/* Sessions take two each (gateway/crowd.h). */
static void raise_descriptors(void)
{
    struct rlimit limit;

    if (getrlimit(RLIMIT_NOFILE, &limit) == 0) {
        limit.rlim_cur = limit.rlim_max;
        setrlimit(RLIMIT_NOFILE, &limit);
    }
}

static bool open_gateway(struct gateway *gateway, const char *conf_path)
{
    const struct log early = {.level = LOG_LEVEL_INFO, .target = LOG_TARGET_STDERR};
    const struct log *log = &gateway->conf.log;
    char reason[CONF_REASON_SIZE] = "";
    const char *what;

    if (!conf_read(&gateway->conf, conf_path, reason))
        return process_cannot_start(&early, reason);
    openlog("adit-gateway", LOG_PID, LOG_DAEMON);
    what = drivers_fault(&gateway->conf);
    if (what)
        return process_cannot_start(log, what);
    gateway->conf.log.limit = &gateway->log_limit;
    gateway->hasher = crypt_start() ? crypt_hasher_new() : NULL;
    if (!gateway->hasher)
        return process_cannot_start(log, "libcrypto does not work");
    gateway->epoll = epoll_create1(EPOLL_CLOEXEC);
    if (gateway->epoll < 0)
        return process_fault(log, "epoll_create1", "cannot begin");
    if (!state_open(&gateway->state, gateway->conf.gateway.state, &what))
        return state_failed(log, gateway->conf.gateway.state, what);
    gateway->edges = edges_new(&gateway->conf.mutual_tls, log);
    return (gateway->edges && drivers_open(gateway)) || process_cannot_start(log, "out of memory");
}

static void close_gateway(struct gateway *gateway)
{
    edges_free(gateway->edges);
    drivers_close(gateway);
    ssh_sessions_free(&gateway->sessions);
    heavy_keys_free(&gateway->heavy_keys);
    heavy_keys_free(&gateway->light_keys);
    arena_free(&gateway->glanced.arena);
    state_close(&gateway->state);
    if (gateway->epoll >= 0)
        close(gateway->epoll);
    crypt_hasher_free(gateway->hasher);
    buf_free(&gateway->feed.snapshot);
    follows_free(&gateway->follows);
    conf_free(&gateway->conf);
}

/* Takes up the sessions of the run before, and goes on until a signal comes. */
static bool run_loop(struct gateway *gateway, int listen_fd)
{
    const struct log *log = &gateway->conf.log;
    bool ok;

    if (!session_files_read(&gateway->state, &gateway->sessions, log))
        return process_fault(log, gateway->conf.gateway.state, "cannot read the folder");
    login_judge_former(gateway);
    if (!systemd_notify("READY=1"))
        process_fault(log, "NOTIFY_SOCKET", "cannot tell systemd that all is ready");
    systemd_forget();
    if (!proc_tells_children())
        log_event(log, LOG_LEVEL_WARNING,
                  "the kernel does not tell children of processes: each login searches all", NULL);
    log_event(log, LOG_LEVEL_INFO, "started", NULL);
    ok = loop_run(gateway, listen_fd) || process_fault(log, "epoll", "the loop cannot go on");
    log_event(log, LOG_LEVEL_INFO, "stopped; sessions go on", NULL);
    return ok;
}

/* Listens first: only one daemon can, and the files of sessions are its own. */
static bool run_gateway(struct gateway *gateway)
{
    const char *path = gateway->conf.gateway.socket;
    const char *what = "cannot listen";
    int listen_fd = -1;
    bool ok;

    if (!listen_unix(path, SOCKET_MODE, &listen_fd, &what))
        return process_fault(&gateway->conf.log, path, what);
    ok = fcntl(listen_fd, F_SETFL, O_NONBLOCK) == 0 && run_loop(gateway, listen_fd);
    close(listen_fd);
    unlink(path);
    return ok;
}

int main(int argc, char **argv)
{
    static struct gateway gateway; /* all zero, as it is large: none of it is in the file */
    const char *conf_path = NULL;
    int status = standard_fds_fill() ? read_options(argc, argv, &conf_path) : EXIT_FAILURE;

    if (status >= 0)
        return status;
    gateway.epoll = gateway.state.folder = gateway.state.lock = -1;
    umask(0077);
    block_signals();
    raise_descriptors();
    status =
        open_gateway(&gateway, conf_path) && run_gateway(&gateway) ? EXIT_SUCCESS : EXIT_FAILURE;
    close_gateway(&gateway);
    return status;
}
