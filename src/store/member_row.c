/* SPDX-License-Identifier: MIT */
/* Rows and parameters of members. */
#include "store/member_row.h"

#include "base/time.h"
#include "model/identity_provider.h"

/* Returns the column after it. */
static int read_secret_columns(const struct pg_result *result, int row, int column,
                               struct field_secret *secret)
{
    secret->key_id = pg_text(result, row, column);
    secret->sealed = pg_text(result, row, column + 1);
    return column + 2;
}

static bool read_column(const struct pg_result *result, int row, int column, enum field_kind kind,
                        void *value, struct arena *arena)
{
    switch (kind) {
    case FIELD_TEXT:
        *(struct text *)value = pg_text(result, row, column);
        break;
    case FIELD_TEXTS:
        return pg_texts(result, row, column, arena, value);
    case FIELD_BOOL:
        *(bool *)value = pg_bool(result, row, column);
        break;
    case FIELD_UINT32:
        *(uint32_t *)value = (uint32_t)pg_int(result, row, column);
        break;
    case FIELD_NUMBER:
        *(int64_t *)value = pg_int(result, row, column);
        break;
    case FIELD_TIME:
        *(int64_t *)value = pg_time(result, row, column);
        break;
    case FIELD_TIME_OR_NULL:
        *(int64_t *)value = pg_is_null(result, row, column) ? 0 : pg_time(result, row, column);
        break;
    case FIELD_PROVIDER:
        *(int *)value = identity_provider_stored(pg_int(result, row, column));
        break;
    case FIELD_OBJECT:
    case FIELD_REFUSED:
        break;
    }
    return true;
}

bool member_row_read(const struct member_row *from, const struct field *members, size_t n_members,
                     void *target, struct arena *arena)
{
    int column = from->first;
    bool ok = true;

    for (size_t i = 0; ok && i < n_members; i++) {
        void *value = (char *)target + members[i].offset;

        if (members[i].shown == FIELD_HIDDEN)
            continue;
        if (members[i].is_sealed)
            column = read_secret_columns(from->result, from->row, column, value);
        else
            ok = read_column(from->result, from->row, column++, members[i].kind, value, arena);
    }
    return ok;
}

bool member_row_copy(const struct member_row *from, const struct field *members, size_t n_members,
                     void *target, struct arena *arena)
{
    bool ok = member_row_read(from, members, n_members, target, arena);

    for (size_t i = 0; ok && i < n_members; i++) {
        struct text *text = (struct text *)(void *)((char *)target + members[i].offset);

        if (members[i].kind != FIELD_TEXT || members[i].is_sealed || !text->s)
            continue;
        text->s = arena_copy(arena, text->s, text->len);
        ok = text->s != NULL;
    }
    return ok;
}

static void add_member_param(struct pg_params *params, const struct field *member,
                             const void *value, struct arena *arena)
{
    const struct field_secret *secret = value;

    switch (member->kind) {
    case FIELD_TEXT:
        if (!member->is_sealed) {
            pg_add_text(params, *(const struct text *)value);
            break;
        }
        pg_add_text(params, secret->key_id);
        pg_add_bytes(params, secret->sealed.s, secret->sealed.len);
        break;
    case FIELD_TEXTS:
        pg_add_texts(params, *(const struct text_list *)value, arena);
        break;
    case FIELD_BOOL:
        pg_add_bool(params, *(const bool *)value);
        break;
    case FIELD_UINT32:
        pg_add_int(params, *(const uint32_t *)value);
        break;
    case FIELD_TIME_OR_NULL:
        if (*(const int64_t *)value)
            pg_add_time(params, *(const int64_t *)value * TIME_SECOND_US);
        else
            pg_add_null(params);
        break;
    case FIELD_PROVIDER:
        if (*(const int *)value > 0)
            pg_add_int(params, *(const int *)value);
        else
            pg_add_null(params);
        break;
    case FIELD_NUMBER: /* PostgreSQL makes these */
    case FIELD_TIME:
    case FIELD_OBJECT:
    case FIELD_REFUSED:
        break;
    }
}

void member_params_add(struct pg_params *params, const struct field *members, size_t n_members,
                       const void *target, struct arena *arena)
{
    for (size_t i = 0; i < n_members; i++) {
        if (members[i].use != FIELD_USE_SERVER)
            add_member_param(params, &members[i], (const char *)target + members[i].offset, arena);
    }
}

/* What is not given is NULL.  For a value that may be NULL, another parameter tells. */
static void add_changed_param(struct pg_params *params, const struct field *member,
                              const void *target, struct arena *arena)
{
    const bool *given = (const bool *)target + member->given;
    bool stays = member->given && !*given;

    if (member->kind == FIELD_TIME_OR_NULL)
        pg_add_bool(params, !stays);
    if (stays)
        pg_add_null(params);
    else
        add_member_param(params, member, (const char *)target + member->offset, arena);
}

void member_params_add_changed(struct pg_params *params, const struct field *members,
                               size_t n_members, const void *target, struct arena *arena)
{
    for (size_t i = 0; i < n_members; i++) {
        if (members[i].use == FIELD_USE_CHANGE)
            add_changed_param(params, &members[i], target, arena);
    }
}
