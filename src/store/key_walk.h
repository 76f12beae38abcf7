/* SPDX-License-Identifier: MIT */
/* SQL that reads the credentials of an SSH key up to the limits of model/ssh_decision.h. */
#ifndef ADIT_STORE_KEY_WALK_H
#define ADIT_STORE_KEY_WALK_H

/* clang-format off */

#define KEY_WALK_COLUMNS                                                                           \
    " c.id, c.account_id, c.owner_id, c.revision, c.acl,"

/* Without separators, this is exact. */
#define KEY_WALK_BYTES "octet_length(array_to_string(c.acl, ''))"

/* Whether the credential c counts: one that is paused does not.  Whoever stores a credential with an
 * API key for own credentials alone decides about its rules, and a session that stood on them ends
 * with them.  So such a credential counts until another owner gets the key from somebody who may
 * change everything (supersede() of sql/schema.sql). */
#define KEY_COUNTS "c.enabled AND c.standing <> 'superseded'"

/* The query "turns" of a WITH RECURSIVE: the order in which a key's credentials are read.
 *
 * Owners come in turn: first the oldest credential of each owner, then the second of each, and so
 * on.  So whoever puts somebody else's key into credentials of their own leaves its owner a share.
 * The credentials of the owners in the text[] left_out do not count, and hide none: the others have
 * all the room.
 *
 * of_key is the condition for the key, of_account the one for its account, both on c; most is the
 * most credentials. */
#define KEY_TURNS(of_key, of_account, left_out, most)                                              \
    "turns AS MATERIALIZED ("                                                                      \
        "SELECT array_agg(t.id ORDER BY t.turn, t.id) AS ids"                                      \
        " FROM ("                                                                                  \
            "SELECT f.id, row_number() OVER (PARTITION BY f.owner_id ORDER BY f.id) AS turn"       \
            " FROM ("                                                                              \
                "SELECT c.id, c.owner_id"                                                          \
                " FROM adit.ssh_credential AS c"                                                   \
                " WHERE " of_key " AND " of_account                                                \
                  " AND " KEY_COUNTS                                                                \
                  " AND c.owner_id <> ALL (" left_out " COLLATE \"C\")"                            \
                " ORDER BY c.id"                                                                   \
                " LIMIT " most " + 1"                                                              \
            ") AS f"                                                                               \
        ") AS t"                                                                                   \
    ")"

/* The query "walk" behind "turns": the credentials of turns.ids in that order.  walk.is_beyond is
 * true for the first one that is over a limit, which is the last row: whatever a key has, no rules
 * are read behind that.  most, most_rules and most_bytes are the limits; bytes are those of rules. */
#define KEY_WALK(of_account, most, most_rules, most_bytes)                                         \
    "walk AS ("                                                                                    \
        "SELECT" KEY_WALK_COLUMNS " 1::bigint AS n, s.n_rules, s.n_bytes,"                         \
          " s.n_rules > " most_rules " OR s.n_bytes > " most_bytes " AS is_beyond"                 \
        " FROM adit.ssh_credential AS c"                                                           \
        " CROSS JOIN LATERAL ("                                                                    \
            "SELECT cardinality(c.acl)::bigint AS n_rules,"                                        \
              " " KEY_WALK_BYTES "::bigint AS n_bytes"                                             \
        ") AS s"                                                                                   \
        " WHERE c.id = (SELECT t.ids[1] FROM turns AS t) AND " of_account                          \
        " UNION ALL"                                                                               \
        " SELECT" KEY_WALK_COLUMNS " w.n + 1, s.n_rules, s.n_bytes,"                               \
          " w.n >= " most " OR s.n_rules > " most_rules " OR s.n_bytes > " most_bytes              \
        " FROM walk AS w"                                                                          \
        " CROSS JOIN LATERAL ("                                                                    \
            "SELECT c.id, c.account_id, c.owner_id, c.revision, c.acl"                             \
            " FROM adit.ssh_credential AS c"                                                       \
            " WHERE c.id = ((SELECT t.ids FROM turns AS t))[w.n + 1] AND " of_account              \
            " ORDER BY c.id"                                                                       \
            " LIMIT 1" /* one look at the index */                                                 \
        ") AS c"                                                                                   \
        " CROSS JOIN LATERAL ("                                                                    \
            "SELECT w.n_rules + cardinality(c.acl) AS n_rules,"                                    \
              " w.n_bytes + " KEY_WALK_BYTES " AS n_bytes"                                         \
        ") AS s"                                                                                   \
        " WHERE NOT w.is_beyond"                                                                   \
    ")"

/* clang-format on */

#endif
