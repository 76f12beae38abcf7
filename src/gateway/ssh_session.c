/* SPDX-License-Identifier: MIT */
/* The table of sessions. */
#include "gateway/ssh_session.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "gateway/grant.h"
#include "gateway/proc.h"
#include "gateway/state.h"

/* What has not ended after SIGTERM gets SIGKILL, and is tried again. */
#define KILL_AFTER_MS 200
#define KILL_AGAIN_MS 500

bool ssh_session_is_monitor(const struct proc *proc)
{
    return (strcmp(proc->name, "sshd") == 0 || strcmp(proc->name, "sshd-session") == 0) &&
           proc->has_one_uid && (proc->uid == 0 || proc->uid == geteuid()) && !proc->has_exited;
}

struct ssh_session *ssh_sessions_find(const struct ssh_sessions *sessions, pid_t pid)
{
    for (size_t i = 0; i < sessions->n; i++) {
        if (sessions->items[i]->pid == pid)
            return sessions->items[i];
    }
    return NULL;
}

struct ssh_session *ssh_sessions_add(struct ssh_sessions *sessions, pid_t pid, uint64_t started,
                                     int fd)
{
    struct ssh_session *session = calloc(1, sizeof *session);

    if (session && sessions->n == sessions->cap) {
        size_t cap = sessions->cap ? 2 * sessions->cap : 64;
        struct ssh_session **items = realloc(sessions->items, cap * sizeof(struct ssh_session *));

        if (!items) {
            free(session);
            return NULL;
        }
        sessions->items = items;
        sessions->cap = cap;
    }
    if (!session)
        return NULL;
    session->pid = pid;
    session->started = started;
    session->fd = fd;
    session->since_s = clock_wall_ms() / 1000;
    sessions->items[sessions->n++] = session;
    return session;
}

static void forget_children(struct ssh_session *session)
{
    for (size_t i = 0; i < session->n_children; i++)
        close(session->children[i]);
    session->n_children = 0;
}

static void free_session(struct ssh_session *session)
{
    forget_children(session);
    close(session->fd);
    arena_free(&session->arena);
    arena_free(&session->owners_arena);
    free(session);
}

/* The last session takes its place. */
static void remove_at(struct ssh_sessions *sessions, size_t i)
{
    free_session(sessions->items[i]);
    sessions->items[i] = sessions->items[--sessions->n];
}

void ssh_sessions_remove(struct ssh_sessions *sessions, struct ssh_session *session)
{
    for (size_t i = 0; i < sessions->n; i++) {
        if (sessions->items[i] == session) {
            remove_at(sessions, i);
            return;
        }
    }
}

void ssh_sessions_free(struct ssh_sessions *sessions)
{
    for (size_t i = 0; i < sessions->n; i++)
        free_session(sessions->items[i]);
    free(sessions->items);
    *sessions = (struct ssh_sessions){0};
}

size_t ssh_session_list_bytes(struct text_list list)
{
    size_t n = list.n * sizeof *list.items;

    for (size_t i = 0; i < list.n; i++)
        n += list.items[i].len;
    return n;
}

bool ssh_session_copy_list(struct arena *arena, struct text_list list, struct text_list *out)
{
    out->items = arena_array(arena, list.n ? list.n : 1, sizeof *out->items);
    out->n = 0;
    out->given = true;
    if (!out->items)
        return false;
    for (size_t i = 0; i < list.n; i++) {
        struct text *item = &out->items[out->n];

        item->s = arena_copy(arena, list.items[i].s, list.items[i].len);
        item->len = list.items[i].len;
        if (!item->s)
            return false;
        out->n++;
    }
    return true;
}

bool ssh_session_set_lists(struct ssh_session *session, struct text_list credential_ids,
                           struct text_list granted)
{
    struct arena old = session->arena; /* the lists may be in it */
    bool ok;

