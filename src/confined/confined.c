/* SPDX-License-Identifier: MIT */
/* Confines a worker, and tests the confinement. */
#include "confined/confined.h"

#include <errno.h>
#include <fcntl.h>
#include <netdb.h>
#include <netinet/in.h>
#include <pwd.h>
#include <sched.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/shm.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/error.h"
#include "confine/confine.h"
#include "pg/pg.h"
#include "keyring/keyring.h"

static void allow_file(void *confinement, const char *path)
{
    confine_allow_file(confinement, path);
}

/* Kerberos' variables may also name a folder of caches, or several settings files with colons
 * between. */
static void allow_kerberos(struct confine_state *confinement)
{
    const char *cache = getenv("KRB5CCNAME");
    const char *settings = getenv("KRB5_CONFIG");
    const char *keytab = getenv("KRB5_CLIENT_KTNAME");

    if (cache && strncmp(cache, "DIR:", 4) == 0)
        confine_allow_folder(confinement, cache + 4);
    while (settings && *settings) {
        size_t len = strcspn(settings, ":");
        char *path = strndup(settings, len);

        confine_allow_file(confinement, path);
        free(path);
        settings += len + (settings[len] == ':');
    }
    if (keytab)
        confine_allow_file(confinement, keytab + (strncmp(keytab, "FILE:", 5) == 0 ? 5 : 0));
}

/* Folders of certificates and modules, of the system and of the operator. */
static void allow_folders(struct confine_state *confinement, const char *conninfo)
{
    confine_allow_folder(confinement, getenv("SSL_CERT_DIR"));
    confine_allow_folder(confinement, getenv("OPENSSL_MODULES"));
    pg_see_files(conninfo, allow_file, confinement);
    allow_kerberos(confinement);
}

static void confine(struct confine_state *confinement, const struct confined_needs *needs)
{
    confine_begin(confinement);
    allow_folders(confinement, needs->conninfo);
    confine_allow_file(confinement, needs->conf->key_file);
    confine_allow_file(confinement, needs->ca_file);
    confine_enforce(confinement);
}

static void tell_landlock(const struct confine_state *confinement, char text[16])
{
    snprintf(text, 16, confinement->landlock ? "%d" : "no", confinement->landlock);
}

void confined_enter(const struct confined_needs *needs)
{
    struct confine_state confinement;
    char landlock[16];
    struct log_pair pairs[] = {{"landlock", landlock}, {"seccomp", "no"}, {NULL, NULL}};

    confine(&confinement, needs);
    tell_landlock(&confinement, landlock);
    if (confinement.seccomp)
        pairs[1].value = "yes";
    log_event(&needs->conf->log, LOG_LEVEL_DEBUG, "confined", pairs);
}

/* ---- the test ---- */

/* Each of these makes a call that must be refused.  Returns errno, or 0 if it worked. */

static int error_of(long result)
{
    return result < 0 ? errno : 0;
}

static int try_to_open(const char *path, int flags)
{
    int fd = open(path, flags | O_CLOEXEC, 0600);
    int error = error_of(fd);

    if (fd >= 0)
        close(fd);
    return error;
}

/* With an argument over the kernel's limit of 32 pages.  The kernel checks the file first: if this
 * process may run the program, the call fails with E2BIG, and the process survives. */
static int run_program(const struct confined_needs *needs)
{
    const size_t size = (size_t)sysconf(_SC_PAGESIZE) * 33;
    char *argument = malloc(size);
    char *const arguments[] = {argument, NULL};
    char *const environment[] = {NULL};
    int error = ENOMEM;

    (void)needs;
    if (argument) {
        memset(argument, 'x', size - 1);
        argument[size - 1] = '\0';
        error = error_of(execve("/bin/sh", arguments, environment));
    }
    free(argument);
    return error == E2BIG ? 0 : error;
}

/* With contradictory flags: if it is allowed, it fails with EINVAL. */
static int start_process(const struct confined_needs *needs)
{
    int error = error_of(syscall(SYS_clone, CLONE_SIGHAND, 0, 0, 0, 0));

    (void)needs;
    return error == EINVAL ? 0 : error;
}

/* With a process number that cannot exist: if it is allowed, it fails with ESRCH. */
static int trace_process(const struct confined_needs *needs)
{
    int error = error_of(ptrace(PTRACE_PEEKDATA, INT32_MAX, NULL, NULL));

    (void)needs;
    return error == ESRCH ? 0 : error;
}

static int read_elsewhere(const struct confined_needs *needs)
{
    (void)needs;
    return try_to_open("/proc/self/environ", O_RDONLY);
}

static int list_elsewhere(const struct confined_needs *needs)
{
    (void)needs;
    return try_to_open("/", O_RDONLY | O_DIRECTORY);
}

static int make_file(const struct confined_needs *needs)
{
    (void)needs;
    return try_to_open("/tmp", O_TMPFILE | O_WRONLY);
}

static int write_null(const struct confined_needs *needs)
{
    (void)needs;
    return try_to_open("/dev/null", O_WRONLY);
}

static int listen_on_port(const struct confined_needs *needs)
{
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    int error = error_of(fd);

    (void)needs;
    if (fd < 0)
        return error;
    error = error_of(bind(fd, (const struct sockaddr *)&address, sizeof address));
    if (error == 0)
        error = error_of(listen(fd, 1));
    close(fd);
    return error;
}

/* Number INT32_MAX is no process: if it is allowed, each of the next fails with ESRCH. */
static int absent_or(int error)
{
    return error == ESRCH ? 0 : error;
}

/* The kernel would signal a descriptor's owner with the signal that the descriptor names. */
static int own_descriptor(const struct confined_needs *needs)
{
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    int error = fd < 0 ? errno : absent_or(error_of(fcntl(fd, F_SETOWN, INT32_MAX)));

    (void)needs;
    if (fd >= 0)
        close(fd);
    return error;
}

