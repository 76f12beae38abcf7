/* SPDX-License-Identifier: MIT */
/* Parameters on their way to PostgreSQL, and values on their way back. */
#include <libpq-fe.h>
#include <stdio.h>
#include <string.h>

#include "base/buf.h"
#include "pg/pg.h"

/* struct pg_result is libpq's result under a name of this folder's. */
static const PGresult *rows_of(const struct pg_result *result)
{
    return (const PGresult *)(const void *)result;
}

static void add_param(struct pg_params *params, const char *value, size_t len, int format)
{
    if (params->n == PG_MAX_PARAMS) {
        params->failed = true;
        return;
    }
    params->values[params->n] = value;
    params->lengths[params->n] = (int)len;
    params->formats[params->n] = format;
    params->n++;
}

/* Text is sent in binary form: it needs no NUL after it, and a NUL in it does not cut it. */
void pg_add_text(struct pg_params *params, struct text value)
{
    add_param(params, value.s, value.len, 1);
}

void pg_add_bytes(struct pg_params *params, const void *bytes, size_t len)
{
    add_param(params, bytes, len, 1);
}

void pg_add_bool(struct pg_params *params, bool value)
{
    add_param(params, value ? "t" : "f", 1, 0);
}

void pg_add_int(struct pg_params *params, int64_t value)
{
    char *digits;

    if (params->n == PG_MAX_PARAMS) {
        params->failed = true;
        return;
    }
    digits = params->digits[params->n];
    snprintf(digits, sizeof params->digits[0], "%lld", (long long)value);
    add_param(params, digits, strlen(digits), 0);
}

void pg_add_null(struct pg_params *params)
{
    add_param(params, NULL, 0, 0);
}

/* Writes an array's text form.  Every element is quoted, so only '"' and '\' need escaping. */
static size_t write_array(char *out, struct text_list list)
{
    char *at = out;

    *at++ = '{';
    for (size_t i = 0; i < list.n; i++) {
        if (i > 0)
            *at++ = ',';
        *at++ = '"';
        for (size_t j = 0; j < list.items[i].len; j++) {
            char c = list.items[i].s[j];

            if (c == '"' || c == '\\')
                *at++ = '\\';
            *at++ = c;
        }
        *at++ = '"';
    }
    *at++ = '}';
    *at = '\0';
    return (size_t)(at - out);
}

void pg_add_texts(struct pg_params *params, struct text_list list, struct arena *arena)
{
    size_t room = 3;
    char *array;

    if (!list.given) {
        pg_add_null(params);
        return;
    }
    for (size_t i = 0; i < list.n; i++)
        room += list.items[i].len * 2 + 3;
    array = arena_alloc(arena, room);
    if (!array) {
        params->failed = true;
        return;
    }
    add_param(params, array, write_array(array, list), 0);
}

void pg_add_ints(struct pg_params *params, const int64_t *numbers, size_t n, bool given,
                 struct arena *arena)
{
    const size_t digits = 21;
    size_t room = n * digits + 3;
    char *array = given ? arena_alloc(arena, room) : NULL;
    size_t len = 0;

    if (!given) {
        pg_add_null(params);
        return;
    }
    if (!array) {
        params->failed = true;
        return;
    }
    array[len++] = '{';
    for (size_t i = 0; i < n; i++)
        len += (size_t)snprintf(array + len, room - len, "%s%lld", i > 0 ? "," : "",
                                (long long)numbers[i]);
    array[len++] = '}';
    add_param(params, array, len, 0);
}

void pg_result_free(struct pg_result *result)
{
    PQclear((PGresult *)(void *)result);
}

int pg_rows(const struct pg_result *result)
{
    return PQntuples(rows_of(result));
}

bool pg_is_null(const struct pg_result *result, int row, int column)
{
    return PQgetisnull(rows_of(result), row, column);
}

const unsigned char *pg_bytes(const struct pg_result *result, int row, int column, size_t *len)
{
    *len = (size_t)PQgetlength(rows_of(result), row, column);
    if (pg_is_null(result, row, column))
        return NULL;
    return (const unsigned char *)PQgetvalue(rows_of(result), row, column);
}

struct text pg_text(const struct pg_result *result, int row, int column)
{
    struct text value;

    value.s = (const char *)pg_bytes(result, row, column, &value.len);
    return value;
}

/* Binary numbers are big-endian; their type makes them 2, 4 or 8 bytes long. */
static int64_t from_big_endian(const unsigned char *bytes, size_t len)
{
    uint64_t value = len > 0 && bytes[0] & 0x80 ? UINT64_MAX : 0;

    for (size_t i = 0; i < len; i++)
        value = value << 8 | bytes[i];
    return (int64_t)value;
}

int64_t pg_int(const struct pg_result *result, int row, int column)
{
    size_t len;
    const unsigned char *bytes = pg_bytes(result, row, column, &len);

    return bytes && len <= 8 ? from_big_endian(bytes, len) : 0;
}

/* A timestamptz is microseconds since 2000-01-01T00:00:00Z.  Returns it since 1970, in units of
 * that many microseconds, rounded down. */
static int64_t time_in(const struct pg_result *result, int row, int column, int64_t unit)
{
    const int64_t year_2000 = 946684800000000;
    int64_t time = pg_int(result, row, column);

    return year_2000 / unit + (time >= 0 ? time : time - unit + 1) / unit;
}

int64_t pg_time(const struct pg_result *result, int row, int column)
{
    return time_in(result, row, column, 1000000);
}

int64_t pg_time_us(const struct pg_result *result, int row, int column)
{
    return time_in(result, row, column, 1);
}

bool pg_bool(const struct pg_result *result, int row, int column)
{
    return pg_int(result, row, column) == 1;
}

/* Reads a big-endian int32 and moves *at past it.  Returns -1 where fewer than 4 bytes are left. */
static int32_t next_int32(const unsigned char **at, const unsigned char *end)
{
    int32_t value = -1;

    if (end - *at < 4) {
        *at = end;
        return value;
    }
    value = (int32_t)from_big_endian(*at, 4);
    *at += 4;
    return value;
}

/* The format of PostgreSQL's array_send(): the number of dimensions, a flag, the elements' type;
 * for each dimension its size and lower bound; for each element its length and bytes. */
bool pg_texts(const struct pg_result *result, int row, int column, struct arena *arena,
              struct text_list *out)
{
    size_t len;
    const unsigned char *at = pg_bytes(result, row, column, &len);
    const unsigned char *end = at ? at + len : NULL;
    int32_t n_dimensions;
    int32_t n;

    *out = (struct text_list){0};
    if (!at)
        return true;
    out->given = true;
    n_dimensions = next_int32(&at, end);
    next_int32(&at, end);
    next_int32(&at, end);
    if (n_dimensions == 0)
        return true;
    n = next_int32(&at, end);
    next_int32(&at, end);
    if (n_dimensions != 1 || n < 0)
        return false;
    out->items = arena_array(arena, (size_t)n, sizeof *out->items);
    if (!out->items)
        return false;
    for (; out->n < (size_t)n; out->n++) {
        int32_t item_len = next_int32(&at, end);

        if (item_len < 0 || end - at < item_len)
            return false;
        out->items[out->n].s = arena_copy(arena, (const char *)at, (size_t)item_len);
        out->items[out->n].len = (size_t)item_len;
        if (!out->items[out->n].s)
            return false;
        at += item_len;
    }
    return true;
}