    session->arena = (struct arena){0};
    ok = ssh_session_copy_list(&session->arena, credential_ids, &session->credential_ids) &&
         ssh_session_copy_list(&session->arena, granted, &session->granted);
    session->list_bytes =
        ssh_session_list_bytes(session->credential_ids) + ssh_session_list_bytes(session->granted);
    if (!ok) {
        session->credential_ids = (struct text_list){0};
        session->granted = (struct text_list){0};
        arena_free(&session->arena);
    }
    arena_free(&old);
    return ok;
}

void ssh_session_forget_owners(struct ssh_session *session)
{
    session->owner_ids = (struct text_list){0};
    arena_free(&session->owners_arena);
}

bool ssh_session_set_owners(struct ssh_session *session, struct text_list owner_ids)
{
    ssh_session_forget_owners(session);
    return ssh_session_copy_list(&session->owners_arena, owner_ids, &session->owner_ids);
}

void ssh_session_mark(struct ssh_session *session, enum ssh_session_mark mark)
{
    if (session->mark == SSH_SESSION_JUDGED)
        session->marked_ms = clock_steady_ms();
    if (session->mark < mark)
        session->mark = mark;
}

/* The identifiers are in order. */
static bool has_credential(struct text_list ids, struct text id)
{
    size_t low = 0, high = ids.n;

    while (low < high) {
        size_t middle = low + (high - low) / 2;
        int order = text_cmp(ids.items[middle], id);

        if (order == 0)
            return true;
        if (order < 0)
            low = middle + 1;
        else
            high = middle;
    }
    return false;
}

static void name_credential(struct ssh_session *session, struct text id)
{
    for (size_t i = 0; i < session->n_named; i++) {
        if (text_eq(text_of(session->named_ids[i]), id))
            return;
    }
    if (session->n_named < SSH_SESSION_NAMED_MAX)
        snprintf(session->named_ids[session->n_named++], IDENT_SIZE, "%.*s", (int)id.len, id.s);
}

void ssh_session_note_judged(struct ssh_session *session)
{
    session->mark = SSH_SESSION_JUDGED;
    session->n_named = 0;
}

void ssh_session_note_gone(struct ssh_session *session, struct text_list kept_ids)
{
    const struct text_list ids = session->credential_ids;
    bool is_first = true;

    for (size_t i = 0; i < ids.n; i++) {
        if (has_credential(kept_ids, ids.items[i]))
            continue;
        if (is_first)
            session->n_named = 0;
        is_first = false;
        name_credential(session, ids.items[i]);
    }
    /* A sweep came before the feed. */
    if (session->n_named == 0) {
        for (size_t i = 0; i < ids.n; i++)
            name_credential(session, ids.items[i]);
    }
}

bool ssh_sessions_mark(struct ssh_sessions *sessions, struct text credential_id)
{
    bool found = false;

    for (size_t i = 0; credential_id.s && i < sessions->n; i++) {
        if (has_credential(sessions->items[i]->credential_ids, credential_id)) {
            ssh_session_mark(sessions->items[i], SSH_SESSION_NAMED);
            name_credential(sessions->items[i], credential_id);
            found = true;
        }
    }
    return found;
}

static bool has_exited(int fd)
{
    struct pollfd exited = {.fd = fd, .events = POLLIN};

    return poll(&exited, 1, 0) > 0;
}

/* ---- logging in ---- */

bool ssh_session_take_login(struct ssh_session *session, pid_t pid, uint64_t started)
{
    int fd = proc_open(pid, started);

    if (fd < 0)
        return errno == ESRCH;
    forget_children(session);
    session->children[session->n_children++] = fd;
    session->login_pid = pid;
    session->login_started = started;
    return true;
}

/* Without the process of a login, anyone who offers a key would take room from its owner. */
static size_t list_children(pid_t pid, pid_t children[SSH_SESSION_N_CHILDREN])
{
    return proc_tells_children() ? proc_children(pid, children, SSH_SESSION_N_CHILDREN)
                                 : proc_search_children(pid, children, SSH_SESSION_N_CHILDREN);
}

