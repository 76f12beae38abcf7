/* SPDX-License-Identifier: MIT */
/* Which files libpq reads when it connects. */
#include <libpq-fe.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/buf.h"
#include "pg/conninfo.h"
#include "pg/pg.h"

static const char *const file_options[] = {"passfile", "sslcert",   "sslkey",     "sslrootcert",
                                           "sslcrl",   "sslcrldir", "servicefile"};

/* What libpq looks for in the home folder unless the options name another file. */
static const char *const home_files[] = {".pgpass",
                                         ".pg_service.conf",
                                         ".postgresql/root.crt",
                                         ".postgresql/root.crl",
                                         ".postgresql/postgresql.crt",
                                         ".postgresql/postgresql.key"};

/* Variables that name files of OpenSSL and Kerberos, and one that PQconndefaults() leaves out. */
static const char *const variables[] = {"PGSERVICEFILE", "SSL_CERT_FILE", "OPENSSL_CONF",
                                        "KRB5_CONFIG",   "KRB5CCNAME",    "KRB5_KTNAME"};

static void see_options(const PQconninfoOption *options, pg_file_seen *seen, void *context)
{
    for (size_t i = 0; i < sizeof file_options / sizeof file_options[0]; i++) {
        const char *path = pg_conninfo_value(options, file_options[i]);

        if (path)
            seen(context, path);
    }
}

/* libpq reads a service's settings in PQconndefaults(), not when it parses a conninfo. */
static PQconninfoOption *read_defaults(const char *service)
{
    const char *given = getenv("PGSERVICE");
    char *kept = given ? strdup(given) : NULL;
    PQconninfoOption *options;

    if (service)
        setenv("PGSERVICE", service, 1);
    options = PQconndefaults();
    if (kept)
        setenv("PGSERVICE", kept, 1);
    else if (service)
        unsetenv("PGSERVICE");
    free(kept);
    return options;
}

static void see_home(pg_file_seen *seen, void *context)
{
    const char *home = getenv("HOME");
    const struct passwd *user = home && *home ? NULL : getpwuid(geteuid());

    if (user)
        home = user->pw_dir;
    for (size_t i = 0; home && i < sizeof home_files / sizeof home_files[0]; i++) {
        struct buf path = {0};

        buf_printf(&path, "%s/%s", home, home_files[i]);
        if (!path.failed && access(path.data, F_OK) == 0)
            seen(context, path.data);
        buf_free(&path);
    }
}

void pg_see_files(const char *conninfo, pg_file_seen *seen, void *context)
{
    PQconninfoOption *options = PQconninfoParse(conninfo, NULL);
    PQconninfoOption *defaults = read_defaults(pg_conninfo_value(options, "service"));

    see_options(options, seen, context);
    see_options(defaults, seen, context);
    for (size_t i = 0; i < sizeof variables / sizeof variables[0]; i++) {
        const char *value = getenv(variables[i]);

        if (value)
            seen(context, strncmp(value, "FILE:", 5) == 0 ? value + 5 : value);
    }
    see_home(seen, context);
    PQconninfoFree(options);
    PQconninfoFree(defaults);
}
