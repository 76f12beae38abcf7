/* SPDX-License-Identifier: MIT */
/* One pass over JSON text, with a stack of JSON_MAX_DEPTH levels and a hash table of member names.
 */
#include "json/check.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#include "base/ascii.h"
#include "base/invisible.h"
#include "base/utf8.h"

/* A member name.  An offset of 0 marks a free slot: no name is at the start of a text. */
struct name {
    uint64_t hash;
    uint32_t offset; /* of the first byte within its quotes */
    uint32_t object; /* number of the object that it is in */
};

struct names {
    struct name *slots;
    size_t n_slots; /* a power of two, more than twice the possible number of names */
    uint64_t seed;  /* random, so that a client cannot choose names that collide */
};

struct check {
    const unsigned char *start;
    const unsigned char *at;
    const unsigned char *end;
    struct error *err;
    struct names names;
    size_t depth;
    size_t n_values;
    size_t max_values;
    uint32_t n_objects;
    bool is_list[JSON_MAX_DEPTH];
    uint32_t object[JSON_MAX_DEPTH];
};

static bool refuse_at(struct check *c, const unsigned char *at, const char *msg)
{
    struct text rest = {.s = (const char *)at, .len = at < c->end ? (size_t)(c->end - at) : 0};
    struct invisible found;

    if (at >= c->end)
        msg = "The body ends before its JSON is complete.";
    if (invisible_at_start(rest, &found))
        error_say(c->err, ERR_BODY_NOT_JSON, "The body " INVISIBLE_FORMAT ".", found.what);
    else
        error_say(c->err, ERR_BODY_NOT_JSON, "%s", msg);
    c->err->has_offset = true;
    c->err->offset = (size_t)(at - c->start);
    return false;
}

static bool refuse_here(struct check *c, const char *msg)
{
    return refuse_at(c, c->at, msg);
}

static int peek(const struct check *c)
{
    return c->at < c->end ? *c->at : -1;
}

static void skip_space(struct check *c)
{
    while (c->at < c->end && (ascii_is_space((char)*c->at)))
        c->at++;
}

/* ---- characters ---- */

/* Returns the four hexadecimal digits at s as a number, or -1. */
static int32_t hex4(const unsigned char *s, const unsigned char *end)
{
    int32_t value = 0;

    for (int i = 0; i < 4; i++) {
        int digit = s + i < end ? ascii_hex_value((char)s[i]) : -1;

        if (digit < 0)
            return -1;
        value = value << 4 | digit;
    }
    return value;
}

static bool is_high_surrogate(int32_t unit)
{
    return unit >= 0xD800 && unit <= 0xDBFF;
}

static bool is_low_surrogate(int32_t unit)
{
    return unit >= 0xDC00 && unit <= 0xDFFF;
}

/* Starts at the 'u' of an escape. */
static bool unicode_escape(struct check *c)
{
    const unsigned char *escape = c->at - 1;
    int32_t unit = hex4(c->at + 1, c->end);

    if (unit < 0)
        return refuse_at(c, escape, "An escape \\u needs four hexadecimal digits.");
    if (unit == 0)
        return refuse_at(c, escape, "The character \\u0000 is not accepted.");
    c->at += 5;
    if (!is_high_surrogate(unit) && !is_low_surrogate(unit))
        return true;
    if (is_high_surrogate(unit) && c->end - c->at >= 6 && c->at[0] == '\\' && c->at[1] == 'u' &&
        is_low_surrogate(hex4(c->at + 2, c->end))) {
        c->at += 6;
        return true;
    }
    return refuse_at(c, escape, "A surrogate escape stands alone.");
}

/* The byte that a backslash and a letter stand for; 0: none. */
static const unsigned char short_escapes[256] = {
    ['"'] = '"',  ['\\'] = '\\', ['/'] = '/',  ['b'] = '\b',
    ['f'] = '\f', ['n'] = '\n',  ['r'] = '\r', ['t'] = '\t',
};

static bool escape(struct check *c)
{
    c->at++;
    if (c->at >= c->end)
        return refuse_here(c, "");
    if (*c->at == 'u')
        return unicode_escape(c);
    if (!short_escapes[*c->at])
        return refuse_at(c, c->at - 1, "A string has an escape that JSON does not know.");
    c->at++;
    return true;
}

/* Starts at the opening quote, and ends behind the closing one. */
static bool string(struct check *c)
{
    c->at++;
    while (c->at < c->end) {
        unsigned char byte = *c->at;

        if (byte == '"') {
            c->at++;
            return true;
        }
        if (byte == '\\') {
            if (!escape(c))
                return false;
        } else if (byte < 0x20) {
            return refuse_here(c, "A control character stands raw in a string; escape it.");
        } else if (byte < 0x80) {
            c->at++;
        } else {
            size_t len = utf8_char_len(c->at, c->end);

            if (len == 0)
                return refuse_here(c, "A string holds bytes that are not UTF-8.");
            c->at += len;
        }
    }
    return refuse_here(c, "");
}

