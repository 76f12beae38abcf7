/* SPDX-License-Identifier: MIT */
/* What an API key may do. */
#include "model/key_kind.h"

#define KEY_KIND_ROW(with, symbol, word_, scope_, reads_, writes_, asks_, letter, member, code,    \
                     help)                                                                         \
    [KEY_##symbol] = {.word = (word_),                                                             \
                      .scope = (scope_),                                                           \
                      .reads = KEY_READS_##reads_,                                                 \
                      .writes = KEY_WRITES_##writes_,                                              \
                      .asks = KEY_##asks_,                                                         \
                      .error = (code)},

static const struct key_kind_row table[KEY_N_KINDS] = {KEY_KINDS(KEY_KIND_ROW, )};

const struct key_kind_row *key_kind_row(enum key_kind kind)
{
    return &table[kind];
}

bool key_kind_is_read_only(enum key_kind kind)
{
    return table[kind].writes != KEY_WRITES_ALL;
}

enum key_kind key_kind_of(struct text scope, bool read_only)
{
    int kind = 0;

    while (kind < KEY_N_KINDS && (key_kind_is_read_only((enum key_kind)kind) != read_only ||
                                  !text_eq(scope, text_of(table[kind].scope))))
        kind++;
    return (enum key_kind)kind;
}

bool key_set_reads_only(unsigned keys)
{
    return (keys & KEYS_WRITE_NOTHING) != 0;
}

enum error_code key_kind_forbids(enum key_kind kind, unsigned keys, bool writes,
                                 enum key_whose whose)
{
    if (kind == KEY_N_KINDS)
        return ERR_KEY_UNKNOWN;
    if (!(keys >> kind & 1))
        return table[kind].error;
    if (!writes || table[kind].writes == KEY_WRITES_ALL)
        return ERR_NONE;
    return table[kind].writes == KEY_WRITES_OWN && whose != KEY_WHOSE_OTHERS ? ERR_NONE
                                                                             : table[kind].error;
}
