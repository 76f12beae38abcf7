/* SPDX-License-Identifier: MIT */
/* The audit event: its identifier, and JSON out. */
#ifndef ADIT_MODEL_AUDIT_EVENT_H
#define ADIT_MODEL_AUDIT_EVENT_H

#include <stdint.h>

#include "base/buf.h"
#include "base/must_check.h"
#include "base/text.h"
#include "model/member_names.h"
#include "model/oauth_module.h"

/* "ae_", 19 digits, NUL.  The number has leading zeros, so that identifiers sort by age. */
#define AUDIT_EVENT_ID_SIZE 23
#define AUDIT_EVENT_PREFIX "ae_"

/* The columns that `changed` names otherwise, and those that it leaves out.  audit_event_write()
 * and the SQL of filters are made from these. */
/* clang-format off */
#define AUDIT_EVENT_RENAMED(ROW) MEMBER_RENAMED(ROW)
#define AUDIT_EVENT_LEFT_OUT(ROW) MEMBER_LEFT_OUT(ROW) ROW("digest") ROW("disabled_digest") ROW("name")

/* The columns that answers, rows and filters have as they are: a text, or null. */
#define AUDIT_EVENT_TEXTS(ROW)                                                                     \
    ROW(api_key_id)                                                                                \
    ROW(operation_id)                                                                              \
    ROW(client_address)                                                                            \
    ROW(operator)                                                                                  \
    ROW(database_user)
/* clang-format on */

/* A change, as it was recorded.  Texts may be absent where the comment does not say otherwise. */
struct audit_event {
    int64_t number;
    int64_t at;           /* seconds since 1970 */
    struct text event;    /* "<table>_<verb>"; never absent */
    struct text resource; /* never absent */
    struct text principal_id;
#define TEXT_OF_EVENT(name) struct text name;
    AUDIT_EVENT_TEXTS(TEXT_OF_EVENT)
#undef TEXT_OF_EVENT
    struct text_list changed; /* columns */
    struct text before;       /* the row as JSON, as PostgreSQL writes jsonb */
    struct text after;
};

/* Writes the identifier of an event. */
void audit_event_write_id(char id[AUDIT_EVENT_ID_SIZE], int64_t number);

/* Reads an identifier, whose leading zeros may be missing.  Returns false if it is none. */
MUST_CHECK bool audit_event_read_id(struct text id, int64_t *number);

/* Appends the event as JSON.  before and after have the members that the API shows of the resource,
 * without secrets.  A lack of memory sets out->failed. */
void audit_event_write(struct buf *out, const struct audit_event *event,
                       const struct oauth_names *names, struct text base_url);

#endif
