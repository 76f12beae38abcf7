/* SPDX-License-Identifier: MIT */
/* The questions: one function for each verb. */
#include "gateway/socket_question.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "ask/ask.h"
#include "base/clock.h"
#include "base/number.h"
#include "crypt/key.h"
#include "gateway/crowd.h"
#include "gateway/judge.h"
#include "gateway/login.h"
#include "gateway/proc.h"
#include "gateway/session_file.h"
#include "gateway/watched.h"

/* The suffix of the types of certificates ([PROTOCOL.certkeys] of OpenSSH). */
#define CERTIFICATE_SUFFIX "-cert-v01@openssh.com"

/* Bytes of the largest key in base64. */
#define KEY_MAX 24576

static void reply(struct buf *answer, const char *word, const char *why)
{
    buf_printf(answer, "%s\n%s%s", word, why ? why : "", why ? "\n" : "");
}

/* ---- keys ---- */

struct login {
    struct text account_id;
    struct text user;
    struct text fingerprint;
    struct text type;
    struct text key;
    struct log_source source; /* of its lines in the log */
};

static void log_login(const struct gateway *gateway, enum log_level level, const char *event,
                      const struct login *login, const char *cause)
{
    char fingerprint[PUBLIC_KEY_FINGERPRINT_SIZE + 16], user[64];
    const struct log_pair pairs[] = {
        {"fingerprint", fingerprint}, {"user", user}, {"cause", cause}, {NULL, NULL}};

    snprintf(fingerprint, sizeof fingerprint, "%.*s", (int)login->fingerprint.len,
             login->fingerprint.s);
    snprintf(user, sizeof user, "%.*s", (int)login->user.len, login->user.s);
    log_often(&gateway->conf.log, level, event, &login->source, pairs);
}

/* Nothing tells who offers a key that means nothing, but which user of which sshd it is for. */
static struct log_source source_of_stranger(const struct login *login)
{
    struct log_source source = log_source_of(LOG_PARTY_STRANGER, login->user);

    log_source_add(&source, login->account_id);
    return source;
}

/* Whose credentials a key has: the line of a key that has some is its account's, or its own if it
 * has too much to tell. */
static struct log_source source_of_login(const struct login *login, enum judge_verdict verdict,
                                         const struct judge_grant *grant)
{
    switch (verdict) {
    case JUDGE_PERMITTED:
        return log_source_of(LOG_PARTY_KNOWN, grant->account_id);
    case JUDGE_OVER:
        return log_source_of(LOG_PARTY_KNOWN, login->fingerprint);
    case JUDGE_NONE:
    case JUDGE_FAULT:
    case JUDGE_AWAY:
        break;
    }
    return source_of_stranger(login);
}

/* Returns whether the fingerprint is that of the key. */
static bool is_fingerprint_of(struct gateway *gateway, const struct login *login)
{
    unsigned char wire[CRYPT_KEY_DECODED_ROOM(KEY_MAX)];
    unsigned char digest[CRYPT_SHA256_LEN];
    char text[CRYPT_KEY_ENCODED_SIZE(CRYPT_SHA256_LEN)];
    const size_t prefix = sizeof PUBLIC_KEY_FINGERPRINT_PREFIX - 1;
    size_t len;

    if (login->key.len > KEY_MAX || !public_key_fingerprint_valid(login->fingerprint) ||
        !crypt_key_base64_decode(login->key.s, login->key.len, wire, &len) ||
        !crypt_hasher_sha256(gateway->hasher, wire, len, digest))
        return false;
    crypt_key_base64_encode(digest, sizeof digest, text);
    /* A fingerprint has no padding. */
    return memcmp(text, login->fingerprint.s + prefix, login->fingerprint.len - prefix) == 0;
}

static bool is_certificate_type(struct text type)
{
    const size_t len = sizeof CERTIFICATE_SUFFIX - 1;

    return type.len >= len && memcmp(type.s + type.len - len, CERTIFICATE_SUFFIX, len) == 0;
}