bool ssh_session_find_login(struct ssh_session *session, pid_t asker)
{
    pid_t pids[SSH_SESSION_N_CHILDREN];
    size_t n = list_children(session->pid, pids);
    struct proc proc;
    size_t i = 0;

    while (i < n && pids[i] == asker)
        i++;
    if (i == n)
        return n > 0 || errno == ESRCH;
    if (!proc_read_stat(pids[i], &proc))
        return errno == ESRCH;
    return proc.parent != session->pid || ssh_session_take_login(session, proc.pid, proc.started);
}

/* Returns NULL if none waits for this process.  The descriptor of one that has exited may be
 * another one's by now. */
static struct ssh_session *find_login(const struct ssh_sessions *sessions, int fd)
{
    for (size_t i = 0; i < sessions->n; i++) {
        struct ssh_session *session = sessions->items[i];

        if (session->n_children > 0 && session->children[0] == fd)
            return has_exited(fd) ? session : NULL;
    }
    return NULL;
}

struct ssh_session *ssh_sessions_end_login(struct ssh_sessions *sessions, int fd)
{
    struct ssh_session *session = find_login(sessions, fd);

    if (!session)
        return NULL;
    /* The loop would hear of it again and again. */
    close(fd);
    session->children[0] = session->children[--session->n_children];
    session->login_pid = 0;
    return session->is_ending || has_exited(session->fd) ? NULL : session;
}

/* ---- ending ---- */

/* Replaces the known processes by those that are below the monitor now. */
static void find_children(struct ssh_session *session)
{
    pid_t pids[SSH_SESSION_N_CHILDREN];
    size_t n;

    forget_children(session);
    n = proc_children(session->pid, pids, SSH_SESSION_N_CHILDREN);
    for (size_t i = 0; i < n; i++) {
        struct proc proc;
        int fd;

        if (!proc_read_stat(pids[i], &proc) || proc.parent != session->pid)
            continue;
        fd = proc_open(pids[i], proc.started);
        if (fd >= 0)
            session->children[session->n_children++] = fd;
    }
}

/* What is to be said of a session. */
struct session_news {
    bool is_login;
    const char *cause;
    const char *credentials; /* NULL: not said */
};

static void log_session(const struct log *log, enum log_level level, const char *event,
                        const struct ssh_session *session, const struct session_news *news)
{
    const struct log_source source =
        log_source_of(LOG_PARTY_STRANGER, text_of(session->account_id));
    char pid[16];
    const struct log_pair pairs[] = {{"pid", pid},
                                     {"fingerprint", session->fingerprint},
                                     {"account", session->account_id},
                                     {"cause", news->cause},
                                     {"credentials", news->credentials},
                                     {NULL, NULL}};

    snprintf(pid, sizeof pid, "%d", (int)session->pid);
    /* Strangers begin as many logins as they like. */
    if (news->is_login)
        log_often(log, level, event, &source, pairs);
    else
        log_event(log, level, event, pairs);
}

static bool signal_children(const struct ssh_session *session, int signal)
{
    bool ok = true;

    for (size_t i = 0; i < session->n_children; i++)
        ok = (proc_signal(session->children[i], signal) || errno == ESRCH) && ok;
    return ok;
}

/* The label of metrics, and the text for the log. */
static const struct {
    const char *label;
    const char *text;
} causes[SSH_SESSION_N_CAUSES] = {
    [SSH_SESSION_REVOKED] = {"revoked", "no credential has its key any more"},
    [SSH_SESSION_NARROWED] = {"narrowed", "its rules were narrowed"},
    [SSH_SESSION_OVER_LIMIT] = {"over_limit", GRANT_OVER},
    [SSH_SESSION_LATE] = {"late", "its key cannot be judged in time"},
    [SSH_SESSION_CROWD] = {"crowd", "there is no room for it"},
    [SSH_SESSION_STOPPED] = {"stopped", "an administrator ended it"},
    [SSH_SESSION_KILLED] = {"killed", "its process of sshd was killed"},
    [SSH_SESSION_UNREADABLE] = {"unreadable", "its file cannot be read"},
    [SSH_SESSION_NO_MEMORY] = {"no_memory", "out of memory"},
};

