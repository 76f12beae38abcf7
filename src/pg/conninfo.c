/* SPDX-License-Identifier: MIT */
/* Whether a conninfo is valid, what is wrong with it, and what it holds. */
#include "pg/conninfo.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "pg/pg.h"

#define URI "postgresql://"

const char *pg_conninfo_value(const PQconninfoOption *options, const char *keyword)
{
    for (; options && options->keyword; options++) {
        if (strcmp(options->keyword, keyword) == 0)
            return options->val && options->val[0] ? options->val : NULL;
    }
    return NULL;
}

bool pg_conninfo_valid(const char *conninfo)
{
    PQconninfoOption *options = PQconninfoParse(conninfo, NULL);

    PQconninfoFree(options);
    return options != NULL;
}

/* Writes libpq's own message.  Returns false where libpq finds no fault. */
static bool quote_reason(const char *conninfo, char *reason, size_t size)
{
    char *message = NULL;

    PQconninfoFree(PQconninfoParse(conninfo, &message));
    if (message)
        snprintf(reason, size, "%.*s", (int)strcspn(message, "\n"), message);
    PQfreemem(message);
    return message != NULL;
}

/* Returns the beginning of the word that names the first password, or NULL. */
static const char *find_password(const char *conninfo)
{
    const char *at = strstr(conninfo, "password");

    while (at && at > conninfo && !strchr(" \t\r\n", at[-1]))
        at--;
    return at;
}

/* libpq quotes the word at fault, which may be part of a password.  So libpq is shown only the text
 * before the first password.  In a URI a password may be anywhere. */
void pg_conninfo_reason(const char *conninfo, char *reason, size_t size)
{
    const char *password = find_password(conninfo);
    char *before;

    if (strstr(conninfo, "://")) {
        snprintf(reason, size, "the URI is malformed, or names an unknown parameter");
        return;
    }
    before = strndup(conninfo, password ? (size_t)(password - conninfo) : strlen(conninfo));
    if (!before || !quote_reason(before, reason, size))
        snprintf(reason, size,
                 "at the password or after it; a password with spaces needs quotes: "
                 "password='...'");
    free(before);
}

/* libpq marks passwords itself.  The keys of SCRAM are worth as much. */
static bool is_secret(const PQconninfoOption *option)
{
    return option->dispchar[0] == '*' || strncmp(option->keyword, "scram_", 6) == 0;
}

static bool hold_password(const PQconninfoOption *options)
{
    bool hold = false;

    for (const PQconninfoOption *at = options; at && at->keyword; at++)
        hold = hold || (at->val && at->val[0] && is_secret(at));
    return hold;
}

bool pg_conninfo_has_password(const char *conninfo)
{
    PQconninfoOption *options = PQconninfoParse(conninfo, NULL);
    bool has = hold_password(options);

    PQconninfoFree(options);
    return has;
}

/* In a URI, every character has a form that shows. */
static void put_parameter(struct buf *out, const PQconninfoOption *option)
{
    static const char plain[] =
        "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~/:,";

    buf_printf(out, "%c%s=", out->len == strlen(URI) ? '?' : '&', option->keyword);
    for (const char *at = option->val; *at; at++)
        buf_printf(out, strchr(plain, *at) ? "%c" : "%%%02X", (unsigned char)*at);
}

static char *write_without_secrets(const PQconninfoOption *options)
{
    struct buf out = {0};

    buf_puts(&out, URI);
    for (; options->keyword; options++) {
        if (options->val && !is_secret(options))
            put_parameter(&out, options);
    }
    if (!out.failed)
        return out.data;
    buf_free(&out);
    return NULL;
}

char *pg_conninfo_without_password(const char *conninfo)
{
    PQconninfoOption *options = PQconninfoParse(conninfo, NULL);
    char *shown = NULL;

    if (options)
        shown = hold_password(options) ? write_without_secrets(options) : strdup(conninfo);
    PQconninfoFree(options);
    return shown;
}