/* ---- member names ---- */

#define NAME_END 0x110000u

/* Returns the code point of a checked escape, and the length of the escape in bytes. */
static uint32_t escaped_code_point(const unsigned char *s, size_t *len)
{
    uint32_t unit;

    *len = 2;
    if (s[1] != 'u')
        return short_escapes[s[1]];
    unit = (uint32_t)hex4(s + 2, s + 6);
    *len = 6;
    if (!is_high_surrogate((int32_t)unit))
        return unit;
    *len = 12;
    return 0x10000 + ((unit - 0xD800) << 10) + ((uint32_t)hex4(s + 8, s + 12) - 0xDC00);
}

/* Returns the next code point of a checked string, with escapes resolved; NAME_END at the closing
 * quote. */
static inline uint32_t next_code_point(const unsigned char **at)
{
    const unsigned char *s = *at;
    uint32_t value = *s;
    size_t len = 1;

    if (value >= 0x80)
        value = utf8_decode(s, &len);
    else if (value == '\\')
        value = escaped_code_point(s, &len);
    else if (value == '"')
        return NAME_END;
    *at = s + len;
    return value;
}

size_t json_unescape(const char **at, char *out)
{
    const unsigned char *s = (const unsigned char *)*at;
    unsigned char *begin = (unsigned char *)out;
    unsigned char *end = begin;
    uint32_t point;

    while ((point = next_code_point(&s)) != NAME_END) {
        if (point < 0x80)
            *end++ = (unsigned char)point;
        else
            end += utf8_encode(end, point);
    }
    *at = (const char *)s + 1;
    return (size_t)(end - begin);
}

/* Three code points of 21 bits fill a word, and each word costs one multiplication.  The last word
 * includes NAME_END, so a name hashes unlike its own prefixes. */
static uint64_t hash_name(const unsigned char *name, uint64_t seed)
{
    uint64_t hash = seed;
    uint32_t point = 0;

    while (point != NAME_END) {
        uint64_t word = 0;

        for (int room = 3; room > 0 && point != NAME_END; room--) {
            point = next_code_point(&name);
            word = word << 21 | point;
        }
        hash ^= word;
        hash = (hash ^ hash >> 32) * 0x9FB21C651E98DF25u;
        hash ^= hash >> 32;
    }
    return hash;
}

static bool names_equal(const unsigned char *a, const unsigned char *b)
{
    uint32_t point;

    do {
        point = next_code_point(&a);
        if (point != next_code_point(&b))
            return false;
    } while (point != NAME_END);
    return true;
}

/* Adds a name of the innermost object.  Returns false if the object has that name already. */
static bool remember_name(struct check *c, const unsigned char *name)
{
    uint32_t object = c->object[c->depth - 1];
    uint64_t hash = hash_name(name, c->names.seed + object);
    size_t mask = c->names.n_slots - 1;
    size_t i = (size_t)hash & mask;

    while (c->names.slots[i].offset != 0) {
        const struct name *seen = &c->names.slots[i];

        if (seen->hash == hash && seen->object == object &&
            names_equal(c->start + seen->offset, name))
            return refuse_at(c, name - 1, "An object has two members of the same name.");
        i = (i + 1) & mask;
    }
    c->names.slots[i] =
        (struct name){.hash = hash, .offset = (uint32_t)(name - c->start), .object = object};
    return true;
}

/* The shortest member, "":0 and a comma, has five bytes: so there are at most len / 5 + 1. */
static bool make_names(struct names *names, size_t len, size_t max_values)
{
    size_t most = len / 5 + 1 < max_values ? len / 5 + 1 : max_values;

    names->n_slots = 16;
    while (names->n_slots <= most * 2)
        names->n_slots *= 2;
    names->slots = calloc(names->n_slots, sizeof *names->slots);
    if (getrandom(&names->seed, sizeof names->seed, 0) != sizeof names->seed)
        names->seed = (uint64_t)(uintptr_t)names->slots;
    return names->slots != NULL;
}

/* ---- values ---- */

static bool at_digit(const struct check *c)
{
    return c->at < c->end && ascii_is_digit((char)*c->at);
}

static void digits(struct check *c)
{
    while (at_digit(c))
        c->at++;
}

static bool need_digits(struct check *c)
{
    const unsigned char *first = c->at;

    digits(c);
    return c->at > first || refuse_here(c, "A number lacks a digit here.");
}