const char *ssh_session_cause_label(enum ssh_session_cause cause)
{
    return causes[cause].label;
}

static void log_ended(const struct log *log, const struct ssh_session *session, bool is_login,
                      enum ssh_session_cause cause)
{
    const bool lost_rules = cause == SSH_SESSION_REVOKED || cause == SSH_SESSION_NARROWED;
    char ids[SSH_SESSION_NAMED_MAX * IDENT_SIZE] = "";
    size_t len = 0;

    for (size_t i = 0; i < session->n_named; i++)
        len += (size_t)snprintf(ids + len, sizeof ids - len, "%s%s", i > 0 ? "," : "",
                                session->named_ids[i]);
    log_session(log, LOG_LEVEL_INFO, "session ended", session,
                &(struct session_news){.is_login = is_login,
                                       .cause = causes[cause].text,
                                       .credentials = lost_rules && len > 0 ? ids : NULL});
}

void ssh_session_end(struct ssh_sessions *sessions, struct ssh_session *session,
                     enum ssh_session_cause cause, const struct log *log, int64_t now_ms)
{
    const bool is_login = session->login_pid > 0;
    bool ok;

    if (session->is_ending)
        return;
    session->is_ending = true;
    session->login_pid = 0;
    sessions->n_ended[cause]++;
    session->mark = SSH_SESSION_JUDGED;
    session->kill_at_ms = now_ms + KILL_AFTER_MS;
    if (!has_exited(session->fd))
        find_children(session);
    ok = proc_signal(session->fd, SIGTERM) || errno == ESRCH;
    ok = signal_children(session, SIGTERM) && ok;
    log_ended(log, session, is_login, cause);
    if (!ok)
        log_session(log, LOG_LEVEL_ERROR, "cannot end a session", session,
                    &(struct session_news){.is_login = is_login, .cause = strerror(errno)});
}

bool ssh_session_has_child(const struct ssh_session *session)
{
    for (size_t i = 0; i < session->n_children; i++) {
        if (!has_exited(session->children[i]))
            return true;
    }
    return false;
}

static bool is_gone(const struct ssh_session *session)
{
    return !ssh_session_has_child(session) && has_exited(session->fd);
}

void ssh_sessions_track(struct ssh_sessions *sessions)
{
    for (size_t i = 0; i < sessions->n; i++) {
        struct ssh_session *session = sessions->items[i];

        if (!session->is_ending && session->login_pid == 0 && !ssh_session_has_child(session))
            find_children(session);
    }
}

/* A monitor that is stopped or hangs is tried again, with the processes that are below it then. */
static void kill_rest(struct ssh_session *session, const struct log *log, int64_t now_ms)
{
    bool ok = true;

    if (session->n_kills > 0 && !has_exited(session->fd)) {
        find_children(session);
        ok = proc_signal(session->fd, SIGTERM) && proc_signal(session->fd, SIGCONT);
    }
    ok = signal_children(session, SIGKILL) && ok;
    session->n_kills++;
    session->kill_at_ms = now_ms + KILL_AGAIN_MS;
    if (session->n_kills == 2)
        log_session(
            log, LOG_LEVEL_ERROR, "a session does not end", session,
            &(struct session_news){.cause = ok ? "its process does not exit" : strerror(errno)});
}

int64_t ssh_sessions_go_on(struct ssh_sessions *sessions, const struct state *state,
                           const struct log *log, int64_t now_ms)
{
    int64_t next_ms = INT64_MAX;

    for (size_t i = 0; i < sessions->n;) {
        struct ssh_session *session = sessions->items[i];

        if (session->is_ending && is_gone(session)) {
            /* The loop may not have heard of the exit yet, and now never does. */
            state_remove(state, session->pid);
            remove_at(sessions, i);
            continue;
        }
        if (session->is_ending && session->kill_at_ms <= now_ms)
            kill_rest(session, log, now_ms);
        if (session->is_ending)
            next_ms = clock_earlier(next_ms, session->kill_at_ms);
        i++;
    }
    return next_ms;
}
