/* SPDX-License-Identifier: MIT */
/* The catalogue of errors and the making of an error value. */
#include "base/error.h"

#include <stdarg.h>
#include <stdio.h>

static const struct error_row rows[ERR_N_CODES] = {
#define ERROR(symbol, number, status, text) [ERR_##symbol] = {#symbol, number, status, text},
#include "base/error_table.h"
#undef ERROR
};

/* Cuts an over-long, formatted C string back to a whole UTF-8 character. */
static void cut_at_character(char *s, size_t size, int wanted)
{
    size_t len;

    if (wanted < 0 || (size_t)wanted < size)
        return;
    len = size - 1;
    while (len > 0 && ((unsigned char)s[len - 1] & 0xC0) == 0x80)
        len--;
    if (len > 0 && ((unsigned char)s[len - 1] & 0x80))
        len--;
    s[len] = '\0';
}

static void format_into(char *out, size_t size, const char *format, va_list args)
    __attribute__((format(printf, 3, 0)));

static void format_into(char *out, size_t size, const char *format, va_list args)
{
    cut_at_character(out, size, vsnprintf(out, size, format, args));
}

const struct error_row *error_row(enum error_code code)
{
    if (code <= ERR_NONE || code >= ERR_N_CODES)
        code = ERR_INTERNAL;
    return &rows[code];
}

bool error_set(struct error *err, enum error_code code)
{
    *err = (struct error){.code = code};
    return false;
}

bool error_say(struct error *err, enum error_code code, const char *format, ...)
{
    va_list args;

    error_set(err, code);
    va_start(args, format);
    format_into(err->msg, sizeof err->msg, format, args);
    va_end(args);
    return false;
}

bool error_field(struct error *err, enum error_code code, const char *field, const char *format,
                 ...)
{
    va_list args;

    error_set(err, code);
    err->has_field = true;
    cut_at_character(err->field, sizeof err->field,
                     snprintf(err->field, sizeof err->field, "%s", field));
    va_start(args, format);
    format_into(err->msg, sizeof err->msg, format, args);
    va_end(args);
    return false;
}

bool error_cause(struct error *err, enum error_code code, const char *format, ...)
{
    va_list args;

    error_set(err, code);
    va_start(args, format);
    format_into(err->cause, sizeof err->cause, format, args);
    va_end(args);
    return false;
}

const char *error_quote(char out[ERROR_QUOTE_SIZE], struct text value)
{
    static const char ellipsis[] = "\xE2\x80\xA6";
    const size_t room = ERROR_QUOTE_SIZE - sizeof ellipsis;
    size_t len = value.len;

    if (len > room) {
        len = room;
        while (len > 0 && ((unsigned char)value.s[len] & 0xC0) == 0x80)
            len--;
    }
    if (len > 0)
        memcpy(out, value.s, len);
    out[len] = '\0';
    if (len < value.len)
        memcpy(out + len, ellipsis, sizeof ellipsis);
    return out;
}
