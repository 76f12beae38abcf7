/* SPDX-License-Identifier: MIT */
/* Tests of reading, writing and comparing documents. */
#include "model/document.h"

#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cases.h"
#include "json/write.h"
#include "providers.h"
#include "suites.h"

#define KEY "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIHwYM2ismwmcyQlR7ZdXz+m1x6pOQUEZ/r0pgqV/GGPj"
#define DIGITS "aaaaaaaaaaaaaaaaaaaaaaaaaaa"

/* What a reader was told. */
struct heard {
    size_t n_entries;
    size_t n_faults;
    struct document_entry place; /* of the last fault */
    bool has_place;
    struct error err; /* the last fault */
    struct buf again; /* the entries, written anew */
    size_t stops_at;  /* stop at this entry; 0: never */
};

static void write_again(struct buf *out, const struct document_entry *entry)
{
    switch (entry->kind) {
    case DOCUMENT_ACCOUNT:
        document_write_account(out, &entry->of.account_entry);
        break;
    case DOCUMENT_PRINCIPAL:
        document_write_principal(out, &entry->of.principal);
        break;
    case DOCUMENT_CREDENTIAL:
        document_write_credential(out, &entry->of.credential);
        break;
    default:
        document_write_module(out, document_module_kind(entry->kind), &entry->of.module,
                              &default_names);
        break;
    case DOCUMENT_N_KINDS:
        ck_abort();
    }
    buf_puts(out, "\n");
}

static bool hear_entry(void *context, const struct document_entry *entry, struct error *err)
{
    struct heard *heard = context;
    struct buf written = {0};

    for (struct field_fault *fault = entry->faults; fault; fault = fault->next) {
        heard->n_faults++;
        error_say(&heard->err, fault->code, "%s", fault->msg);
    }
    write_again(&written, entry);
    buf_puts(&heard->again, written.data);
    buf_free(&written);
    if (++heard->n_entries == heard->stops_at)
        return error_set(err, ERR_INTERNAL);
    return true;
}

static void hear_fault(void *context, const struct document_entry *entry, const struct error *err)
{
    struct heard *heard = context;

    heard->n_faults++;
    heard->has_place = entry != NULL;
    if (entry)
        heard->place = *entry;
    heard->err = *err;
}

static bool read_text(struct heard *heard, const char *text)
{
    const struct document_reader reader = {
        .names = &default_names, .context = heard, .entry = hear_entry, .fault = hear_fault};
    struct error err;

    return document_read(text_of(text), &reader, &err);
}

/* ---- cases ---- */

/* Puts an entry into a document. */
static void wrap(struct buf *out, const char *input)
{
    const char *entry = strchr(input, ' ');
    const char *list = entry ? input : "";

    ck_assert_msg(entry != NULL, "%s", input);
    if (strncmp(list, "document ", 9) == 0)
        buf_puts(out, entry + 1);
    else if (strncmp(list, "accounts ", 9) == 0)
        buf_printf(out, "{\"version\": 1, \"accounts\": [%s]}", entry + 1);
    else
        buf_printf(out, "{\"version\": 1, \"accounts\": [{\"%.*s\": [%s]}]}", (int)(entry - list),
                   list, entry + 1);
}

static void expect_verdict(const struct test_case *test)
{
    const char *part = strchr(test->expected, ' ');
    struct heard heard = {.n_entries = 0};
    struct buf document = {0};
    const char *said;

    wrap(&document, test->input);
    ck_assert(read_text(&heard, document.data));
    said = heard.err.msg[0] ? heard.err.msg : error_row(heard.err.code)->text;
    if (!part) {
        ck_assert_str_eq(test->expected, "ok");
        ck_assert_msg(heard.n_faults == 0, "%s:%d: %s", test->file, test->line, said);
    } else {
        ck_assert_msg(heard.n_faults == 1, "%s:%d: %zu faults", test->file, test->line,
                      heard.n_faults);
        ck_assert_msg(strstr(said, part + 1) != NULL, "%s:%d: said: %s", test->file, test->line,
                      said);
    }
    buf_free(&document);
    buf_free(&heard.again);
}

