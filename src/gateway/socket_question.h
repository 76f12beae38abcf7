/* SPDX-License-Identifier: MIT */
/* Answers the questions that come over the socket (see ask/ask.h). */
#ifndef ADIT_GATEWAY_SOCKET_QUESTION_H
#define ADIT_GATEWAY_SOCKET_QUESTION_H

#include <stdint.h>
#include <sys/types.h>

#include "base/must_check.h"
#include "gateway/gateway.h"

/* Who asks, as the kernel tells (SO_PEERCRED of unix(7)). */
struct asker {
    pid_t pid;
    uid_t uid;
    int64_t asked_us; /* when the question was complete (steady clock) */
};

/* Returns whether a question will look up a key, and which: it holds texts of the question. */
MUST_CHECK bool socket_question_names_key(struct gateway *gateway, const struct asker *asker,
                                          struct text question, struct gateway_key *key);

/* Appends the answer to a question.  A failure is kept in answer->failed. */
void socket_question_answer(struct gateway *gateway, const struct asker *asker,
                            struct text question, struct buf *answer);

#endif
