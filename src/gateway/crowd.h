/* SPDX-License-Identifier: MIT */
/* Whether there is room for one session more.
 *
 * Only sessions whose clients have logged in take room.  Anyone can offer a public key, to keep its
 * owner out: so a login is judged when the key is offered, among those that have logged in, and
 * once more when the client has logged in, too.  sshd's MaxStartups bounds the others, and they
 * have bytes and descriptors of their own, which bound them here.
 *
 * Whoever has a key can open many sessions, and sessions take memory.  An owner may have as much of
 * an account's room as the others have left free: one who takes all that there is leaves half to
 * the others, two leave a third, and so on.  The same holds for the accounts and all room, so an
 * account's room is less while others take much, and its owners share what is left.  Room is
 * memory, and descriptors, which the process has a limit of, and what sshd's processes take of the
 * machine ([gateway] sessions). */
#ifndef ADIT_GATEWAY_CROWD_H
#define ADIT_GATEWAY_CROWD_H

#include "gateway/gateway.h"
#include "gateway/grant.h"

/* The most bytes of the sessions of one account, and of all sessions: of their lists, and some for
 * each.  Those whose clients have not logged in yet have bytes of their own.  With what malloc()
 * adds and the sessions' files, which are in memory, too, they take 2.2 times as much at most;
 * MemoryMax= of adit-gateway.service is 3 times as much, and what is remembered of keys. */
#define CROWD_ACCOUNT_BYTES_MAX ((size_t)256 * 1024 * 1024)
#define CROWD_BYTES_MAX ((size_t)640 * 1024 * 1024)
#define CROWD_LOGINS_BYTES_MAX ((size_t)64 * 1024 * 1024)

/* Descriptors of the process that are not of sessions: of the database, 128 clients, files and
 * children.  LimitNOFILE= of adit-gateway.service is so large that memory runs out first. */
#define CROWD_OTHER_DESCRIPTORS 256

/* Some sessions whose clients have logged in, and which do not end yet. */
struct crowd_part {
    size_t n;
    size_t bytes;
};

/* Those that count for an owner. */
struct crowd_owner {
    struct text id;
    struct crowd_part part;
};

/* Those that a session counts among. */
struct crowd {
    struct crowd_part all, of_account, of_key;
    struct crowd_owner *owners; /* of the account, by id, each once */
    size_t n_owners;
    size_t login_bytes; /* of all whose clients have not logged in yet */
};

/* Counts the other sessions than this one that are of its account, for each of these owners, and of
 * its key.  It need not be in the table.  The list of owners is in the arena, their ids are the
 * caller's.  Returns false if memory runs out. */
MUST_CHECK bool crowd_count(const struct ssh_sessions *sessions, const struct ssh_session *session,
                            struct text_list owner_ids, struct arena *arena, struct crowd *crowd);

/* Returns whether a session of the key may keep so many bytes more.  It counts for one of the
 * owners, or among those whose clients have not logged in yet. */
bool crowd_has_bytes(const struct crowd *crowd, const struct ssh_session *session, size_t bytes);

/* Counts bytes that such a session takes more. */
void crowd_grow(struct crowd *crowd, const struct ssh_session *session, size_t bytes);

/* Finds the first of the owners of a key who has room for one session more, with lists of so many
 * bytes, and names it in the session.  The session has its account and its key's fingerprint.
 * Returns NULL, or why there is no room, static.  Works in the arena. */
const char *crowd_admit(const struct conf_gateway *conf, const struct ssh_sessions *sessions,
                        struct ssh_session *session, struct text_list owner_ids, size_t list_bytes,
                        struct arena *arena);

/* Returns a session that has to give way, as those whose clients have not logged in yet take too
 * many bytes or descriptors, or NULL: of bytes the one that takes most, and of such ones the
 * oldest; of descriptors, of which all take as many, the oldest.  Never the one that asks now: else
 * whoever fills this room with smaller or newer ones would keep its owner out. */
struct ssh_session *crowd_surplus(const struct ssh_sessions *sessions,
                                  const struct ssh_session *asking);

#endif
