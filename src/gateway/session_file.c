/* SPDX-License-Identifier: MIT */
/* Files of lines: a name, a blank and a value; "end" is the last one. */
#include "gateway/session_file.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/clock.h"
#include "base/number.h"
#include "gateway/proc.h"

#define HEAD "adit-session 1"

/* Bytes of the largest file that is read and written: more than 4,096 rules and the 1,000
 * credentials of a key take. */
#define FILE_MAX (4 * 1024 * 1024)

/* Of a larger file, which this version does not write, so much is read: it names the process. */
#define HEAD_MAX 4096

/* ---- reading ---- */

/* What a file says. */
struct record {
    struct text boot_id;
    struct text account_id;
    struct text owner_id; /* absent: not known */
    struct text fingerprint;
    uint64_t started;
    uint64_t since_s;
    uint64_t login_pid; /* 0: the client had logged in, and was judged then */
    uint64_t login_started;
    struct text_list credential_ids;
    struct text_list granted;
    bool has_started;
    bool is_whole; /* all of it is there and makes sense */
};

/* Reads at most `most` bytes into the arena.  Returns false with errno set if a step fails. */
static bool read_into_arena(int fd, size_t most, struct arena *arena, struct text *text)
{
    char *room = arena_alloc(arena, most + 1);
    ssize_t n;

    errno = ENOMEM;
    n = room ? read(fd, room, most) : -1;
    if (n > 0)
        *text = (struct text){.s = room, .len = (size_t)n};
    return n >= 0;
}

/* Sets *text to a file's content in the arena.  It is absent if it cannot be a file of this
 * daemon's user, or there is none.  Returns false with errno set if another try may succeed. */
