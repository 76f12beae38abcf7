/* SPDX-License-Identifier: MIT */
/* Counts sessions, and their bytes. */
#include "gateway/crowd.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

/* For what a session takes beside its lists. */
#define SESSION_BYTES 8192

/* Of the monitor, and of the process below it. */
#define SESSION_DESCRIPTORS 2

/* Of so many sessions that there are descriptors for, one may be a login that goes on. */
#define SESSIONS_PER_LOGIN 4

static void count_in(struct crowd_part *part, const struct ssh_session *session)
{
    part->n++;
    part->bytes += SESSION_BYTES + session->list_bytes;
}

static size_t login_bytes(const struct ssh_session *session)
{
    return SESSION_BYTES + session->list_bytes + ssh_session_list_bytes(session->owner_ids);
}

/* ---- owners ---- */

static int compare_owners(const void *a, const void *b)
{
    return text_cmp(((const struct crowd_owner *)a)->id, ((const struct crowd_owner *)b)->id);
}

/* Returns NULL if it is none of them. */
static struct crowd_owner *find_owner(const struct crowd *crowd, struct text id)
{
    const struct crowd_owner owner = {.id = id};

    return bsearch(&owner, crowd->owners, crowd->n_owners, sizeof owner, compare_owners);
}

/* A key can have 1000 owners, so they are found by order. */
static bool sort_owners(struct text_list ids, struct arena *arena, struct crowd *crowd)
{
    struct crowd_owner *owners = arena_array(arena, ids.n, sizeof *owners);
    size_t n = 0;

    if (!owners)
        return false;
    for (size_t i = 0; i < ids.n; i++)
        owners[i].id = ids.items[i];
    qsort(owners, ids.n, sizeof *owners, compare_owners);
    for (size_t i = 0; i < ids.n; i++) {
        if (n == 0 || !text_eq(owners[n - 1].id, owners[i].id))
            owners[n++] = owners[i];
    }
    crowd->owners = owners;
    crowd->n_owners = n;
    return true;
}

/* ---- counting ---- */

static void count_other(struct crowd *crowd, const struct ssh_session *session,
                        const struct ssh_session *other)
{
    struct crowd_owner *owner;

    count_in(&crowd->all, other);
    if (strcmp(other->account_id, session->account_id) != 0)
        return;
    count_in(&crowd->of_account, other);
    owner = find_owner(crowd, text_of(other->owner_id));
    if (owner)
        count_in(&owner->part, other);
    if (strcmp(other->fingerprint, session->fingerprint) == 0)
        count_in(&crowd->of_key, other);
}

bool crowd_count(const struct ssh_sessions *sessions, const struct ssh_session *session,
                 struct text_list owner_ids, struct arena *arena, struct crowd *crowd)
{
    *crowd = (struct crowd){.n_owners = 0};
    if (!sort_owners(owner_ids, arena, crowd))
        return false;
    for (size_t i = 0; i < sessions->n; i++) {
        const struct ssh_session *other = sessions->items[i];

        if (other->login_pid > 0)
            crowd->login_bytes += login_bytes(other);
        else if (other != session && !other->is_ending)
            count_other(crowd, session, other);
    }
    return true;
}

/* ---- room ---- */

/* How much there is, of bytes or of sessions. */
struct crowd_amounts {
    size_t all, of_account, own;
};

/* Returns whether there is room for more of an owner's, if there may be so much of all accounts and
 * so much of one.  The account may have half of what the other accounts leave, and the owner half
 * of what the account's other owners leave of that, however little it is.  Both halves are rounded
 * up: half of the only session is one session. */
static bool leaves_room(size_t most, size_t most_of_account, const struct crowd_amounts *amounts,
                        size_t more)
{
    const size_t others = amounts->all - amounts->of_account;
    const size_t unused = others < most ? most - others : 0;
    const size_t left = unused / 2 + unused % 2;

    return amounts->of_account + amounts->own + more <=
           (left < most_of_account ? left : most_of_account);
}

static bool has_bytes(const struct crowd *crowd, const struct crowd_owner *owner, size_t bytes)
{
    const struct crowd_amounts amounts = {crowd->all.bytes, crowd->of_account.bytes,
                                          owner->part.bytes};

    return leaves_room(CROWD_BYTES_MAX, CROWD_ACCOUNT_BYTES_MAX, &amounts, bytes);
}

/* Returns whether there is room for one session more. */
static bool has_place(size_t most, size_t most_of_account, const struct crowd *crowd,
                      const struct crowd_owner *owner)
{
    const struct crowd_amounts amounts = {crowd->all.n, crowd->of_account.n, owner->part.n};

    return leaves_room(most, most_of_account, &amounts, 1);
}

