/* SPDX-License-Identifier: MIT */
/* Asks adit-gateway a question over its socket.
 *
 * A question is lines, of which the first is the verb.  The asker then shuts down its side.  The
 * answer's first line is one word, and the lines after it depend on the verb:
 *
 *     keys, ACCOUNT (or empty), USER, FINGERPRINT, TYPE, KEY
 *                  ok, OPTIONS    the key may log in, with these options of authorized_keys
 *                  none           it may not
 *                  away, WHY      the daemon cannot tell
 *                  misuse, WHY    the question is wrong, or the asker may not ask
 *     list         ok, a line for each session: process id, seconds since 1970, fingerprint,
 *                  account and credentials (with commas between them), with tabs between them
 *     end, PID     ok, or none: there is no such session
 *     status       ok, lines "name value"
 *
 * Only root and the daemon's own user may ask the last three. */
#ifndef ADIT_ASK_ASK_H
#define ADIT_ASK_ASK_H

#include "base/buf.h"
#include "base/must_check.h"

/* The words that begin an answer. */
#define ASK_OK "ok"
#define ASK_NONE "none"
#define ASK_AWAY "away"
#define ASK_MISUSE "misuse"

/* Bytes of the longest question. */
#define ASK_QUESTION_MAX 32768

/* Room for the reason of a failure. */
#define ASK_REASON_SIZE 256

/* How a question ended. */
enum ask_end {
    ASK_ANSWERED,
    ASK_LATE,      /* no answer in time */
    ASK_FORBIDDEN, /* the socket is not for this user */
    ASK_DOWN,      /* nobody listens */
    ASK_FAILED     /* it fails in another way, the answer was cut off, or the question is none */
};

/* Sends a question of lines, up to the first NULL, to the socket at path, and appends the whole
 * answer to *answer, which the caller frees.  Waits at most timeout_ms in all.  Sets the reason
 * unless there is a complete answer; a line that holds a line break is never sent. */
MUST_CHECK enum ask_end ask_gateway(const char *path, const char *const *lines, int timeout_ms,
                                    struct buf *answer, char reason[ASK_REASON_SIZE]);

/* Takes the next line of an answer from *rest, without its line break.  No NUL follows it.  Returns
 * an absent text after the last one. */
struct text ask_next_line(struct text *rest);

#endif
