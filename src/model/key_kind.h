/* SPDX-License-Identifier: MIT */
/* What an API key may do.  Only this says it; the conditions in SQL (store/executor.h) come from
 * the same table, key_kind_table.h. */
#ifndef ADIT_MODEL_KEY_KIND_H
#define ADIT_MODEL_KEY_KIND_H

#include <stdbool.h>

#include "base/error.h"
#include "base/must_check.h"
#include "base/text.h"
#include "model/key_kind_table.h"

/* clang-format off */
enum key_kind {
#define KEY_KIND_SYMBOL(with, symbol, ...) KEY_##symbol,
    KEY_KINDS(KEY_KIND_SYMBOL, )
#undef KEY_KIND_SYMBOL
    KEY_N_KINDS /* also a kind that this program does not know */
};

enum key_reads { KEY_READS_NOTHING, KEY_READS_SHOWN, KEY_READS_SECRETS };
enum key_writes { KEY_WRITES_NONE, KEY_WRITES_OWN, KEY_WRITES_ALL };
enum key_asks { KEY_ASKS_NOT, KEY_ASKS };

/* A row of the table. */
struct key_kind_row {
    const char *word;
    const char *scope;
    enum key_reads reads;
    enum key_writes writes;
    enum key_asks asks;
    enum error_code error;
};

#define KEY_READING(with, symbol, word, scope, reads, ...)                                         \
    | (KEY_READS_##reads != KEY_READS_NOTHING) << KEY_##symbol
#define KEY_WRITING(with, symbol, word, scope, reads, writes, ...)                                 \
    | (KEY_WRITES_##writes with) << KEY_##symbol
#define KEY_ASKING(with, symbol, word, scope, reads, writes, asks, ...)                            \
    | (KEY_##asks == KEY_ASKS) << KEY_##symbol

/* Sets of kinds, with one bit each: those that may use a route. */
enum key_set {
    KEYS_NONE = 0,
    KEYS_READ = 0 KEY_KINDS(KEY_READING, ),
    KEYS_ASK = 0 KEY_KINDS(KEY_ASKING, ),
    KEYS_WRITE = 0 KEY_KINDS(KEY_WRITING, == KEY_WRITES_ALL),
    KEYS_WRITE_OWN = 0 KEY_KINDS(KEY_WRITING, != KEY_WRITES_NONE), /* if the row is their own */
    KEYS_WRITE_NOTHING = 0 KEY_KINDS(KEY_WRITING, == KEY_WRITES_NONE),
};
/* clang-format on */

/* Whose row an operation changes, as far as that is known. */
enum key_whose { KEY_WHOSE_UNKNOWN, KEY_WHOSE_OWN, KEY_WHOSE_OTHERS };

/* Returns the row of a kind other than KEY_N_KINDS, static. */
const struct key_kind_row *key_kind_row(enum key_kind kind);

/* Returns the kind that these two columns of adit.api_key say. */
enum key_kind key_kind_of(struct text scope, bool read_only);

/* Returns adit.api_key.read_only for keys of the kind: whether there is something that it may not
 * write. */
MUST_CHECK bool key_kind_is_read_only(enum key_kind kind);

/* Returns whether a kind that writes nothing is among these, so that a route of theirs only reads.
 */
MUST_CHECK bool key_set_reads_only(unsigned keys);

/* Returns the error of a key that may not do what it asks, or ERR_NONE.
 *     keys    the kinds that may use the route, an enum key_set
 *     writes  whether the operation writes
 *     whose   if it does, whose row
 * A kind that this program does not know may do nothing. */
enum error_code key_kind_forbids(enum key_kind kind, unsigned keys, bool writes,
                                 enum key_whose whose);

#endif