/* Finds the monitor: the parent of the process that asks.  While the asker is the monitor's child,
 * neither id is used again.  The asker must be the same process at the end as at the beginning. */
static bool find_monitor(const struct asker *asker, struct proc *monitor, int *fd)
{
    struct proc before, after;

    *fd = -1;
    if (!proc_read_stat(asker->pid, &before))
        return false;
    *fd = proc_open_read(before.parent, monitor);
    if (*fd >= 0 && ssh_session_is_monitor(monitor) && monitor->started <= before.started &&
        proc_read_stat(asker->pid, &after) && after.started == before.started &&
        after.parent == monitor->pid && !after.has_exited)
        return true;
    if (*fd >= 0)
        close(*fd);
    return false;
}

static void forget(struct gateway *gateway, struct ssh_session *session)
{
    state_remove(&gateway->state, session->pid);
    ssh_sessions_remove(&gateway->sessions, session);
}

/* Returns the session of a monitor, which may be new, or NULL.  Takes over fd. */
static struct ssh_session *session_of(struct gateway *gateway, const struct asker *asker,
                                      const struct proc *monitor, int fd)
{
    struct ssh_session *session = ssh_sessions_find(&gateway->sessions, monitor->pid);

    if (session && session->started != monitor->started) {
        forget(gateway, session);
        session = NULL;
    }
    if (session) {
        close(fd);
        return session;
    }
    session = ssh_sessions_add(&gateway->sessions, monitor->pid, monitor->started, fd);
    if (!session)
        close(fd);
    else if (!watched_add(gateway->epoll, fd, WATCHED_PROCESS) ||
             !login_begin(gateway, session, asker->pid)) {
        ssh_sessions_remove(&gateway->sessions, session);
        session = NULL;
    }
    return session;
}

static bool is_registered(const struct ssh_session *session, const struct login *login,
                          const struct judge_grant *grant)
{
    return text_eq(text_of(session->account_id), grant->account_id) &&
           text_eq(text_of(session->fingerprint), login->fingerprint) &&
           text_lists_equal(session->credential_ids, grant->credential_ids) &&
           text_lists_equal(session->granted, grant->granted);
}

static void name_session(struct ssh_session *session, const struct login *login,
                         const struct judge_grant *grant)
{
    snprintf(session->account_id, sizeof session->account_id, "%.*s", (int)grant->account_id.len,
             grant->account_id.s);
    snprintf(session->fingerprint, sizeof session->fingerprint, "%.*s", (int)login->fingerprint.len,
             login->fingerprint.s);
    snprintf(session->digest, sizeof session->digest, "%.*s", (int)grant->digest.len,
             grant->digest.s);
    session->n_strikes = 0;
}

/* Registers what the monitor is granted, before it hears of it.  Returns false with the reason. */
static bool register_session(struct gateway *gateway, struct ssh_session *session,
                             const struct judge_grant *grant, const char **why)
{
    *why = "out of memory";
    if (!ssh_session_set_lists(session, grant->credential_ids, grant->granted) ||
        !login_set_owners(session, grant->owner_ids))
        return false;
    login_make_room(gateway, session);
    if (session_file_write(&gateway->state, session))
        return true;
    *why = errno == EFBIG ? "the session's file could not be read back: its key has too much"
                          : "cannot write the session's file";
    return false;
}

static void refuse(struct gateway *gateway, const struct login *login, struct buf *answer,
                   const char *word, const char *why)
{
    log_login(gateway, LOG_LEVEL_ERROR, "a login was refused", login, why);
    reply(answer, word, why);
}

static enum textfile_look_up look_up_of(enum judge_verdict verdict, bool is_granted, bool is_crowd)
{
    if (is_granted)
        return TEXTFILE_GRANTED;
    if (is_crowd)
        return TEXTFILE_CROWD;
    switch (verdict) {
    case JUDGE_NONE:
        return TEXTFILE_UNKNOWN;
    case JUDGE_OVER:
        return TEXTFILE_OVER_LIMIT;
    case JUDGE_AWAY:
        return TEXTFILE_NO_DATABASE;
    case JUDGE_PERMITTED:
    case JUDGE_FAULT:
        break;
    }
    return TEXTFILE_REFUSED;
}

