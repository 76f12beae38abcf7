/* SPDX-License-Identifier: MIT */
/* Whether a conninfo is valid, what is wrong with it, and what it holds. */
#include "pg/conninfo.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "pg/pg.h"

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

bool pg_conninfo_has_password(const char *conninfo)
{
    PQconninfoOption *options = PQconninfoParse(conninfo, NULL);
    bool has = options && (pg_conninfo_value(options, "password") ||
                           pg_conninfo_value(options, "sslpassword"));

    PQconninfoFree(options);
    return has;
}