bool crowd_has_bytes(const struct crowd *crowd, const struct ssh_session *session, size_t bytes)
{
    if (session->login_pid > 0)
        return crowd->login_bytes + bytes <= CROWD_LOGINS_BYTES_MAX;
    return has_bytes(crowd, find_owner(crowd, text_of(session->owner_id)), bytes);
}

void crowd_grow(struct crowd *crowd, const struct ssh_session *session, size_t bytes)
{
    if (session->login_pid > 0) {
        crowd->login_bytes += bytes;
        return;
    }
    crowd->all.bytes += bytes;
    crowd->of_account.bytes += bytes;
    crowd->of_key.bytes += bytes;
    find_owner(crowd, text_of(session->owner_id))->part.bytes += bytes;
}

/* Returns how many sessions the process has descriptors for, logins that go on among them. */
static size_t descriptors_max(void)
{
    struct rlimit limit;

    if (getrlimit(RLIMIT_NOFILE, &limit) != 0 || limit.rlim_cur < CROWD_OTHER_DESCRIPTORS)
        return 0;
    return (limit.rlim_cur - CROWD_OTHER_DESCRIPTORS) / SESSION_DESCRIPTORS;
}

/* Anyone can begin a login: so many leave the other descriptors to the sessions. */
static size_t logins_max(void)
{
    return descriptors_max() / SESSIONS_PER_LOGIN;
}

/* Returns why there is no room for one session more of so many bytes, or NULL. */
static const char *why_full(const struct conf_gateway *conf, const struct crowd *crowd,
                            const struct crowd_owner *owner, size_t bytes)
{
    if (conf->sessions_of_key > 0 && crowd->of_key.n >= (size_t)conf->sessions_of_key)
        return "the key has as many sessions as the setting sessions_of_key permits";
    if (conf->sessions_of_account > 0 &&
        !has_place(SIZE_MAX, (size_t)conf->sessions_of_account, crowd, owner))
        return "the account, or the key's owner in it, has as many sessions as the setting "
               "sessions_of_account permits";
    if (conf->sessions > 0 && !has_place((size_t)conf->sessions, SIZE_MAX, crowd, owner))
        return "there are as many sessions of all accounts, of this one, or of the key's owner in "
               "it as the setting sessions permits";
    if (!has_bytes(crowd, owner, bytes))
        return "the sessions of all accounts, of this one, or of the key's owner in it, have too "
               "many rules";
    if (!has_place(descriptors_max() - logins_max(), SIZE_MAX, crowd, owner))
        return "the sessions of all accounts, of this one, or of the key's owner in it, have too "
               "many descriptors; raise LimitNOFILE= of adit-gateway.service";
    return NULL;
}

const char *crowd_admit(const struct conf_gateway *conf, const struct ssh_sessions *sessions,
                        struct ssh_session *session, struct text_list owner_ids, size_t list_bytes,
                        struct arena *arena)
{
    const char *fault = NULL;
    struct crowd crowd;

    if (!crowd_count(sessions, session, owner_ids, arena, &crowd))
        return "out of memory";
    for (size_t i = 0; i < owner_ids.n && (i == 0 || fault); i++) {
        const struct text id = owner_ids.items[i];

        snprintf(session->owner_id, sizeof session->owner_id, "%.*s", (int)id.len, id.s);
        fault = why_full(conf, &crowd, find_owner(&crowd, id), SESSION_BYTES + list_bytes);
    }
    return fault;
}

/* ---- logins ---- */

static bool is_older(const struct ssh_session *session, const struct ssh_session *other)
{
    return session->started < other->started;
}

static bool takes_more(const struct ssh_session *session, const struct ssh_session *other)
{
    size_t bytes = login_bytes(session), other_bytes = login_bytes(other);

    return bytes > other_bytes || (bytes == other_bytes && is_older(session, other));
}

struct ssh_session *crowd_surplus(const struct ssh_sessions *sessions,
                                  const struct ssh_session *asking)
{
    struct ssh_session *largest = NULL, *oldest = NULL;
    size_t n = 0, bytes = 0;

    for (size_t i = 0; i < sessions->n; i++) {
        struct ssh_session *session = sessions->items[i];

        if (session->login_pid == 0)
            continue;
        n++;
        bytes += login_bytes(session);
        if (session == asking)
            continue;
        if (!largest || takes_more(session, largest))
            largest = session;
        if (!oldest || is_older(session, oldest))
            oldest = session;
    }
    if (bytes > CROWD_LOGINS_BYTES_MAX)
        return largest;
    return n > logins_max() ? oldest : NULL;
}
