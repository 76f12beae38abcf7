/* SPDX-License-Identifier: MIT */
/* Tests of which files are said to be read for a connection. */
#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "pg/pg.h"
#include "suites.h"

static char folder[] = "/tmp/adit-pg-files-XXXXXX";
static char seen[4096];

static void note(void *context, const char *path)
{
    size_t len = strlen(seen);

    ck_assert_ptr_eq(context, seen);
    snprintf(seen + len, sizeof seen - len, " %s ", path);
}

static void look(const char *conninfo)
{
    seen[0] = '\0';
    pg_see_files(conninfo, note, seen);
}

static void expect(const char *path, bool wanted)
{
    char word[256];

    snprintf(word, sizeof word, " %s ", path);
    if ((strstr(seen, word) != NULL) != wanted)
        ck_abort_msg("%s: wanted %d among%s", path, wanted, seen);
}

/* Each test is a process of its own, and its environment too. */
static void start(void)
{
    static const char *const names[] = {"PGSERVICE",     "PGSERVICEFILE", "PGSSLROOTCERT",
                                        "SSL_CERT_FILE", "OPENSSL_CONF",  "KRB5CCNAME"};

    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
        unsetenv(names[i]);
    ck_assert_ptr_nonnull(mkdtemp(folder));
    setenv("HOME", folder, 1);
}

static void write_file(const char *name, const char *text)
{
    char path[256];
    FILE *file;

    snprintf(path, sizeof path, "%s/%s", folder, name);
    file = fopen(path, "w");
    ck_assert_ptr_nonnull(file);
    fputs(text, file);
    fclose(file);
}

static void end(const char *const *names, size_t n)
{
    char path[256];

    for (size_t i = 0; i < n; i++) {
        snprintf(path, sizeof path, "%s/%s", folder, names[i]);
        remove(path);
    }
    rmdir(folder);
}

START_TEST(options)
{
    start();
    look("host=a sslrootcert=/a/root.crt sslcert=/b/c.crt sslkey=/b/c.key passfile=/p/w");
    expect("/a/root.crt", true);
    expect("/b/c.crt", true);
    expect("/b/c.key", true);
    expect("/p/w", true);
    look("postgresql://a/b?sslcrl=/c/crl");
    expect("/c/crl", true);
    expect("/a/root.crt", false);
    end(NULL, 0);
}
END_TEST

START_TEST(environment)
{
    start();
    setenv("PGSSLROOTCERT", "/e/root.crt", 1);
    setenv("SSL_CERT_FILE", "/e/certs", 1);
    setenv("KRB5CCNAME", "FILE:/e/cc", 1);
    look("host=a");
    expect("/e/root.crt", true);
    expect("/e/certs", true);
    expect("/e/cc", true);
    end(NULL, 0);
}
END_TEST

START_TEST(service)
{
    static const char *const names[] = {"services"};
    char path[256];

    start();
    write_file("services", "[one]\nsslrootcert=/one/ca\n[two]\nsslrootcert=/two/ca\n");
    snprintf(path, sizeof path, "%s/services", folder);
    setenv("PGSERVICEFILE", path, 1);
    look("service=one");
    expect(path, true);
    expect("/one/ca", true);
    expect("/two/ca", false);
    ck_assert_ptr_null(getenv("PGSERVICE"));
    setenv("PGSERVICE", "two", 1);
    look("host=a");
    expect("/two/ca", true);
    look("service=one");
    expect("/one/ca", true);
    ck_assert_str_eq(getenv("PGSERVICE"), "two");
    end(names, 1);
}
END_TEST

START_TEST(home)
{
    static const char *const names[] = {".pgpass", ".postgresql/root.crt", ".postgresql"};
    char path[256];

    start();
    look("host=a");
    snprintf(path, sizeof path, "%s/.pgpass", folder);
    expect(path, false);
    write_file(".pgpass", "");
    look("host=a");
    expect(path, true);
    snprintf(path, sizeof path, "%s/.postgresql", folder);
    ck_assert_int_eq(mkdir(path, 0700), 0);
    write_file(".postgresql/root.crt", "");
    look("host=a");
    snprintf(path, sizeof path, "%s/.postgresql/root.crt", folder);
    expect(path, true);
    end(names, 3);
}
END_TEST

Suite *pg_files_suite(void)
{
    Suite *suite = suite_create("pg/files");
    TCase *tcase = tcase_create("files");

    tcase_add_test(tcase, options);
    tcase_add_test(tcase, environment);
    tcase_add_test(tcase, service);
    tcase_add_test(tcase, home);
    suite_add_tcase(suite, tcase);
    return suite;
}
