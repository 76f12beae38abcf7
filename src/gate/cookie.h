/* SPDX-License-Identifier: MIT */
/* Cookies in requests and answers (RFC 6265). */
#ifndef ADIT_GATE_COOKIE_H
#define ADIT_GATE_COOKIE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/buf.h"
#include "base/must_check.h"
#include "base/text.h"

/* The names of the gate's cookies, after the module's prefix.  The first COOKIE_STATE_ID_LEN
 * characters of the state's id follow COOKIE_STATE. */
#define COOKIE_SESSION "session"
#define COOKIE_STATE "state."
#define COOKIE_STATE_ID_LEN 8

/* A cookie of a request: parts of the header, so no NUL follows them. */
struct cookie_read {
    struct text name;
    struct text value;
};

/* The cookies of a request, as the header has them. */
struct cookies {
    struct cookie_read *items;
    size_t n;
};

/* Reads a Cookie header into the arena.  Semicolons separate cookies, also inside quotes, and so
 * does a comma with a blank, with which Apache joins several headers; blanks around names and
 * values do not count, nor does what has no name or no '='.  If memory runs out, the arena knows,
 * and there are none. */
void cookies_read(struct text header, struct arena *arena, struct cookies *cookies);

/* Returns the value of the next cookie of that name, from *place on, which is 0 for the first.
 * Absent: there is no further one. */
MUST_CHECK struct text cookie_next(const struct cookies *cookies, size_t *place, struct text name);

/* The same for cookies whose names end with the suffix. */
MUST_CHECK struct text cookie_next_ending(const struct cookies *cookies, size_t *place,
                                          struct text suffix);

/* The same for the cookies of logins: those whose names are the prefix, COOKIE_STATE and the
 * beginning of an id.  Returns NULL at the end. */
MUST_CHECK const struct cookie_read *cookie_next_state(const struct cookies *cookies, size_t *place,
                                                       struct text prefix);

/* Which cookies are the gate's: those whose names have the prefix, and sessions of other prefixes,
 * for a browser sends those of all routes of a host.  The function tells whether a value is a
 * session; NULL: none of another prefix is. */
struct cookie_own {
    struct text prefix;
    bool (*is_session)(void *context, struct text value);
    void *context;
};

/* Appends the header without the gate's cookies: what the application may see.  All else stays byte
 * for byte, whatever it is, but pieces with CR, LF or NUL.  Behind a comma and before one, a cookie
 * is the gate's only if its value looks sealed.  A failure sets out->failed. */
void cookie_without(struct buf *out, struct text header, const struct cookie_own *own);

struct cookie {
    struct text name;
    struct text value;
    const char *path;
    int64_t max_age_s; /* -1: until the browser ends; 0: it is removed */
    bool is_secure;
};

/* Returns whether browsers take cookies whose names begin so: "__Host-" and "__Secure-", in any
 * case of letters, only work under https (RFC 6265bis, 4.1.3). */
MUST_CHECK bool cookie_prefix_works(struct text prefix, bool is_secure);

/* Appends the value of a Set-Cookie header: HttpOnly, SameSite=Lax, and Secure if is_secure.  A
 * cookie whose name begins with "__Host-" has the path "/", since browsers want that.  Sets
 * out->failed and appends nothing also if RFC 6265 does not allow the name or the value: a module's
 * prefix comes from the database as it is. */
void cookie_write(struct buf *out, const struct cookie *cookie);

#endif
