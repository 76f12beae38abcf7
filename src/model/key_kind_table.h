/* SPDX-License-Identifier: MIT */
/* The kinds of API key: one row each.  The routes, the SQL conditions, the executor of statements,
 * the options of "aditctl key issue" and the tests take from here what a key may do.
 *
 * KIND(with, symbol, word, scope, reads, writes, asks, letter, member, error, help)
 *
 *     with     what the includer hands over
 *     symbol   the kind is KEY_symbol
 *     word     how people call it: the mode in "key list", and the option of "key issue"
 *     scope    adit.api_key.scope; adit.api_key.read_only is true unless it writes ALL
 *     reads    NOTHING; SHOWN, what answers show to any reader; SECRETS, and client secrets too
 *     writes   ALL; OWN, the SSH credentials of its User or Bot; NONE
 *     asks     ASKS, it may ask for decisions; ASKS_NOT
 *     letter, member, help
 *              of the option, as in ctl/verb_table.h, whose row of "key issue" has the letter too
 *     error    what it gets for anything else
 *
 * tests/guards compares the rows with the CHECKs of adit.api_key in sql/schema.sql.
 */
#ifndef ADIT_MODEL_KEY_KIND_TABLE_H
#define ADIT_MODEL_KEY_KIND_TABLE_H

/* clang-format off */

/* Issued without an option.  It may use every route, so its error is that of a faulty table. */
#define KEY_KIND_UNLIMITED(KIND, with)                                                             \
    KIND(with, READ_WRITE, "read-write", "account", SECRETS, ALL,  ASKS, 0,   none,       ERR_INTERNAL, "")

#define KEY_LIMITED_KINDS(KIND, with)                                                              \
    KIND(with, READ_ONLY,  "read-only",  "account", SHOWN,   NONE, ASKS, 'r', read_only,  ERR_KEY_READ_ONLY, \
         "let the key read but not write")                                                         \
    KIND(with, OWN,        "own",        "own",     SHOWN,   OWN,  ASKS, 'O', is_own,     ERR_KEY_OWN, \
         "let the key write only SSH credentials that its User or Bot owns")                       \
    KIND(with, GATEWAY,    "gateway",    "gateway", NOTHING, NONE, ASKS, 'g', is_gateway, ERR_KEY_GATEWAY, \
         "let the key do nothing but ask for decisions (POST /ssh_decisions)")

/* clang-format on */

#define KEY_KINDS(KIND, with) KEY_KIND_UNLIMITED(KIND, with) KEY_LIMITED_KINDS(KIND, with)

#endif
