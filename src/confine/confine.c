/* SPDX-License-Identifier: MIT */
/* Confinement by Landlock.  The numbers are written out, since headers lag behind kernels. */
#include "confine/confine.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "confine/calls.h"

#ifndef SYS_landlock_create_ruleset
#define SYS_landlock_create_ruleset 444
#define SYS_landlock_add_rule 445
#define SYS_landlock_restrict_self 446
#endif

/* Rights to files.  The first version has 13 of them; FS_FIRST_VERSION is all of those. */
#define FS_READ_FILE (1ULL << 2)
#define FS_READ_DIR (1ULL << 3)
#define FS_FIRST_VERSION ((1ULL << 13) - 1)
#define FS_REFER (1ULL << 13)     /* from version 2 */
#define FS_TRUNCATE (1ULL << 14)  /* 3 */
#define NET_BIND_TCP (1ULL << 0)  /* 4 */
#define FS_IOCTL_DEV (1ULL << 15) /* 5 */
#define SCOPE_SIGNAL (1ULL << 1)  /* 6 */

#define CREATE_RULESET_VERSION 1U
#define RULE_PATH_BENEATH 1

struct ruleset_attributes {
    uint64_t fs;
    uint64_t net;
    uint64_t scoped;
};

struct path_beneath {
    uint64_t allowed;
    int32_t parent_fd;
} __attribute__((packed));

/* Folders, not files: a rule stays with the file that it was made for, and updates replace files.
 * Libraries load more files when they connect, maybe after an update. */
static const char *const system_folders[] = {
    "/etc",
    "/usr",
    "/lib",
    "/lib64",
    "/nix/store",
    "/gnu/store",
    "/var/lib/sss",
    "/var/lib/extrausers",
    "/run/systemd/resolve",
    "/run/resolvconf",
};

/* These may be links; their targets need to be readable, too. */
static const char *const system_files[] = {"/etc/resolv.conf", "/etc/hosts", "/etc/nsswitch.conf",
                                           "/etc/localtime"};

static const char *const system_devices[] = {"/dev/null", "/dev/random", "/dev/urandom"};

bool confine_is_built_in(void)
{
#ifdef ADIT_UNCONFINED
    return false;
#else
    return true;
#endif
}

static int create_ruleset(int version)
{
    struct ruleset_attributes attributes = {.fs = FS_FIRST_VERSION};
    size_t size = sizeof attributes.fs;

    if (version >= 2)
        attributes.fs |= FS_REFER;
    if (version >= 3)
        attributes.fs |= FS_TRUNCATE;
    if (version >= 4) {
        attributes.net = NET_BIND_TCP;
        size += sizeof attributes.net;
    }
    if (version >= 5)
        attributes.fs |= FS_IOCTL_DEV;
    if (version >= 6) {
        attributes.scoped = SCOPE_SIGNAL;
        size += sizeof attributes.scoped;
    }
    return (int)syscall(SYS_landlock_create_ruleset, &attributes, size, 0);
}

static void allow(struct confine_state *confinement, const char *path)
{
    struct path_beneath rule = {.allowed = FS_READ_FILE};
    struct stat status;

    if (confinement->ruleset_fd < 0)
        return;
    rule.parent_fd = open(path, O_PATH | O_CLOEXEC);
    if (rule.parent_fd < 0) {
        confinement->n_forgotten += errno != ENOENT && errno != ENOTDIR;
        return;
    }
    if (fstat(rule.parent_fd, &status) == 0 && S_ISDIR(status.st_mode))
        rule.allowed |= FS_READ_DIR;
    if (syscall(SYS_landlock_add_rule, confinement->ruleset_fd, RULE_PATH_BENEATH, &rule, 0) != 0)
        confinement->n_forgotten++;
    close(rule.parent_fd);
}

void confine_allow_folder(struct confine_state *confinement, const char *path)
{
    if (path && path[0] == '/')
        allow(confinement, path);
}

/* Allows the folder of a path.  A file in the root folder is allowed alone: the folder would be
 * everything. */
static void allow_parent(struct confine_state *confinement, const char *path)
{
    char folder[PATH_MAX];
    const char *slash = strrchr(path, '/');
    size_t len = (size_t)(slash - path);

    if (len >= sizeof folder)
        return;
    memcpy(folder, path, len);
    folder[len] = '\0';
    allow(confinement, strspn(folder, "/") == len ? path : folder);
}

/* A relative path may be a word and not a path.  realpath() fails then. */
void confine_allow_file(struct confine_state *confinement, const char *path)
{
    char target[PATH_MAX];

    if (!path)
        return;
    if (path[0] == '/')
        allow_parent(confinement, path);
    if (realpath(path, target))
        allow_parent(confinement, target);
}

void confine_begin(struct confine_state *confinement)
{
    long version = syscall(SYS_landlock_create_ruleset, NULL, 0, CREATE_RULESET_VERSION);

    *confinement = (struct confine_state){.ruleset_fd = -1};
    if (version <= 0)
        return;
    confinement->landlock = (int)version;
    confinement->ruleset_fd = create_ruleset(confinement->landlock);
    for (size_t i = 0; i < sizeof system_folders / sizeof system_folders[0]; i++)
        allow(confinement, system_folders[i]);
    for (size_t i = 0; i < sizeof system_files / sizeof system_files[0]; i++)
        confine_allow_file(confinement, system_files[i]);
    for (size_t i = 0; i < sizeof system_devices / sizeof system_devices[0]; i++)
        allow(confinement, system_devices[i]);
}

static bool restrict_files(int ruleset_fd)
{
    return ruleset_fd >= 0 && syscall(SYS_landlock_restrict_self, ruleset_fd, 0) == 0;
}

void confine_enforce(struct confine_state *confinement)
{
    bool may = confine_is_built_in() && prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0;

    if (!may || !restrict_files(confinement->ruleset_fd))
        confinement->landlock = 0;
    if (confinement->ruleset_fd >= 0)
        close(confinement->ruleset_fd);
    confinement->ruleset_fd = -1;
    confinement->seccomp = may && confine_calls();
}