START_TEST(documents_of_case_file)
{
    cases_run("document.cases", expect_verdict);
}
END_TEST

/* ---- reading ---- */

#define ALL_ENTRIES                                                                                \
    "{\"id\":\"ac_" DIGITS "\",\"name\":\"n\"}\n"                                                  \
    "{\"id\":\"usr_" DIGITS "\",\"name\":\"\",\"is_admin\":true}\n"                                \
    "{\"id\":\"bot_" DIGITS "\",\"name\":\"b\",\"is_admin\":false,\"is_disabled\":true}\n"         \
    "{\"id\":\"sshcr_" DIGITS                                                                      \
    "\",\"created_at\":\"2026-02-28T00:00:00Z\",\"standing\":\"own\",\"description\":\"d\\\"\","   \
    "\"metadata\":\"\",\"public_key\":\"" KEY "\\n\",\"acl\":[\"*\"],\"owner_id\":\"u\","          \
    "\"enabled\":false}\n"                                                                         \
    "{\"edge_id\":\"e\",\"id\":\"r\",\"enabled\":true,\"provider\":{\"provider_b\":{"              \
    "\"client_id\":\"c\",\"client_secret\":{\"digest\":\"k:00112233445566778899aabbccddeeff\"},"   \
    "\"scopes\":[],\"email_addresses\":[],\"email_domains\":[\"a.example\"]}},"                    \
    "\"options_passthrough\":false,\"cookie_prefix\":null,\"inactivity_timeout\":1,"               \
    "\"maximum_duration\":2,\"auth_check_interval\":3}\n"                                          \
    "{\"id\":\"e\",\"enabled\":false,\"certificate_authority_ids\":[\"a\"]}\n"

/* Joins the lines of ALL_ENTRIES to a document. */
static void join_entries(struct buf *out)
{
    static const char *const before[] = {
        NULL,
        ",\"principals\":[",
        ",",
        "],\"ssh_credentials\":[",
        "],\"oauth_modules\":[",
        "],\"mutual_tls_modules\":[",
    };
    const char *at = ALL_ENTRIES;

    buf_puts(out, "{\"version\":1,\"accounts\":[");
    for (size_t i = 0; i < sizeof before / sizeof before[0]; i++) {
        const char *end = strchr(at, '\n');

        ck_assert_ptr_nonnull(end);
        if (before[i])
            buf_puts(out, before[i]);
        /* The account's own members stay open. */
        buf_add(out, at, (size_t)(end - at) - !before[i]);
        at = end + 1;
    }
    buf_puts(out, "]}]}");
}

/* What was read is written as it was. */
START_TEST(read_and_written)
{
    struct heard heard = {.n_entries = 0};
    struct buf document = {0};

    join_entries(&document);
    ck_assert(read_text(&heard, document.data));
    ck_assert_msg(heard.n_faults == 0, "%s", heard.err.msg);
    ck_assert_str_eq(heard.again.data, ALL_ENTRIES);
    buf_free(&heard.again);
    buf_free(&document);
}
END_TEST

/* Every cut text has faults, and no cut text crashes. */
START_TEST(cut_anywhere)
{
    struct buf document = {0};

    join_entries(&document);
    for (size_t len = 0; len < document.len; len++) {
        struct heard heard = {.n_entries = 0};
        char *cut = strndup(document.data, len);

        ck_assert(read_text(&heard, cut));
        ck_assert_uint_ge(heard.n_faults, 1);
        buf_free(&heard.again);
        free(cut);
    }
    buf_free(&document);
}
END_TEST