/* The last key that was looked up for a monitor counts: sshd looks a key up once more when it
 * checks the signature. */
static void grant_key(struct gateway *gateway, struct login *login, struct ssh_session *session,
                      int64_t asked_us, struct buf *answer)
{
    struct arena arena = {0};
    struct judge_grant grant;
    const char *why;
    const char *crowd = NULL;
    enum judge_verdict verdict =
        judge_key(gateway, &arena, login->account_id, login->fingerprint, &grant, &why);
    bool is_granted = verdict == JUDGE_PERMITTED;

    login->source = source_of_login(login, verdict, &grant);
    /* sshd's second look-up of a login writes no file: its answer is that of the first. */
    if (is_granted && !is_registered(session, login, &grant)) {
        name_session(session, login, &grant);
        crowd = crowd_admit(&gateway->conf.gateway, &gateway->sessions, session, grant.owner_ids,
                            ssh_session_list_bytes(grant.credential_ids) +
                                ssh_session_list_bytes(grant.granted),
                            &arena);
        is_granted = !crowd && register_session(gateway, session, &grant, &why);
    }
    if (is_granted) {
        log_login(gateway, LOG_LEVEL_DEBUG, "key granted", login, NULL);
        reply(answer, ASK_OK, grant.options.s);
    } else if (verdict == JUDGE_NONE) {
        log_login(gateway, LOG_LEVEL_INFO, "unknown key", login, NULL);
        reply(answer, ASK_NONE, NULL);
    } else {
        refuse(gateway, login, answer, ASK_AWAY, crowd ? crowd : why);
    }
    if (!is_granted)
        forget(gateway, session);
    textfile_count_look_up(&gateway->textfile, look_up_of(verdict, is_granted, crowd != NULL),
                           asked_us);
    arena_free(&arena);
}

static struct login read_login(struct text rest)
{
    struct login login;

    login.account_id = ask_next_line(&rest);
    login.user = ask_next_line(&rest);
    login.fingerprint = ask_next_line(&rest);
    login.type = ask_next_line(&rest);
    login.key = ask_next_line(&rest);
    login.source = source_of_stranger(&login);
    return login;
}

static bool is_account(const struct login *login)
{
    return login->account_id.len == 0 || ident_assigned(login->account_id, IDENT_ACCOUNT);
}

bool socket_question_names_key(struct gateway *gateway, const struct asker *asker,
                               struct text question, struct gateway_key *key)
{
    struct text rest = question;
    const struct text verb = ask_next_line(&rest);
    const struct login login = read_login(rest);
    struct proc monitor;
    int fd;

    if (!text_eq(verb, text_of("keys")) || !login.key.s || is_certificate_type(login.type) ||
        !is_account(&login) || !is_fingerprint_of(gateway, &login) ||
        !find_monitor(asker, &monitor, &fd))
        return false;
    close(fd);
    *key = judge_key_named(gateway, login.account_id, login.fingerprint);
    return true;
}

static void tell_key(struct gateway *gateway, const struct asker *asker, struct text rest,
                     struct buf *answer)
{
    struct login login = read_login(rest);
    struct ssh_session *session;
    struct proc monitor;
    int fd;

