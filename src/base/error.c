/* SPDX-License-Identifier: MIT */
/* The catalogue of errors, and filling in an error. */
#include "base/error.h"

#include <stdarg.h>
#include <stdio.h>

#include "base/utf8.h"

static const struct error_row rows[ERR_N_CODES] = {
#define ERROR(symbol, number, status, text) [ERR_##symbol] = {#symbol, number, status, text},
#include "base/error_table.h"
#undef ERROR
};

static void format_into(char *out, size_t size, const char *format, va_list args)
    __attribute__((format(printf, 3, 0)));

/* Formats into out.  Cuts a text that is too long at a whole character. */
static void format_into(char *out, size_t size, const char *format, va_list args)
{
    int len = vsnprintf(out, size, format, args);

    if (len >= 0 && (size_t)len >= size)
        out[utf8_whole(out, size - 1)] = '\0';
}

const struct error_row *error_row(enum error_code code)
{
    if (code <= ERR_NONE || code >= ERR_N_CODES)
        code = ERR_INTERNAL;
    return &rows[code];
}

const char *error_reason(const struct error *err)
{
    return err->cause[0] ? err->cause : error_row(err->code)->text;
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
    size_t len = strlen(field);

    error_set(err, code);
    err->has_field = true;
    memcpy(err->field, field,
           len < sizeof err->field ? len : utf8_whole(field, sizeof err->field - 1));
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
    size_t len = value.len > room ? utf8_whole(value.s, room) : value.len;

    if (len > 0)
        memcpy(out, value.s, len);
    out[len] = '\0';
    if (len < value.len)
        memcpy(out + len, ellipsis, sizeof ellipsis);
    return out;
}
