/* SPDX-License-Identifier: MIT */
/* Whether a conninfo is valid, what is wrong with it, and what it holds. */
#include "pg/conninfo.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/number.h"
#include "base/text.h"
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

/* ---- values that hold part of a password ---- */

/* A mistake in a URI can make part of its password the port, the host or the database, which the
 * messages of libpq and of the server quote.  So these functions find such values before anything
 * connects. */

#define PORT_MAX 65535

/* An empty port is the default one.  libpq accepts blanks around a number. */
static bool names_port(struct text item)
{
    uint64_t port;

    while (item.len > 0 && item.s[0] == ' ')
        item = text_part(item, 1, item.len);
    while (item.len > 0 && item.s[item.len - 1] == ' ')
        item.len--;
    return item.len == 0 || (number_read(item, 10, PORT_MAX, &port) && port > 0);
}

/* Only folders of sockets, and sockets without a file, have an '@' in their names. */
static bool names_host(struct text item)
{
    return item.len == 0 || item.s[0] == '/' || item.s[0] == '@' || !memchr(item.s, '@', item.len);
}

/* Returns whether each item of a list passes.  An absent list has none. */
static bool all_items(const char *list, bool (*passes)(struct text item))
{
    bool ok = true;

    while (list && ok) {
        size_t len = strcspn(list, ",");

        ok = passes(text_part(text_of(list), 0, len));
        list = list[len] ? list + len + 1 : NULL;
    }
    return ok;
}

/* libpq ends the user and the password at the first '/'. */
static bool has_at_in_path(const char *conninfo)
{
    const char *at;

    if (!text_begins(text_of(conninfo), "postgresql://") &&
        !text_begins(text_of(conninfo), "postgres://"))
        return false;
    at = strstr(conninfo, "://") + strlen("://");
    at += strcspn(at, "/?");
    return *at == '/' && memchr(at, '@', strcspn(at, "?")) != NULL;
}

/* Returns what is wrong with a conninfo that libpq has parsed, or NULL. */
static const char *find_leak(const char *conninfo, const PQconninfoOption *options)
{
    const char *database = pg_conninfo_value(options, "dbname");

    if (database && strstr(database, "://"))
        return "dbname holds a URI; give the URI alone, without dbname=";
    if (has_at_in_path(conninfo))
        return "an @ follows the first / of the URI; in the password, write / as %2F and @ as %40";
    if (!all_items(pg_conninfo_value(options, "host"), names_host))
        return "the host holds an @; in the password of a URI, write @ as %40";
    if (!all_items(pg_conninfo_value(options, "port"), names_port))
        return "the port is not a number from 1 to 65535; in a URI, @HOST follows the password, "
               "which has %40 for @ and %2F for /";
    return NULL;
}

bool pg_conninfo_valid(const char *conninfo)
{
    PQconninfoOption *options = PQconninfoParse(conninfo, NULL);
    bool valid = options && !find_leak(conninfo, options);

    PQconninfoFree(options);
    return valid;
}

/* ---- what is wrong ---- */

/* Writes libpq's own message, unless it quotes part of a URI.  Returns false where libpq finds no
 * fault. */
static bool quote_reason(const char *conninfo, char *reason, size_t size)
{
    char *message = NULL;

    PQconninfoFree(PQconninfoParse(conninfo, &message));
    if (message && strpbrk(message, ":@"))
        snprintf(reason, size, "a word is not KEYWORD=VALUE; a URI begins with postgresql://");
    else if (message)
        snprintf(reason, size, "%.*s", (int)strcspn(message, "\n"), message);
    PQfreemem(message);
    return message != NULL;
}

/* Writes what find_leak() finds.  Returns false where it finds nothing, or libpq a fault. */
static bool tell_leak(const char *conninfo, char *reason, size_t size)
{
    PQconninfoOption *options = PQconninfoParse(conninfo, NULL);
    const char *fault = options ? find_leak(conninfo, options) : NULL;

    PQconninfoFree(options);
    if (fault)
        snprintf(reason, size, "%s", fault);
    return fault != NULL;
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

    if (tell_leak(conninfo, reason, size))
        return;
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
