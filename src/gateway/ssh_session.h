/* SPDX-License-Identifier: MIT */
/* The SSH sessions that this daemon let in, and how one is ended. */
#ifndef ADIT_GATEWAY_SSH_SESSION_H
#define ADIT_GATEWAY_SSH_SESSION_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/arena.h"
#include "base/ident.h"
#include "base/log.h"
#include "base/must_check.h"
#include "base/text.h"
#include "model/public_key.h"

/* Processes below a session's monitor that are signalled: one, and two while a login goes on. */
#define SSH_SESSION_N_CHILDREN 8

/* Credentials that a line of the log names. */
#define SSH_SESSION_NAMED_MAX 3

struct proc;
struct state;

/* Whether a session is to be judged anew, and why.  The higher the mark, the sooner. */
enum ssh_session_mark {
    SSH_SESSION_JUDGED,
    SSH_SESSION_SWEPT,  /* its turn has come */
    SSH_SESSION_NAMED,  /* the feed names one of its credentials */
    SSH_SESSION_CHANGED /* its key's credentials have changed: their rules are to be read */
};

/* Room for the digest of a glance (store/gateway.h) and its NUL. */
#define SSH_SESSION_DIGEST_SIZE 65

/* Why a session is ended. */
enum ssh_session_cause {
    SSH_SESSION_REVOKED,    /* no credential has its key any more */
    SSH_SESSION_NARROWED,   /* its rules do not cover any more what it was granted */
    SSH_SESSION_OVER_LIMIT, /* its key has more than is read */
    SSH_SESSION_LATE,       /* its key cannot be judged in time */
    SSH_SESSION_CROWD,      /* there is no room for it */
    SSH_SESSION_STOPPED,    /* by an administrator */
    SSH_SESSION_KILLED,     /* its process of sshd was killed */
    SSH_SESSION_UNREADABLE, /* its file cannot be read */
    SSH_SESSION_NO_MEMORY,
    SSH_SESSION_N_CAUSES
};

/* A session is the process of sshd that watches over one connection (its "monitor"), from the first
 * key that it asked about to its exit. */
struct ssh_session {
    pid_t pid;
    uint64_t started; /* see struct proc */
    int fd;           /* of the process */
    int64_t since_s;  /* seconds since 1970 */
    char account_id[IDENT_SIZE];
    char owner_id[IDENT_SIZE]; /* whom it counts for (gateway/crowd.h); "": not known */
    char fingerprint[PUBLIC_KEY_FINGERPRINT_SIZE]; /* of the key that was asked about last */
    struct text_list credential_ids;               /* that the key is known by now, in order */
    struct text_list granted;                      /* the united rules that sshd was given */
    struct arena arena;                            /* holds both lists, */
    size_t list_bytes;                             /* which take so many bytes */
    enum ssh_session_mark mark;
    int64_t marked_ms; /* since when, on the steady clock */
    /* Its credentials that the feed has named since it was judged, or those that are gone: some. */
    char named_ids[SSH_SESSION_NAMED_MAX][IDENT_SIZE];
    size_t n_named;
    char digest[SSH_SESSION_DIGEST_SIZE]; /* what its key had when it was judged; "": unknown */
    size_t n_found;                       /* credentials that its key had at the last glance */
    int n_strikes;                        /* how often its key could not be judged in time */

    /* The process that serves the client until it has logged in, and exits then: children[0]. Until
     * then nobody has proved to own the key, and the session takes room from nobody. */
    pid_t login_pid; /* 0: it has logged in */
    uint64_t login_started;
    struct text_list owner_ids; /* for whom it may count, until it was judged after the login */
    struct arena owners_arena;  /* holds them */

    bool is_ending;
    int n_kills;                          /* how often what is below it was killed */
    int64_t kill_at_ms;                   /* on the steady clock: when what is left is killed */
    int children[SSH_SESSION_N_CHILDREN]; /* descriptors of the processes below it; some may be gone
                                           */
    size_t n_children;
};

/* All sessions.  All zero: none. */
struct ssh_sessions {
    struct ssh_session **items;
    size_t n;
    size_t cap;
    uint64_t n_ended[SSH_SESSION_N_CAUSES]; /* since the start */
};

