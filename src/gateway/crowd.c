/* SPDX-License-Identifier: MIT */
/* Counts sessions, and their bytes. */
#include "gateway/crowd.h"

#include <stdio.h>
#include <string.h>
#include <sys/resource.h>

/* For what a session takes beside its lists. */
#define SESSION_BYTES 8192

/* Of the monitor, and of the process below it. */
#define SESSION_DESCRIPTORS 2

static void count_in(struct crowd_part *part, const struct session *session)
{
    part->n++;
    part->bytes += SESSION_BYTES + session->list_bytes;
}

struct crowd crowd_count(const struct sessions *sessions, const struct session *session)
{
    struct crowd crowd = {.all.n = 0};

    for (size_t i = 0; i < sessions->n; i++) {
        const struct session *other = sessions->items[i];

        if (other == session || other->is_ending)
            continue;
        count_in(&crowd.all, other);
        if (strcmp(other->account_id, session->account_id) != 0)
            continue;
        count_in(&crowd.of_account, other);
        if (strcmp(other->owner_id, session->owner_id) == 0)
            count_in(&crowd.of_owner, other);
        if (strcmp(other->fingerprint, session->fingerprint) == 0)
            count_in(&crowd.of_key, other);
    }
    return crowd;
}

/* Returns whether there is room for more of a part's own.  most is for all of which it is a part.
 */
static bool leaves_room(size_t most, size_t all, size_t own, size_t more)
{
    return all + own + more <= most;
}

static bool account_has_bytes(const struct crowd *crowd, size_t bytes)
{
    return leaves_room(CROWD_ACCOUNT_BYTES_MAX, crowd->of_account.bytes, crowd->of_owner.bytes,
                       bytes);
}

static bool all_have_bytes(const struct crowd *crowd, size_t bytes)
{
    return leaves_room(CROWD_BYTES_MAX, crowd->all.bytes, crowd->of_account.bytes, bytes);
}

bool crowd_has_bytes(const struct crowd *crowd, size_t bytes)
{
    return account_has_bytes(crowd, bytes) && all_have_bytes(crowd, bytes);
}

void crowd_grow(struct crowd *crowd, size_t bytes)
{
    crowd->all.bytes += bytes;
    crowd->of_account.bytes += bytes;
    crowd->of_owner.bytes += bytes;
    crowd->of_key.bytes += bytes;
}

/* Returns how many sessions the process has descriptors for. */
static size_t descriptors_max(void)
{
    struct rlimit limit;

    if (getrlimit(RLIMIT_NOFILE, &limit) != 0 || limit.rlim_cur < CROWD_OTHER_DESCRIPTORS)
        return 0;
    return (limit.rlim_cur - CROWD_OTHER_DESCRIPTORS) / SESSION_DESCRIPTORS;
}

/* An account gets half at most, which its owners share. */
static bool has_descriptors(const struct crowd *crowd)
{
    const size_t most = descriptors_max();

    return leaves_room(most, crowd->all.n, crowd->of_account.n, 1) &&
           leaves_room(most / 2, crowd->of_account.n, crowd->of_owner.n, 1);
}

/* Returns why there is no room for one session more of so many bytes, or NULL. */
static const char *why_full(const struct conf_gateway *conf, const struct crowd *crowd,
                            size_t bytes)
{
    if (conf->sessions_of_key > 0 && crowd->of_key.n >= (size_t)conf->sessions_of_key)
        return "the key has as many sessions as the setting sessions_of_key permits";
    if (conf->sessions_of_account > 0 &&
        !leaves_room((size_t)conf->sessions_of_account, crowd->of_account.n, crowd->of_owner.n, 1))
        return "the account, or the key's owner in it, has as many sessions as the setting "
               "sessions_of_account permits";
    if (!account_has_bytes(crowd, bytes))
        return "the sessions of the account, or of the key's owner in it, have too many rules";
    if (!all_have_bytes(crowd, bytes))
        return "the sessions of all accounts, or of this one, have too many rules";
    if (!has_descriptors(crowd))
        return "the sessions of all accounts, of this one, or of the key's owner in it, have too "
               "many descriptors; raise LimitNOFILE= of adit-gateway.service";
    return NULL;
}

const char *crowd_admit(const struct conf_gateway *conf, const struct sessions *sessions,
                        struct session *session, const struct judge_grant *grant)
{
    size_t bytes = SESSION_BYTES + session_list_bytes(grant->credential_ids) +
                   session_list_bytes(grant->granted);
    const char *fault = NULL;

    for (size_t i = 0; i < grant->owner_ids.n && (i == 0 || fault); i++) {
        const struct text *owner_id = &grant->owner_ids.items[i];
        struct crowd crowd;

        snprintf(session->owner_id, sizeof session->owner_id, "%.*s", (int)owner_id->len,
                 owner_id->s);
        crowd = crowd_count(sessions, session);
        fault = why_full(conf, &crowd, bytes);
    }
    return fault;
}