static int slow_process(const struct confined_needs *needs)
{
    (void)needs;
    return absent_or(error_of(setpriority(PRIO_PROCESS, INT32_MAX, 0)));
}

static int schedule_process(const struct confined_needs *needs)
{
    const struct sched_param none = {0};

    (void)needs;
    return absent_or(error_of(sched_setscheduler(INT32_MAX, SCHED_OTHER, &none)));
}

static int limit_process(const struct confined_needs *needs)
{
    struct rlimit limit;

    (void)needs;
    return absent_or(error_of(prlimit(INT32_MAX, RLIMIT_CPU, NULL, &limit)));
}

/* Asks for the memory of a key that nothing has: if it is allowed, it fails with ENOENT. */
static int share_memory(const struct confined_needs *needs)
{
    int error = error_of(shmget(INT32_MAX, 1, 0));

    (void)needs;
    return error == ENOENT ? 0 : error;
}

static int read_kernel_keys(const struct confined_needs *needs)
{
    const int get_id = 0, session = -3;

    (void)needs;
    return error_of(syscall(SYS_keyctl, get_id, session, 0));
}

static int receive_on_port(const struct confined_needs *needs)
{
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    int error = error_of(fd);

    (void)needs;
    if (fd < 0)
        return error;
    error = error_of(bind(fd, (const struct sockaddr *)&address, sizeof address));
    close(fd);
    return error;
}

/* The filter answers as a kernel without that family.  Every kernel has netlink, but no pairs of
 * its sockets: if a pair is allowed, it fails with EOPNOTSUPP. */
static int refused_family(int error)
{
    return error == EAFNOSUPPORT ? EPERM : error == EOPNOTSUPP ? 0 : error;
}

static int open_netlink(const struct confined_needs *needs)
{
    int fd = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, 0);
    int error = refused_family(error_of(fd));

    (void)needs;
    if (fd >= 0)
        close(fd);
    return error;
}

static int pair_netlink(const struct confined_needs *needs)
{
    int pair[2];

    (void)needs;
    return refused_family(error_of(socketpair(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, 0, pair)));
}

/* Each of these makes a call that must still work. */

static int read_key_file(const struct confined_needs *needs)
{
    char reason[CONF_REASON_SIZE];
    struct keyring *keyring = keyring_load(needs->conf->key_file, reason, sizeof reason);

    keyring_free(keyring);
    return keyring ? 0 : EACCES;
}

static bool has_ca_file(const struct confined_needs *needs)
{
    return needs->ca_file && needs->ca_file[0];
}

static int read_ca_file(const struct confined_needs *needs)
{
    return try_to_open(needs->ca_file, O_RDONLY);
}

static int resolve_name(const struct confined_needs *needs)
{
    struct addrinfo *found = NULL;
    int error = getaddrinfo("localhost", NULL, NULL, &found);

    (void)needs;
    if (error == 0)
        freeaddrinfo(found);
    return error == 0 ? 0 : ENOENT;
}

static int look_up_user(const struct confined_needs *needs)
{
    (void)needs;
    return getpwuid(geteuid()) ? 0 : ENOENT;
}

struct trial {
    const char *what;
    int (*run)(const struct confined_needs *needs);
    bool wanted; /* it must work */
};

static const struct trial trials[] = {
    {"running a program", run_program, false},
    {"starting a process", start_process, false},
    {"tracing a process", trace_process, false},
    {"signalling by a descriptor", own_descriptor, false},
    {"slowing a process", slow_process, false},
    {"scheduling a process", schedule_process, false},
    {"limiting a process", limit_process, false},
    {"sharing memory with a process", share_memory, false},
    {"reading keys of the kernel", read_kernel_keys, false},
    {"reading a file outside the list", read_elsewhere, false},
    {"listing a folder outside the list", list_elsewhere, false},
    {"making a file", make_file, false},
    {"writing into a file", write_null, false},
    {"listening on a port", listen_on_port, false},
    {"receiving UDP on a port", receive_on_port, false},
    {"opening a socket of netlink", open_netlink, false},
    {"opening a pair of such sockets", pair_netlink, false},
    {"reading the key file", read_key_file, true},
    {"reading the authorities", read_ca_file, true},
    {"resolving a name", resolve_name, true},
    {"looking a user up", look_up_user, true},
};

static bool run_trial(const struct trial *trial, const struct confined_needs *needs)
{
    int error = trial->run(needs);
    bool refused = error == EACCES || error == EPERM;
    bool ok = trial->wanted ? error == 0 : refused;

    printf("%-36s %s%s%s\n", trial->what,
           error == 0 ? "works"
           : refused  ? "refused"
                      : "fails: ",
           error == 0 || refused ? "" : strerror(error), ok ? "" : "  <-- wrong");
    return ok;
}

bool confined_check(const struct confined_needs *needs)
{
    struct confine_state confinement;
    char landlock[16];
    bool ok;

    confine(&confinement, needs);
    tell_landlock(&confinement, landlock);
    if (!confine_is_built_in())
        puts("This is a test build: it is not confined.");
    printf("%-36s %s\n", "Landlock", landlock);
    printf("%-36s %s\n", "seccomp", confinement.seccomp ? "yes" : "no");
    ok = confinement.landlock && confinement.seccomp && confinement.n_forgotten == 0;
    for (size_t i = 0; i < sizeof trials / sizeof trials[0]; i++) {
        if (trials[i].run != read_ca_file || has_ca_file(needs))
            ok = run_trial(&trials[i], needs) && ok;
    }
    puts(ok ? "A worker is confined." : "A worker is not fully confined.");
    return ok;
}
