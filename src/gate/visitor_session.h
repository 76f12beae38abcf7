/* SPDX-License-Identifier: MIT */
/* A visitor's session, in a sealed cookie of the gate. */
#ifndef ADIT_GATE_VISITOR_SESSION_H
#define ADIT_GATE_VISITOR_SESSION_H

#include <stdint.h>

#include "gate/identity.h"
#include "gate/sealed.h"

#define VISITOR_SESSION_ID_LEN 16

/* Room for an id as base64url, with a NUL. */
#define VISITOR_SESSION_ID_SIZE 23

/* A signed-in visitor.  Times are seconds since 1970. */
struct visitor_session {
    unsigned char id[VISITOR_SESSION_ID_LEN]; /* random */
    int64_t issued;
    int64_t seen;          /* the last request */
    int64_t checked;       /* when the provider was last asked */
    struct text client_id; /* of the OAuth application that signed the visitor in */
    int64_t incarnation;   /* of the module; see struct gate_answer */
    struct text prefix;    /* of the cookie */
    bool is_stranger;      /* no list let the visitor in at the sign-in; one that does now, does so
                            * after another sign-in only */
    bool is_in_row;        /* what follows is in the database, under the id */
    struct identity identity;
    struct text_list asked; /* provider_scopes() at the sign-in */
    struct text token;      /* absent: not kept */
    struct text refresh;    /* gets another token; absent: there is none */
    uint32_t n_renewed;     /* how often it has got other tokens */

    bool is_unconfirmed; /* its row holds an answer that may not be the last one */

    /* What its row holds, and its bytes there, in no cookie.  NULL: it has none, as far as this
     * call knows. */
    const struct visitor_session *row;
    struct text row_sealed;
};

/* Tells the rows of a session that were written one after the other from each other, whatever they
 * hold.  0: it has none, as far as this call knows. */
uint64_t visitor_session_row(const struct visitor_session *session);

/* Takes over the tokens of the same session, elsewhere, if they are newer. */
void visitor_session_take_tokens(struct visitor_session *session,
                                 const struct visitor_session *elsewhere);

/* The same, and what the provider has said there. */
void visitor_session_take_over(struct visitor_session *session,
                               const struct visitor_session *elsewhere);

/* Returns whether two rows would differ, but for when the provider was asked.  Without memory, they
 * do. */
MUST_CHECK bool visitor_session_differs(const struct visitor_session *session,
                                        const struct visitor_session *other);

/* Makes a random id.  Returns false if there are no random numbers. */
MUST_CHECK bool visitor_session_new_id(unsigned char id[VISITOR_SESSION_ID_LEN]);

/* Writes the session's id as text.  Returns the text, which is the caller's. */
struct text visitor_session_id_text(const struct visitor_session *session,
                                    char id[VISITOR_SESSION_ID_SIZE]);

/* Appends a cookie's value: the session's id, and the session sealed with the keyring's first key,
 * as base64url (RFC 4648, 5).  With is_in_row it leaves identity and token out.  Returns false with
 * *err as keyring_seal(). */
MUST_CHECK bool visitor_session_seal(struct keyring *keyring, const struct sealed_place *place,
                                     const struct visitor_session *session, struct arena *arena,
                                     struct buf *out, struct error *err);

/* Opens a cookie's value.  Returns true with *session, in the arena; false with *err: ERR_NONE: the
 * value is not a session of that place, or its key was removed; else ERR_SECRET_UNREADABLE (the key
 * file cannot be read) or ERR_OUT_OF_MEMORY: nobody knows. */
MUST_CHECK bool visitor_session_open(struct keyring *keyring, const struct sealed_place *place,
                                     struct text value, struct arena *arena,
                                     struct visitor_session *session, struct error *err);

/* Reads the id that a cookie's value names in the clear, as base64url: nothing proves it before
 * visitor_session_open().  Returns false if the value has not the form and the length of a session.
 */
MUST_CHECK bool visitor_session_peek(struct text value, char id[VISITOR_SESSION_ID_SIZE]);

/* Returns whether a value has the form of a session of whatever place, as sealed_may_have_key(). */
MUST_CHECK bool visitor_session_looks_sealed(struct keyring *keyring, struct text value);

/* Bytes of the largest row, before sealing: a token has up to 16 KiB.  No larger one is written or
 * read. */
#define VISITOR_SESSION_ROW_MAX 24576

/* Appends the bytes of identity, token and when the provider was asked, or that its answer is not
 * confirmed, for a row of the database, before sealing.  A failure sets out->failed. */
void visitor_session_write_identity(struct buf *out, const struct visitor_session *session);

/* Reads them back into the session whose id they belong to.  Returns false if they are malformed or
 * belong to another session, or if memory runs out; the session is unchanged then. */
MUST_CHECK bool visitor_session_read_identity(struct text bytes, struct arena *arena,
                                              struct visitor_session *session);

/* The durations of a module, in seconds; 0: unset. */
struct visitor_session_limits {
    uint32_t inactivity_timeout;
    uint32_t maximum_duration;
    uint32_t auth_check_interval;
};

/* No session lasts longer than this, in seconds: 30 days. */
#define VISITOR_SESSION_LASTS_MAX 2592000

/* Returns whether the session still lasts at a time.  A duration of N seconds has ended N seconds
 * after it began.  A session whose times are more than SEALED_CLOCK_S ahead does not last. */
MUST_CHECK bool visitor_session_lasts(const struct visitor_session *session,
                                      const struct visitor_session_limits *limits, int64_t now);

/* Returns whether the provider is to be asked again.  The session may lack a token, if the interval
 * was set after it was sealed. */
MUST_CHECK bool visitor_session_needs_check(const struct visitor_session *session,
                                            const struct visitor_session_limits *limits,
                                            int64_t now);

#endif