static bool number(struct check *c)
{
    if (peek(c) == '-')
        c->at++;
    if (peek(c) == '0') {
        c->at++;
        if (at_digit(c))
            return refuse_here(c, "A number has a leading zero.");
    } else if (!need_digits(c)) {
        return false;
    }
    if (peek(c) == '.') {
        c->at++;
        if (!need_digits(c))
            return false;
    }
    if (peek(c) == 'e' || peek(c) == 'E') {
        c->at++;
        if (peek(c) == '+' || peek(c) == '-')
            c->at++;
        if (!need_digits(c))
            return false;
    }
    return true;
}

static bool literal(struct check *c, const char *word)
{
    for (const char *letter = word; *letter; letter++, c->at++) {
        if (peek(c) != (unsigned char)*letter)
            return refuse_here(c, "There is no JSON value here.");
    }
    return true;
}

static bool open_level(struct check *c, bool is_list)
{
    if (c->depth == JSON_MAX_DEPTH)
        return refuse_here(c, "The body is nested more than 16 levels deep.");
    c->is_list[c->depth] = is_list;
    c->object[c->depth] = c->n_objects;
    c->n_objects += !is_list;
    c->depth++;
    c->at++;
    return true;
}

static bool refuse_values(struct check *c)
{
    char msg[64];

    snprintf(msg, sizeof msg, "The body holds more than %zu values.", c->max_values);
    return refuse_here(c, msg);
}

/* Starts at the first byte of a value.  Only opens an object or a list. */
static bool value(struct check *c)
{
    int first = peek(c);

    if (first >= 0 && ++c->n_values > c->max_values)
        return refuse_values(c);
    switch (first) {
    case '{':
        return open_level(c, false);
    case '[':
        return open_level(c, true);
    case '"':
        return string(c);
    case 't':
        return literal(c, "true");
    case 'f':
        return literal(c, "false");
    case 'n':
        return literal(c, "null");
    default:
        if (first == '-' || at_digit(c))
            return number(c);
        return refuse_here(c, "There is no JSON value here.");
    }
}

/* Starts at a member's name, and ends behind the colon and white space. */
static bool member_name(struct check *c)
{
    const unsigned char *name = c->at + 1;

    if (peek(c) != '"')
        return refuse_here(c, "A member's name, in quotes, is missing here.");
    if (!string(c) || !remember_name(c, name))
        return false;
    skip_space(c);
    if (peek(c) != ':')
        return refuse_here(c, "A colon is missing here.");
    c->at++;
    skip_space(c);
    return true;
}

static bool at_close(const struct check *c)
{
    return peek(c) == (c->is_list[c->depth - 1] ? ']' : '}');
}

/* Reads one element or member of the innermost level, or its closing bracket. */
static bool step(struct check *c, bool first)
{
    skip_space(c);
    if (at_close(c)) {
        c->at++;
        c->depth--;
        return true;
    }
    if (!first) {
        if (peek(c) != ',')
            return refuse_here(c, c->is_list[c->depth - 1] ? "A comma or ']' is missing here."
                                                           : "A comma or '}' is missing here.");
        c->at++;
        skip_space(c);
    }
    return (c->is_list[c->depth - 1] || member_name(c)) && value(c);
}

static bool document(struct check *c)
{
    if (!value(c))
        return false;
    for (bool first = true; c->depth > 0;) {
        size_t depth = c->depth;

        if (!step(c, first))
            return false;
        first = c->depth > depth;
    }
    skip_space(c);
    return c->at == c->end || refuse_here(c, "Something follows the JSON object.");
}

static bool check_whole(struct check *c, bool takes_list)
{
    size_t len = (size_t)(c->end - c->at);
    bool ok;

    skip_space(c);
    if (peek(c) != '{' && !(takes_list && peek(c) == '['))
        return refuse_here(c, "The body is not a JSON object.");
    if (!make_names(&c->names, len, c->max_values))
        return error_set(c->err, ERR_OUT_OF_MEMORY);
    ok = document(c);
    free(c->names.slots);
    return ok;
}

static bool check_values(const char *text, size_t len, size_t max_values, bool takes_list,
                         struct error *err)
{
    const unsigned char *start = (const unsigned char *)text;
    struct check c = {
        .start = start, .at = start, .end = start + len, .err = err, .max_values = max_values};

    return check_whole(&c, takes_list);
}

bool json_check(const char *text, size_t len, struct error *err)
{
    return check_values(text, len, JSON_MAX_VALUES, false, err);
}

bool json_check_answer(const char *text, size_t len, struct error *err)
{
    return check_values(text, len, JSON_MAX_VALUES + JSON_ADDED_VALUES, false, err);
}

bool json_check_large(const char *text, size_t len, size_t max_values, struct error *err)
{
    return check_values(text, len, max_values, true, err);
}
