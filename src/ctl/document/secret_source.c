/* SPDX-License-Identifier: MIT */
/* Where a document may take client secrets from. */
#include "ctl/document/secret_source.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

/* Writes the reason.  Returns false. */
static bool refuse_source(char reason[SECRET_REASON_SIZE], const char *format, ...)
    __attribute__((format(printf, 2, 3)));

static bool refuse_source(char reason[SECRET_REASON_SIZE], const char *format, ...)
{
    va_list args;

    va_start(args, format);
    vsnprintf(reason, SECRET_REASON_SIZE, format, args);
    va_end(args);
    return false;
}

/* ---- variables ---- */

/* Variables of Adit and libpq: passwords, and the names of files with passwords. */
static const char *const kept_prefixes[] = {"ADIT_", "PG"};

bool secret_source_variable(const struct ctl *ctl, struct text name, struct text *secret,
                            char reason[SECRET_REASON_SIZE])
{
    const char *prefix = ctl->options.secret_env;

    if (!prefix)
        return refuse_source(reason, "needs --secret-env PREFIX: without it, no variable is read");
    if (!text_begins(name, prefix))
        return refuse_source(reason, "does not begin with the PREFIX of --secret-env");
    for (size_t i = 0; i < sizeof kept_prefixes / sizeof kept_prefixes[0]; i++) {
        if (text_begins(name, kept_prefixes[i]))
            return refuse_source(reason,
                                 "is refused: variables that begin with %s are no client "
                                 "secrets",
                                 kept_prefixes[i]);
    }
    *secret = text_of(getenv(name.s));
    return secret->s ? secret_valid(*secret, reason) : refuse_source(reason, "is not set");
}

/* ---- files ---- */

/* Looks for a file among those that Adit itself uses. */
struct kept_files {
    struct stat status; /* of the file */
    bool is_found;
};

static void look_at_kept(void *context, const char *path)
{
    struct kept_files *kept = context;
    struct stat status;

    if (path && *path && stat(path, &status) == 0 && status.st_dev == kept->status.st_dev &&
        status.st_ino == kept->status.st_ino)
        kept->is_found = true;
}

/* Returns whether the settings, or libpq, read this very file, by any of its names.  A file whose
 * status cannot be read counts as one. */
static bool is_kept(const struct conf *conf, int fd)
{
    struct kept_files kept = {.is_found = false};

    if (fstat(fd, &kept.status) != 0)
        return true;
    look_at_kept(&kept, conf->path);
    look_at_kept(&kept, conf->key_file);
    for (size_t i = 0; i < OAUTH_N_PROVIDERS; i++)
        look_at_kept(&kept, conf->oauth_providers[i].client_secret_file);
    pg_see_files(conf->conninfo, look_at_kept, &kept);
    pg_see_files(conf->admin_conninfo, look_at_kept, &kept);
    pg_see_files(conf->gateway.conninfo, look_at_kept, &kept);
    pg_see_files(conf->gate.conninfo, look_at_kept, &kept);
    return kept.is_found;
}

/* Returns whether a part of the path is "..". */
static bool leads_up(struct text path)
{
    size_t from = 0;

    for (size_t to = 0; to <= path.len; to++) {
        if (to < path.len && path.s[to] != '/')
            continue;
        if (text_eq(text_part(path, from, to), text_of("..")))
            return true;
        from = to + 1;
    }
    return false;
}

/* Opens a file below the folder, and closes the folder.  The kernel follows links, and refuses
 * those that lead out; links in the folder are what some systems mount secrets with.  Returns a
 * descriptor, or -1 with errno: EXDEV for what leads out. */
static int open_below(int folder_fd, const char *name)
{
    struct open_how how = {/* Without O_NONBLOCK, the open of a FIFO waits for a writer. */
                           .flags = O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK,
                           .resolve = RESOLVE_BENEATH | RESOLVE_NO_MAGICLINKS};
    int fd = (int)syscall(SYS_openat2, folder_fd, name, &how, sizeof how);
    int cause = errno;

    close(folder_fd);
    errno = cause;
    return fd;
}

bool secret_source_file(const struct ctl *ctl, struct text name, struct arena *arena,
                        struct text *secret, char reason[SECRET_REASON_SIZE])
{
    const char *folder = ctl->options.secret_files;
    bool ok = false;
    int fd, folder_fd;

    if (!folder)
        return refuse_source(reason, "needs --secret-files FOLDER: without it, no file is read");
    if (name.s[0] == '/' || leads_up(name))
        return refuse_source(reason, "is not below the FOLDER of --secret-files: expected a path "
                                     "that counts from there, without '..'");
    folder_fd = open(folder, O_PATH | O_DIRECTORY | O_CLOEXEC);
    if (folder_fd < 0)
        return refuse_source(reason, "cannot be opened: the FOLDER of --secret-files: %s",
                             strerror(errno));
    fd = open_below(folder_fd, name.s);
    if (fd < 0 && errno == EXDEV)
        return refuse_source(reason, "leads out of the FOLDER of --secret-files by a link");
    if (fd < 0)
        return refuse_source(reason, "cannot be opened: %s", strerror(errno));
    if (is_kept(&ctl->conf, fd))
        refuse_source(reason,
                      "is refused: the settings or libpq use it, so it is no client secret");
    else
        ok = secret_file_read_open(fd, arena, secret, reason);
    close(fd);
    return ok;
}