static bool read_file(int folder, const char *name, struct arena *arena, struct text *text)
{
    int fd = openat(folder, name, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
    struct stat status;
    bool ok;
    int fault;

    *text = (struct text){0};
    if (fd < 0) /* gone, another user's, a link, a socket */
        return errno == ENOENT || errno == EACCES || errno == ELOOP || errno == ENXIO;
    ok = fstat(fd, &status) == 0;
    if (ok && S_ISREG(status.st_mode))
        ok = read_into_arena(fd,
                             status.st_size <= FILE_MAX ? (size_t)status.st_size : (size_t)HEAD_MAX,
                             arena, text);
    fault = errno;
    close(fd);
    errno = fault;
    return ok;
}

static bool take_value(struct text line, const char *name, struct text *value)
{
    size_t len = strlen(name);

    if (!text_begins(line, name) || line.len <= len || line.s[len] != ' ')
        return false;
    *value = text_part(line, len + 1, line.len);
    return true;
}

static void take_record_line(struct record *record, struct text line)
{
    struct text value;

    if (take_value(line, "boot", &value))
        record->boot_id = value;
    else if (take_value(line, "account", &value))
        record->account_id = value;
    else if (take_value(line, "owner", &value))
        record->owner_id = value;
    else if (take_value(line, "fingerprint", &value))
        record->fingerprint = value;
    else if (take_value(line, "started", &value))
        record->has_started = number_read(value, 10, INT64_MAX, &record->started);
    else if (take_value(line, "since", &value))
        (void)!number_read(value, 10, INT64_MAX, &record->since_s);
    else if (take_value(line, "login", &value))
        (void)!number_read(value, 10, INT32_MAX, &record->login_pid);
    else if (take_value(line, "login_started", &value))
        (void)!number_read(value, 10, INT64_MAX, &record->login_started);
    else if (take_value(line, "credential", &value))
        record->credential_ids.items[record->credential_ids.n++] = value;
    else if (take_value(line, "rule", &value))
        record->granted.items[record->granted.n++] = value;
}

static size_t count_lines(struct text text)
{
    size_t n = 0;

    for (size_t i = 0; i < text.len; i++)
        n += text.s[i] == '\n';
    return n;
}

/* Reads as much as there is.  Returns false if memory runs out. */
static bool read_record(struct text text, struct arena *arena, struct record *record)
{
    size_t n = count_lines(text);
    size_t at = 0;
    bool has_end = false;

    *record = (struct record){0};
    record->credential_ids.items = arena_array(arena, n + 1, sizeof(struct text));
    record->granted.items = arena_array(arena, n + 1, sizeof(struct text));
    if (!record->credential_ids.items || !record->granted.items)
        return false;
    for (; text.s && n > 0; n--) {
        const char *end = memchr(text.s + at, '\n', text.len - at);
        struct text line = text_part(text, at, (size_t)(end - text.s));

        at += line.len + 1;
        has_end = text_eq(line, text_of("end"));
        take_record_line(record, line);
    }
    record->is_whole = text.len > 0 && text_begins(text, HEAD "\n") && has_end && at == text.len &&
                       record->has_started && text_present(record->boot_id) &&
                       text_present(record->account_id) && record->account_id.len < IDENT_SIZE &&
                       record->owner_id.len < IDENT_SIZE &&
                       record->fingerprint.len == PUBLIC_KEY_FINGERPRINT_SIZE - 1;
    return true;
}

/* ---- writing ---- */

static void add_list(struct buf *out, const char *name, struct text_list list)
{
    for (size_t i = 0; i < list.n; i++)
        buf_printf(out, "%s %.*s\n", name, (int)list.items[i].len, list.items[i].s);
}

/* Returns whether a file with this text would be read back as the session. */
static bool reads_back(struct text text, const struct ssh_session *session)
{
    struct arena arena = {0};
    struct record record;
    bool ok = text.len <= FILE_MAX && read_record(text, &arena, &record) && record.is_whole &&
              text_eq(record.account_id, text_of(session->account_id)) &&
              text_lists_equal(record.credential_ids, session->credential_ids) &&
              text_lists_equal(record.granted, session->granted);

    arena_free(&arena);
    return ok;
}

bool session_file_write(const struct state *state, const struct ssh_session *session)
{
    struct buf text = {0};
    bool ok;
    int fault;

    buf_printf(&text,
               HEAD "\nboot %s\nstarted %llu\nsince %lld\naccount %s\nowner %s\n"
                    "fingerprint %s\n",
               state->boot_id, (unsigned long long)session->started, (long long)session->since_s,
               session->account_id, session->owner_id, session->fingerprint);
    if (session->login_pid > 0)
        buf_printf(&text, "login %d\nlogin_started %llu\n", (int)session->login_pid,
                   (unsigned long long)session->login_started);
    add_list(&text, "credential", session->credential_ids);
    add_list(&text, "rule", session->granted);
    buf_puts(&text, "end\n");
    errno = text.failed ? ENOMEM : EFBIG;
    ok = !text.failed && reads_back(buf_text(&text), session) &&
         state_put(state, session->pid, &text);
    fault = errno;
    buf_free(&text);
    errno = fault;
    return ok;
}

/* ---- taking up ---- */

static void copy_value(char *out, size_t size, struct text text)
{
    snprintf(out, size, "%.*s", (int)text.len, text.s);
}

/* Returns whether a process that a file without sense names by its id alone may be a monitor that
 * the file was written for.  The daemon of sshd itself, whose parent is none of sshd, never is. */
static bool may_be_monitor(const struct proc *proc)
{
    struct proc parent;

    return ssh_session_is_monitor(proc) && proc_read_stat(proc->parent, &parent) &&
           strcmp(parent.name, "sshd") == 0;
}

/* Opens the process of a record.  Returns its descriptor; -1 if it is none of this daemon's, or
 * with *failed and errno set if descriptors run out. */
static int open_process(pid_t pid, const struct record *record, struct proc *proc, bool *failed)
{
    int fd = -1;

    if (!proc_read(pid, proc)) {
        *failed = errno != ESRCH;
        return -1;
    }
    if ((record->has_started && proc->started != record->started) ||
        !(record->has_started ? ssh_session_is_monitor(proc) : may_be_monitor(proc)))
        return -1;
    fd = proc_open(pid, proc->started);
    *failed = fd < 0 && errno != ESRCH;
    return fd;
}

/* A login may go on, or is to be judged if its process has exited meanwhile.  Of the owners, the
 * one stays for whom the session was to count.  Returns false with errno set if memory or
 * descriptors run out. */
static bool take_up_login(struct ssh_session *session, const struct record *record)
{
    struct text owner_id = text_of(session->owner_id);

    return record->login_pid == 0 ||
           (ssh_session_take_login(session, (pid_t)record->login_pid, record->login_started) &&
            ssh_session_set_owners(session, (struct text_list){&owner_id, 1, true}));
}

/* Adds the session of a record, and ends it if the record is not whole: nobody knows what it stands
 * on.  Returns whether there is such a session.  Sets *failed if memory or descriptors run out. */
static bool take_up(struct ssh_sessions *sessions, pid_t pid, const struct record *record,
                    const struct log *log, bool *failed)
{
    struct ssh_session *session;
    struct proc proc;
    int fd = open_process(pid, record, &proc, failed);

    if (fd < 0)
        return *failed;
    session = ssh_sessions_add(sessions, pid, proc.started, fd);
    if (!session) {
        close(fd);
        *failed = true;
        return true;
    }
    session->since_s = (int64_t)record->since_s;
    if (record->account_id.len < sizeof session->account_id)
        copy_value(session->account_id, sizeof session->account_id, record->account_id);
    if (record->owner_id.len < sizeof session->owner_id)
        copy_value(session->owner_id, sizeof session->owner_id, record->owner_id);
    if (record->fingerprint.len < sizeof session->fingerprint)
        copy_value(session->fingerprint, sizeof session->fingerprint, record->fingerprint);
    if (record->is_whole)
        *failed = !ssh_session_set_lists(session, record->credential_ids, record->granted) ||
                  !take_up_login(session, record);
    else
        ssh_session_end(sessions, session, SSH_SESSION_UNREADABLE, log, clock_steady_ms());
    return true;
}

static void log_broken(const struct log *log, const char *name)
{
    const struct log_pair pairs[] = {{"file", name}, {NULL, NULL}};

    log_event(log, LOG_LEVEL_ERROR,
              "the file of a session cannot be read: if it names a process of sshd, that is ended",
              pairs);
}

/* Returns false with errno set if the session of the file cannot be taken up though it may go on.
 */
static bool read_session(const struct state *state, const char *name, struct ssh_sessions *sessions,
                         const struct log *log)
{
    struct arena arena = {0};
    struct record record = {0};
    struct text text = {0};
    bool goes_on = false;
    bool failed = false;
    uint64_t pid;

    if (!number_read(text_of(name), 10, INT32_MAX, &pid)) {
        unlinkat(state->folder, name, 0);
        return true;
    }
    if (!read_file(state->folder, name, &arena, &text)) {
        arena_free(&arena);
        return false;
    }
    errno = ENOMEM;
    failed = !read_record(text, &arena, &record);
    /* A file of another boot names none of these processes. */
    if (!failed &&
        (!text_present(record.boot_id) || text_eq(record.boot_id, text_of(state->boot_id)))) {
        if (!record.is_whole)
            log_broken(log, name);
        goes_on = take_up(sessions, (pid_t)pid, &record, log, &failed);
    }
    arena_free(&arena);
    if (!goes_on && !failed)
        unlinkat(state->folder, name, 0);
    return !failed;
}

bool session_files_read(const struct state *state, struct ssh_sessions *sessions,
                        const struct log *log)
{
    int fd = openat(state->folder, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR *folder = fd >= 0 ? fdopendir(fd) : NULL;
    struct dirent *entry;
    bool ok = folder != NULL;

    if (!folder && fd >= 0)
        close(fd);
    while (ok && (entry = readdir(folder)) != NULL) {
        if (entry->d_name[0] != '.')
            ok = read_session(state, entry->d_name, sessions, log);
    }
    if (folder)
        closedir(folder);
    return ok;
}
