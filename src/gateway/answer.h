/* SPDX-License-Identifier: MIT */
/* Answers the questions that come over the socket (see ask/ask.h). */
#ifndef ADIT_GATEWAY_ANSWER_H
#define ADIT_GATEWAY_ANSWER_H

#include <sys/types.h>

#include "gateway/gateway.h"

/* Who asks, as the kernel tells (SO_PEERCRED of unix(7)). */
struct asker {
    pid_t pid;
    uid_t uid;
};

/* Appends the answer to a question.  A failure is kept in answer->failed. */
void answer_question(struct gateway *gateway, const struct asker *asker, struct text question,
                     struct buf *answer);

#endif