/* Returns whether a process can be the monitor of a session: it is called as sshd calls its own,
 * and it is root's, or of the daemon's own user, who may signal it anyway. */
bool ssh_session_is_monitor(const struct proc *proc);

/* Returns the session of a process, or NULL. */
struct ssh_session *ssh_sessions_find(const struct ssh_sessions *sessions, pid_t pid);

/* Adds a session without a key, of the process that fd is a descriptor of; the session owns fd.
 * Returns NULL, and leaves fd open, if memory runs out. */
MUST_CHECK struct ssh_session *ssh_sessions_add(struct ssh_sessions *sessions, pid_t pid,
                                                uint64_t started, int fd);

/* Closes the descriptors of a session and frees it. */
void ssh_sessions_remove(struct ssh_sessions *sessions, struct ssh_session *session);

/* Frees all sessions; ends none. */
void ssh_sessions_free(struct ssh_sessions *sessions);

/* Replaces the lists of a session by copies.  The identifiers are in order.  Returns false if
 * memory runs out; the session is then without credentials and rules. */
MUST_CHECK bool ssh_session_set_lists(struct ssh_session *session, struct text_list credential_ids,
                                      struct text_list granted);

/* Sets for whom a session may count once its client has logged in.  Returns false if memory runs
 * out. */
MUST_CHECK bool ssh_session_set_owners(struct ssh_session *session, struct text_list owner_ids);

void ssh_session_forget_owners(struct ssh_session *session);

/* Finds the process of a login that goes on: the oldest one below the monitor that does not ask.  A
 * session without one counts as logged in.  Returns false with errno set if descriptors run out:
 * then nobody knows. */
MUST_CHECK bool ssh_session_find_login(struct ssh_session *session, pid_t asker);

/* The same, if it is known: it is there as long as the process that started then is. */
MUST_CHECK bool ssh_session_take_login(struct ssh_session *session, pid_t pid, uint64_t started);

/* Notes that the process of a login, of which fd is the descriptor, has exited.  Returns the
 * session if it goes on, and NULL if it does not, or fd is of no such process. */
struct ssh_session *ssh_sessions_end_login(struct ssh_sessions *sessions, int fd);

/* Returns how many bytes a list takes. */
size_t ssh_session_list_bytes(struct text_list list);

/* Copies a list and its texts into the arena.  Returns false if memory runs out. */
MUST_CHECK bool ssh_session_copy_list(struct arena *arena, struct text_list list,
                                      struct text_list *out);

/* Raises a session's mark; never lowers it. */
void ssh_session_mark(struct ssh_session *session, enum ssh_session_mark mark);

/* Marks the sessions that stand on a credential, as SSH_SESSION_NAMED.  Returns whether there is
 * one.
 */
bool ssh_sessions_mark(struct ssh_sessions *sessions, struct text credential_id);

/* Notes that a session has been judged, and goes on. */
void ssh_session_note_judged(struct ssh_session *session);

/* Has the log name which credentials of a session are gone; if none is, those that the feed has
 * named; or all, if it has not named any yet.  kept_ids are those that its key has, in order. */
void ssh_session_note_gone(struct ssh_session *session, struct text_list kept_ids);

/* Finds the processes below each monitor whose client has logged in, unless they are known: sshd
 * starts another one then. */
void ssh_sessions_track(struct ssh_sessions *sessions);

/* Returns whether a process below the session's monitor is known to go on. */
bool ssh_session_has_child(const struct ssh_session *session);

/* Returns the cause as a label of metrics; static. */
MUST_CHECK const char *ssh_session_cause_label(enum ssh_session_cause cause);

/* Begins to end a session: SIGTERM to the monitor and the processes below it.  Logs and counts the
 * cause; if it lost rules, the log names credentials. Never SIGKILL for the monitor: the processes
 * below it would go on. */
void ssh_session_end(struct ssh_sessions *sessions, struct ssh_session *session,
                     enum ssh_session_cause cause, const struct log *log, int64_t now_ms);

/* Goes on with the ending ones: kills what is left below their monitors, and removes those that
 * are gone, with their files.  Returns when to call again, on the steady clock; INT64_MAX: none is
 * ending. */
int64_t ssh_sessions_go_on(struct ssh_sessions *sessions, const struct state *state,
                           const struct log *log, int64_t now_ms);

#endif