/* A fault names its entry and its byte, and the others are read. */
START_TEST(places_of_faults)
{
    static const char text[] =
        "{\"version\":1,\"accounts\":[{},{\"ssh_credentials\":["
        "{\"public_key\":\"" KEY "\"},{\"public_key\": x},{\"public_key\":\"" KEY "\"}]}]}";
    struct heard heard = {.n_entries = 0};

    ck_assert(read_text(&heard, text));
    ck_assert_uint_eq(heard.n_faults, 1);
    ck_assert_uint_eq(heard.n_entries, 4);
    ck_assert(heard.has_place && heard.err.has_offset);
    ck_assert_int_eq(heard.place.kind, DOCUMENT_CREDENTIAL);
    ck_assert_uint_eq(heard.place.account, 1);
    ck_assert_uint_eq(heard.place.index, 1);
    ck_assert_uint_eq(heard.err.offset, (size_t)(strstr(text, " x}") + 1 - text));
    ck_assert_int_eq(text[heard.place.offset], '{');
    buf_free(&heard.again);
}
END_TEST

START_TEST(stopped)
{
    struct heard heard = {.stops_at = 2};

    ck_assert(!read_text(&heard, "{\"version\":1,\"accounts\":[{},{},{}]}"));
    ck_assert_uint_eq(heard.n_entries, 2);
    ck_assert_uint_eq(heard.n_faults, 0);
    buf_free(&heard.again);
}
END_TEST

/* ---- comparing ---- */

static void expect_changes(const struct document_entry *a, const struct document_entry *b,
                           const char *wanted)
{
    struct document_changes changes;
    struct buf shown = {0};

    document_compare(a, b, &default_names, &changes);
    json_open(&shown, '{');
    for (size_t i = 0; i < changes.n; i++) {
        const struct document_member *member = &changes.members[i];

        json_put_name(&shown, member->name);
        json_open(&shown, '[');
        field_write_value(&shown, member->kind, member->before);
        field_write_value(&shown, member->kind, member->after);
        json_close(&shown, ']');
    }
    json_close(&shown, '}');
    ck_assert_str_eq(buf_text(&shown).s, wanted);
    buf_free(&shown);
}

START_TEST(compared)
{
    struct text one = text_of("a");
    struct document_entry was = {.kind = DOCUMENT_ACCOUNT};
    struct document_entry is = {.kind = DOCUMENT_ACCOUNT};

    was.of.account_entry.name = text_of("n");
    expect_changes(&was, &is, "{}");
    is.of.account_entry.name = text_of("");
    expect_changes(&was, &is, "{\"name\":[\"n\",\"\"]}");
    was = is = (struct document_entry){.kind = DOCUMENT_PRINCIPAL};
    was.of.principal.is_disabled = true;
    expect_changes(&was, &is, "{}");
    is.of.principal.has_disabled = true;
    is.of.principal.is_admin = true;
    expect_changes(&was, &is, "{\"is_admin\":[false,true],\"is_disabled\":[true,false]}");
    was = is = (struct document_entry){.kind = DOCUMENT_OAUTH_MODULE};
    is.of.module.value.oauth_module.provider = 2;
    is.of.module.value.oauth_module.config.scopes =
        (struct text_list){.items = &one, .n = 1, .given = true};
    is.of.module.value.oauth_module.maximum_duration = 7;
    expect_changes(&was, &is,
                   "{\"maximum_duration\":[0,7],\"provider\":[null,\"provider_b\"],"
                   "\"scopes\":[[],[\"a\"]]}");
    was = is = (struct document_entry){.kind = DOCUMENT_MUTUAL_TLS_MODULE};
    is.of.module.value.mutual_tls_module.enabled = true;
    expect_changes(&was, &is, "{\"enabled\":[false,true]}");
}
END_TEST

Suite *document_suite(void)
{
    Suite *suite = suite_create("model/document");
    TCase *tcase = tcase_create("document");

    tcase_add_test(tcase, documents_of_case_file);
    tcase_add_test(tcase, read_and_written);
    tcase_add_test(tcase, cut_anywhere);
    tcase_add_test(tcase, places_of_faults);
    tcase_add_test(tcase, stopped);
    tcase_add_test(tcase, compared);
    suite_add_tcase(suite, tcase);
    return suite;
}
