/* SPDX-License-Identifier: MIT */
/* Tests of reading authorities' certificates from PEM. */
#include "crypt/certificate.h"

#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "suites.h"

/* Appends a file of tests/cases/certificates. */
static void add_file(struct buf *out, const char *name)
{
    char path[4096];
    char data[4096];
    size_t n;
    FILE *file;

    snprintf(path, sizeof path, "%s/certificates/%s.pem", getenv("CASES_DIR"), name);
    file = fopen(path, "r");
    ck_assert_msg(file != NULL, "cannot open %s", path);
    n = fread(data, 1, sizeof data, file);
    ck_assert_uint_gt(n, 0);
    buf_add(out, data, n);
    fclose(file);
}

/* Expects that the text has these authorities, in this order, and n_others other blocks. */
static void expect(const struct buf *pem, const char *const *names, size_t n_others)
{
    struct crypt_certificates found;
    struct buf out = {0};
    struct buf wanted = {0};
    size_t n = 0;

    for (; names[n]; n++)
        add_file(&wanted, names[n]);
    ck_assert_int_eq(crypt_certificates_take(pem->data, pem->len, &out, &found),
                     CRYPT_CERTIFICATES_READ);
    ck_assert_uint_eq(found.n_taken, n);
    ck_assert_uint_eq(found.n_others, n_others);
    ck_assert(text_eq(buf_text(&out), buf_text(&wanted)));
    buf_free(&out);
    buf_free(&wanted);
}

static void expect_malformed(const struct buf *pem)
{
    struct crypt_certificates found;
    struct buf out = {0};

    buf_puts(&out, "before");
    ck_assert_int_eq(crypt_certificates_take(pem->data, pem->len, &out, &found),
                     CRYPT_CERTIFICATES_MALFORMED);
    ck_assert(text_eq(buf_text(&out), text_of("before")));
    ck_assert_uint_eq(found.n_taken + found.n_others, 0);
    buf_free(&out);
}

START_TEST(authorities_alone_are_taken)
{
    struct buf pem = {0};

    buf_puts(&pem, "Bag Attributes\r\n  friendlyName: x\r\n\r\n");
    add_file(&pem, "authority-1");
    add_file(&pem, "leaf");
    buf_puts(&pem, "\n\nsome text\n");
    add_file(&pem, "version-1");
    add_file(&pem, "no-signing");
    add_file(&pem, "key");
    add_file(&pem, "authority-2");
    add_file(&pem, "key");
    expect(&pem, (const char *const[]){"authority-1", "authority-2", NULL}, 5);
    buf_free(&pem);
}
END_TEST

static void expect_said(const struct buf *pem, size_t n_taken, const char *wanted)
{
    char said[CRYPT_CERTIFICATES_TEXT_SIZE];
    struct crypt_certificates found;
    struct buf out = {0};

    ck_assert_int_eq(crypt_certificates_take(pem->data, pem->len, &out, &found),
                     CRYPT_CERTIFICATES_READ);
    ck_assert_uint_eq(found.n_taken, n_taken);
    crypt_certificates_describe(&found, said);
    ck_assert_str_eq(said, wanted);
    buf_free(&out);
}

/* Nothing is left out without a word. */
START_TEST(what_is_left_out_is_named)
{
    static const char *const fronts[] = {" ", "\t", "> ", "\xc2\xa0"};
    struct buf pem = {0};

    buf_puts(&pem, "some text\n");
    add_file(&pem, "authority-1");
    expect_said(&pem, 1, "");
    buf_puts(&pem, "-----BEGIN TRUSTED CERTIFICATE-----\nMIIB\n"
                   "-----END TRUSTED CERTIFICATE-----\n");
    expect_said(&pem, 1, "blocks left out: 1 TRUSTED CERTIFICATE (convert it: openssl x509)");
    add_file(&pem, "leaf");
    add_file(&pem, "version-1");
    add_file(&pem, "no-signing");
    add_file(&pem, "key");
    expect_said(&pem, 1,
                "blocks left out: 2 without CA:TRUE, 1 whose keyUsage lacks keyCertSign,"
                " 1 TRUSTED CERTIFICATE (convert it: openssl x509), 1 no certificate");
    for (size_t i = 0; i < sizeof fronts / sizeof fronts[0]; i++) {
        buf_clear(&pem);
        buf_puts(&pem, fronts[i]);
        add_file(&pem, "authority-2");
        add_file(&pem, "authority-1");
        expect_said(&pem, 1,
                    "blocks left out: 1 BEGIN not at the start of a line (remove what is in "
                    "front)");
    }
    buf_free(&pem);
}
END_TEST

START_TEST(lines_may_end_in_cr_lf)
{
    struct buf unix_lines = {0};
    struct buf pem = {0};

    add_file(&unix_lines, "authority-1");
    for (size_t i = 0; i < unix_lines.len; i++) {
        buf_puts(&pem, unix_lines.data[i] == '\n' ? "\r" : "");
        buf_add(&pem, unix_lines.data + i, 1);
    }
    expect(&pem, (const char *const[]){"authority-1", NULL}, 0);
    buf_free(&unix_lines);
    buf_free(&pem);
}
END_TEST