    if (login.type.s && is_certificate_type(login.type)) {
        reply(answer, ASK_NONE, NULL);
        return;
    }
    if (!login.key.s)
        reply(answer, ASK_MISUSE, "expected five lines after 'keys'");
    else if (!is_account(&login))
        refuse(gateway, &login, answer, ASK_MISUSE, "--account is not the id of an account");
    else if (!is_fingerprint_of(gateway, &login))
        refuse(gateway, &login, answer, ASK_MISUSE, "FINGERPRINT is not the SHA-256 of KEY");
    else if (!find_monitor(asker, &monitor, &fd))
        refuse(gateway, &login, answer, ASK_MISUSE,
               "only sshd may ask this: the parent of the asker is not sshd, run by root or by "
               "this daemon's user");
    else if ((session = session_of(gateway, asker, &monitor, fd)) == NULL)
        refuse(gateway, &login, answer, ASK_AWAY, "out of memory, or of descriptors");
    else if (session->is_ending)
        reply(answer, ASK_NONE, NULL);
    else
        grant_key(gateway, &login, session, asker->asked_us, answer);
}

/* ---- the questions of an administrator ---- */

static void tell_sessions(const struct gateway *gateway, struct buf *answer)
{
    reply(answer, ASK_OK, NULL);
    for (size_t i = 0; i < gateway->sessions.n; i++) {
        const struct ssh_session *session = gateway->sessions.items[i];

        if (session->is_ending)
            continue;
        buf_printf(answer, "%d\t%lld\t%s\t%s\t", (int)session->pid, (long long)session->since_s,
                   session->fingerprint, session->account_id);
        for (size_t j = 0; j < session->credential_ids.n; j++)
            buf_printf(answer, "%s%s", j > 0 ? "," : "", session->credential_ids.items[j].s);
        buf_puts(answer, "\n");
    }
}

static void end_on_request(struct gateway *gateway, struct text rest, struct buf *answer)
{
    struct ssh_session *session = NULL;
    uint64_t pid;

    if (number_read(ask_next_line(&rest), 10, INT32_MAX, &pid))
        session = ssh_sessions_find(&gateway->sessions, (pid_t)pid);
    if (session && !session->is_ending)
        ssh_session_end(&gateway->sessions, session, SSH_SESSION_STOPPED, &gateway->conf.log,
                        clock_steady_ms());
    reply(answer, session ? ASK_OK : ASK_NONE, NULL);
}

static void tell_status(const struct gateway *gateway, struct buf *answer)
{
    int64_t polled_ms = gateway->polled_ms;

    reply(answer, ASK_OK, NULL);
    buf_printf(answer, "database %s\n", gateway->is_away ? "away" : "up");
    if (polled_ms > 0)
        buf_printf(answer, "last_poll_ms %lld\n", (long long)(clock_steady_ms() - polled_ms));
    if (gateway->follows.n > 0)
        buf_printf(answer, "accounts %zu\naccounts_away %zu\n", gateway->follows.n,
                   follows_count_away(&gateway->follows));
    buf_printf(answer, "sessions %zu\n", gateway->sessions.n);
    buf_printf(answer, "may_signal %s\n", proc_may_signal() ? "yes" : "no");
    buf_printf(answer, "account %s\n", gateway->conf.gateway.account);
    if (gateway->account_fault)
        buf_printf(answer, "account_problem %s\n", gateway->account_fault);
    edges_status(gateway->edges, answer);
}

static bool is_administrator(const struct asker *asker)
{
    return asker->uid == 0 || asker->uid == geteuid();
}

void socket_question_answer(struct gateway *gateway, const struct asker *asker,
                            struct text question, struct buf *answer)
{
    struct text rest = question;
    struct text verb = ask_next_line(&rest);

    if (text_eq(verb, text_of("keys")))
        tell_key(gateway, asker, rest, answer);
    else if (!is_administrator(asker))
        reply(answer, ASK_MISUSE, "only root and the daemon's own user may ask this");
    else if (text_eq(verb, text_of("list")))
        tell_sessions(gateway, answer);
    else if (text_eq(verb, text_of("end")))
        end_on_request(gateway, rest, answer);
    else if (text_eq(verb, text_of("status")))
        tell_status(gateway, answer);
    else
        reply(answer, ASK_MISUSE, "the first line is none of keys, list, end, status");
    buf_puts(answer, ".\n");
}
