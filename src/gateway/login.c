/* SPDX-License-Identifier: MIT */
/* Sessions whose clients log in. */
#include "gateway/login.h"

#include "base/clock.h"
#include "gateway/crowd.h"
#include "gateway/session_file.h"
#include "gateway/watched.h"

bool login_begin(struct gateway *gateway, struct ssh_session *session, pid_t asker)
{
    return ssh_session_find_login(session, asker) && login_watch(gateway, session);
}

bool login_watch(const struct gateway *gateway, const struct ssh_session *session)
{
    return session->login_pid == 0 ||
           watched_add(gateway->epoll, session->children[0], WATCHED_LOGIN);
}

bool login_set_owners(struct ssh_session *session, struct text_list owner_ids)
{
    return session->login_pid == 0 || ssh_session_set_owners(session, owner_ids);
}

static void end_for_room(struct gateway *gateway, struct ssh_session *session)
{
    ssh_session_end(&gateway->sessions, session, SSH_SESSION_CROWD, &gateway->conf.log,
                    clock_steady_ms());
}

static void log_refusal(const struct gateway *gateway, const struct ssh_session *session,
                        const char *cause)
{
    const struct log_source source = log_source_of(LOG_PARTY_KNOWN, text_of(session->account_id));
    const struct log_pair pairs[] = {{"fingerprint", session->fingerprint},
                                     {"account", session->account_id},
                                     {"cause", cause},
                                     {NULL, NULL}};

    log_often(&gateway->conf.log, LOG_LEVEL_ERROR, "a login was refused", &source, pairs);
}

static void admit(struct gateway *gateway, struct ssh_session *session)
{
    struct arena arena = {0};
    const char *fault = crowd_admit(&gateway->conf.gateway, &gateway->sessions, session,
                                    session->owner_ids, session->list_bytes, &arena);

    if (fault) {
        log_refusal(gateway, session, fault);
        end_for_room(gateway, session);
    } else {
        /* Or the next run would judge it again.  If that fails, it does. */
        (void)!session_file_write(&gateway->state, session);
    }
    ssh_session_forget_owners(session);
    arena_free(&arena);
}

void login_end(struct gateway *gateway, int fd)
{
    struct ssh_session *session = ssh_sessions_end_login(&gateway->sessions, fd);

    if (session)
        admit(gateway, session);
}

/* Its client may have logged in, which the loop has yet to hear of: then it is no login any more,
 * and ends only if it has no room of its owner's. */
static void give_way(struct gateway *gateway, struct ssh_session *session)
{
    if (ssh_session_has_child(session))
        end_for_room(gateway, session);
    else
        login_end(gateway, session->children[0]);
}

void login_make_room(struct gateway *gateway, const struct ssh_session *session)
{
    struct ssh_session *surplus;

    while ((surplus = crowd_surplus(&gateway->sessions, session)) != NULL)
        give_way(gateway, surplus);
}

/* All of them count while one is judged: nobody knows who came first. */
void login_judge_former(struct gateway *gateway)
{
    for (size_t i = 0; i < gateway->sessions.n; i++) {
        struct ssh_session *session = gateway->sessions.items[i];

        if (session->login_pid == 0 && session->owner_ids.given && !session->is_ending)
            admit(gateway, session);
    }
}
