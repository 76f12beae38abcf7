/* SPDX-License-Identifier: MIT */
/* Checks that an answer is the right one, or a correct error for lack of memory. */
#ifndef ADIT_TESTS_ALLOC_JUDGE_H
#define ADIT_TESTS_ALLOC_JUDGE_H

#include <stdbool.h>

#include "serve/request.h"

/* A copy of an answer, without the parts that differ from run to run. */
struct answer {
    int status;
    bool omit_body;
    struct buf headers;
    struct buf body;
};

void answer_take(struct answer *answer, const struct response *response);
void answer_free(struct answer *answer);

bool answer_equal(const struct answer *a, const struct answer *b);

/* Returns the number of the error in the body, or 0. */
int answer_number(const struct answer *answer);

/* Returns NULL, or what is wrong with the answer as a 503 in the contract's shape. */
const char *answer_refusal_fault(const struct response *response);

#endif
