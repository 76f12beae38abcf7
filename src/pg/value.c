/* SPDX-License-Identifier: MIT */
/* Parameters on their way to PostgreSQL, and values on their way back. */
#include <libpq-fe.h>
#include <stdio.h>
#include <string.h>

#include "base/buf.h"
#include "pg/pg.h"

/* 2000-01-01T00:00:00Z in microseconds since 1970. */
#define YEAR_2000_US ((int64_t)946684800000000)

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

/* A timestamptz in binary form: microseconds since 2000-01-01T00:00:00Z, big-endian. */
void pg_add_time(struct pg_params *params, int64_t us)
{
    uint64_t time = (uint64_t)us - (uint64_t)YEAR_2000_US;
    char *bytes;

    if (params->n == PG_MAX_PARAMS) {
        params->failed = true;
        return;
    }
    bytes = params->digits[params->n];
    for (int i = 0; i < 8; i++)
        bytes[i] = (char)(time >> (56 - 8 * i));
    add_param(params, bytes, 8, 1);
}

void pg_add_null(struct pg_params *params)
{
    add_param(params, NULL, 0, 0);
}

void pg_add_place(struct pg_params *params, struct text account_id)
{
    pg_add_text(params, account_id);
    params->has_place = true;
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

size_t pg_result_bytes(const struct pg_result *result)
{
    return PQresultMemorySize(rows_of(result));
}

bool pg_is_null(const struct pg_result *result, int row, int column)
{
    return PQgetisnull(rows_of(result), row, column);
}

/* The length of NULL is 0, so only then libpq is asked which of the two it is. */
static const unsigned char *bytes_at(const struct pg_result *result, int row, int column,
                                     size_t *len)
{
    *len = (size_t)PQgetlength(rows_of(result), row, column);
    if (*len == 0 && pg_is_null(result, row, column))
        return NULL;
    return (const unsigned char *)PQgetvalue(rows_of(result), row, column);
}

struct text pg_text(const struct pg_result *result, int row, int column)
{
    struct text value;

    value.s = (const char *)bytes_at(result, row, column, &value.len);
    return value;
}

bool pg_copy(const struct pg_result *result, int row, int column, struct arena *arena,
             struct text *out)
{
    struct text value = pg_text(result, row, column);

    *out = (struct text){.s = NULL};
    if (!value.s)
        return true;
    *out = (struct text){arena_copy(arena, value.s, value.len), value.len};
    return out->s != NULL;
}

/* Compilers make one instruction of these shifts. */
static uint32_t read_uint32(const unsigned char *bytes)
{
    return (uint32_t)bytes[0] << 24 | (uint32_t)bytes[1] << 16 | (uint32_t)bytes[2] << 8 | bytes[3];
}

static int64_t read_int64(const unsigned char *bytes)
{
    return (int64_t)((uint64_t)read_uint32(bytes) << 32 | read_uint32(bytes + 4));
}

/* Binary numbers are big-endian; their type makes them 1, 2, 4 or 8 bytes long. */
int64_t pg_int(const struct pg_result *result, int row, int column)
{
    size_t len;
    const unsigned char *bytes = bytes_at(result, row, column, &len);

    switch (len) {
    case 1:
        return (int8_t)bytes[0];
    case 2:
        return (int16_t)(bytes[0] << 8 | bytes[1]);
    case 4:
        return (int32_t)read_uint32(bytes);
    case 8:
        return read_int64(bytes);
    default:
        return 0;
    }
}

/* A timestamptz is microseconds since 2000-01-01T00:00:00Z.  Returns it since 1970, in units of
 * that many microseconds, rounded down. */
static int64_t time_in(const struct pg_result *result, int row, int column, int64_t unit)
{
    int64_t time = pg_int(result, row, column);

    if (time > INT64_MAX - YEAR_2000_US) /* infinity */
        return INT64_MAX / unit;
    return YEAR_2000_US / unit + time / unit - (time % unit < 0);
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
    value = (int32_t)read_uint32(*at);
    *at += 4;
    return value;
}

/* Copies n elements into one piece of memory: first their places, then their bytes.  An element's
 * NUL takes a byte of its length. */
static bool copy_texts(const unsigned char *at, const unsigned char *end, size_t n,
                       struct arena *arena, struct text_list *out)
{
    size_t places = n * sizeof *out->items;
    char *copy = arena_alloc(arena, places + (size_t)(end - at));

    if (!copy)
        return false;
    out->items = (struct text *)(void *)copy;
    copy += places;
    for (; out->n < n; out->n++) {
        int32_t len = next_int32(&at, end);

        if (len < 0 || end - at < len)
            return false;
        memcpy(copy, at, (size_t)len);
        out->items[out->n] = (struct text){.s = copy, .len = (size_t)len};
        at += len;
        copy += len;
        *copy++ = '\0';
    }
    return true;
}

/* The format of PostgreSQL's array_send(): the number of dimensions, a flag, the elements' type;
 * for each dimension its size and lower bound; for each element its length and bytes. */
bool pg_texts(const struct pg_result *result, int row, int column, struct arena *arena,
              struct text_list *out)
{
    size_t len;
    const unsigned char *at = bytes_at(result, row, column, &len);
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
    /* Each element has a length of four bytes. */
    if (n_dimensions != 1 || n < 0 || n > (end - at) / 4)
        return false;
    return copy_texts(at, end, (size_t)n, arena, out);
}
