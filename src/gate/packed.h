/* SPDX-License-Identifier: MIT */
/* Fields packed into bytes.  Each value has one form, and the reader accepts no other. */
#ifndef ADIT_GATE_PACKED_H
#define ADIT_GATE_PACKED_H

#include <stdbool.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/buf.h"
#include "base/must_check.h"
#include "base/text.h"

/* Append a number, a text after its length, a text that may be absent, and a list after its length.
 * A failure sets out->failed. */
void packed_put_number(struct buf *out, uint64_t value);
void packed_put_text(struct buf *out, struct text text);
void packed_put_optional(struct buf *out, struct text text);
void packed_put_list(struct buf *out, const struct text_list *list);

/* Reads packed fields.  It remembers a failure, so the caller checks once, at the end. */
struct packed {
    struct text rest;
    struct arena *arena; /* copies of texts */
    bool malformed;
    bool no_memory;
};

/* Each returns the next field; 0, absent or empty after a failure.  Texts and lists belong to the
 * arena; a NUL follows each text.  A number above most is malformed. */
MUST_CHECK uint64_t packed_take_number(struct packed *packed, uint64_t most);
MUST_CHECK struct text packed_take_text(struct packed *packed);
MUST_CHECK struct text packed_take_optional(struct packed *packed);
MUST_CHECK struct text_list packed_take_list(struct packed *packed);

/* Copies the next len bytes; zeros after a failure. */
void packed_take_bytes(struct packed *packed, void *out, size_t len);

/* Returns whether no read failed and nothing is left over. */
MUST_CHECK bool packed_is_done(const struct packed *packed);

#endif