START_TEST(a_repeated_one_is_taken_once)
{
    struct crypt_certificates found;
    struct buf pem = {0};
    struct buf out = {0};
    struct buf wanted = {0};

    add_file(&pem, "authority-1");
    add_file(&pem, "authority-1");
    add_file(&out, "authority-1");
    add_file(&wanted, "authority-1");
    ck_assert_int_eq(crypt_certificates_take(pem.data, pem.len, &out, &found),
                     CRYPT_CERTIFICATES_READ);
    ck_assert_uint_eq(found.n_taken, 2);
    ck_assert(text_eq(buf_text(&out), buf_text(&wanted)));
    buf_free(&pem);
    buf_free(&out);
    buf_free(&wanted);
}
END_TEST

START_TEST(no_block_at_all)
{
    static const char der[] = {0x30, (char)0x82, 0x01, (char)0xa9, 0x30, (char)0x82, 0, '\n', 0x02};
    struct buf pem = {0};

    expect(&pem, (const char *const[]){NULL}, 0);
    buf_add(&pem, der, sizeof der);
    expect(&pem, (const char *const[]){NULL}, 0);
    for (int i = 0; i < 100000; i++)
        buf_puts(&pem, i % 997 == 0 ? "\n" : "-----");
    expect(&pem, (const char *const[]){NULL}, 0);
    buf_free(&pem);
}
END_TEST

START_TEST(damaged_blocks)
{
    static const char encrypted[] =
        "-----BEGIN CERTIFICATE-----\nProc-Type: 4,ENCRYPTED\nDEK-Info: AES-128-CBC,00\n\nAAAA\n"
        "-----END CERTIFICATE-----\n";
    static const char *const texts[] = {
        "-----BEGIN CERTIFICATE-----\n-----END CERTIFICATE-----\n",
        "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n",
        "-----BEGIN CERTIFICATE-----\nMIIB*\n-----END CERTIFICATE-----\n",
        "-----BEGIN CERTIFICATE-----\nMIIB\n-----END X509 CRL-----\n",
        encrypted,
    };

    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        struct buf pem = {0};

        add_file(&pem, "authority-1");
        buf_puts(&pem, texts[i]);
        expect_malformed(&pem);
        buf_free(&pem);
    }
}
END_TEST

/* A file that is being written: at each length it is damaged, or has no block yet. */
START_TEST(every_prefix)
{
    struct buf whole = {0};
    int n_cases = 0;

    add_file(&whole, "authority-1");
    for (size_t len = 0; len + 1 < whole.len; len++) {
        struct buf pem = {0};

        buf_add(&pem, whole.data, len);
        if (len >= sizeof "-----BEGIN CERTIFICATE-----" - 1)
            expect_malformed(&pem);
        else
            expect(&pem, (const char *const[]){NULL}, len >= sizeof "-----BEGIN " - 1);
        buf_free(&pem);
        n_cases++;
    }
    printf("prefixes: %d cases\n", n_cases);
    ck_assert_int_gt(n_cases, 500);
    buf_free(&whole);
}
END_TEST

/* Whatever is read, only whole blocks of certificates come out. */
START_TEST(every_byte_changed)
{
    struct buf pem = {0};

    add_file(&pem, "key");
    add_file(&pem, "authority-2");
    for (size_t i = 0; i < pem.len; i++) {
        struct crypt_certificates found;
        struct buf out = {0};

        pem.data[i] ^= 1;
        if (crypt_certificates_take(pem.data, pem.len, &out, &found) == CRYPT_CERTIFICATES_READ &&
            found.n_taken > 0) {
            ck_assert(text_begins(buf_text(&out), "-----BEGIN CERTIFICATE-----\nMII"));
            ck_assert_ptr_null(strstr(out.data, "KEY"));
            ck_assert_ptr_null(strstr(out.data, "\n\n"));
        } else {
            ck_assert_uint_eq(out.len, 0);
        }
        pem.data[i] ^= 1;
        buf_free(&out);
    }
    buf_free(&pem);
}
END_TEST

Suite *crypt_certificate_suite(void)
{
    Suite *suite = suite_create("crypt/certificate");
    TCase *tcase = tcase_create("certificate");

    tcase_add_test(tcase, authorities_alone_are_taken);
    tcase_add_test(tcase, what_is_left_out_is_named);
    tcase_add_test(tcase, lines_may_end_in_cr_lf);
    tcase_add_test(tcase, a_repeated_one_is_taken_once);
    tcase_add_test(tcase, no_block_at_all);
    tcase_add_test(tcase, damaged_blocks);
    tcase_add_test(tcase, every_prefix);
    tcase_add_test(tcase, every_byte_changed);
    suite_add_tcase(suite, tcase);
    return suite;
}
