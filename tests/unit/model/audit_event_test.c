/* SPDX-License-Identifier: MIT */
/* Tests of audit events: identifiers, and JSON out. */
#include "model/audit_event.h"

#include <check.h>
#include <stdlib.h>
#include <string.h>

#include "json/check.h"
#include "providers.h"
#include "suites.h"

static struct buf out;

static const char *written(const struct audit_event *event)
{
    buf_clear(&out);
    audit_event_write(&out, event, &default_names, text_of("http://h"));
    ck_assert(!out.failed);
    return out.data;
}

static void free_out(void)
{
    buf_free(&out);
}

START_TEST(identifiers)
{
    static const struct {
        const char *id;
        int64_t number; /* -1: it is none */
    } cases[] = {
        {"ae_0000000000000000042", 42},
        {"ae_42", 42},
        {"ae_0", 0},
        {"ae_9223372036854775807", INT64_MAX},
        {"ae_9223372036854775808", -1},
        {"ae_00000000000000000042", -1},
        {"ae_", -1},
        {"ae_4 ", -1},
        {"ae_-4", -1},
        {"ae_+4", -1},
        {"ae_4x", -1},
        {"AE_4", -1},
        {"42", -1},
        {"", -1},
    };
    char id[AUDIT_EVENT_ID_SIZE];

    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        int64_t number = -1;

        ck_assert_msg(audit_event_read_id(text_of(cases[i].id), &number) == (cases[i].number >= 0),
                      "%s", cases[i].id);
        if (cases[i].number >= 0)
            ck_assert_int_eq(number, cases[i].number);
    }
    audit_event_write_id(id, 42);
    ck_assert_str_eq(id, "ae_0000000000000000042");
    audit_event_write_id(id, INT64_MAX);
    ck_assert_str_eq(id, "ae_9223372036854775807");
}
END_TEST

START_TEST(every_member)
{
    struct text changed[] = {text_of("acl"), text_of("fingerprint")};
    const struct audit_event event = {
        .number = 7,
        .at = 1,
        .event = text_of("ssh_credential_updated"),
        .resource = text_of("sshcr_1"),
        .principal_id = text_of("bot_1"),
        .api_key_id = text_of("ak_1"),
        .operation_id = text_of("op_1"),
        .client_address = text_of("2001:db8::1"),
        .database_user = text_of("adit"),
        .changed = {.items = changed, .n = 2, .given = true},
        .before = text_of("{\"id\": \"sshcr_1\", \"acl\": [], \"metadata\": \"m\\n\\\"\","
                          " \"owner_id\": \"bot_1\", \"revision\": 5, \"account_id\": \"ac_1\","
                          " \"created_at\": \"2026-01-01T05:45:00.9+05:45\","
                          " \"public_key\": \"k\", \"description\": \"\", \"enabled\": true}"),
    };

    ck_assert_str_eq(
        written(&event),
        "{\"id\":\"ae_0000000000000000007\",\"uri\":\"http://h/audit_events/"
        "ae_0000000000000000007\","
        "\"created_at\":\"1970-01-01T00:00:01Z\",\"event\":\"ssh_credential_updated\","
        "\"resource\":{\"id\":\"sshcr_1\",\"uri\":\"http://h/ssh_credentials/sshcr_1\"},"
        "\"principal\":{\"id\":\"bot_1\",\"uri\":\"http://h/bot_users/bot_1\"},"
        "\"api_key_id\":\"ak_1\",\"operation_id\":\"op_1\",\"client_address\":\"2001:db8::1\","
        "\"operator\":null,\"database_user\":\"adit\",\"changed\":[\"acl\"],"
        "\"before\":{\"id\":\"sshcr_1\",\"uri\":\"http://h/ssh_credentials/sshcr_1\","
        "\"created_at\":\"2026-01-01T00:00:00Z\",\"description\":\"\",\"metadata\":\"m\\n\\\"\","
        "\"public_key\":\"k\",\"acl\":[],\"owner_id\":\"bot_1\",\"enabled\":true},\"after\":null}");
}
END_TEST

/* Events of earlier versions lack columns, and kinds of later ones are unknown. */
START_TEST(events_of_other_versions)
{
    struct audit_event event = {.event = text_of("api_key_created"),
                                .resource = text_of("ak_1"),
                                .after = text_of("{\"id\": \"ak_1\"}")};

    ck_assert_ptr_nonnull(strstr(written(&event),
                                 "\"after\":{\"id\":\"ak_1\",\"created_at\":null,"
                                 "\"principal_id\":null,\"description\":null,\"read_only\":null,"
                                 "\"scope\":null,\"expires_at\":null,\"revoked_at\":null}}"));
    event.event = text_of("gateway_created");
    ck_assert_ptr_nonnull(strstr(written(&event), "\"resource\":null,"));
    ck_assert_ptr_nonnull(strstr(written(&event), "\"before\":null,\"after\":null}"));
}
END_TEST

/* A secret that is in the row, where none should be, does not get out. */
START_TEST(secrets_stay_in)
{
    const struct audit_event event = {
        .event = text_of("oauth_module_created"),
        .resource = text_of("e/r"),
        .after = text_of("{\"provider\": 1, \"enabled\": true, \"client_id\": \"c\", \"teams\": [],"
                         " \"client_secret\": \"hidden\", \"client_secret_sealed\": \"hidden\","
                         " \"client_secret_key_id\": \"hidden\", \"cookie_prefix\": null}")};
    const char *json = written(&event);

    ck_assert_ptr_null(strstr(json, "hidden"));
    ck_assert_ptr_nonnull(strstr(json, "{\"client_id\":\"c\",\"client_secret\":null,"));
    ck_assert_ptr_nonnull(strstr(json, "\"cookie_prefix\":\"service.\""));
    ck_assert_ptr_nonnull(strstr(json, "\"uri\":\"http://h/edges/https/e/routes/r/oauth\""));
}
END_TEST

/* What is no row becomes null: the page stays valid JSON. */
START_TEST(rows_that_are_damaged)
{
    static const char *const rows[] = {"",       "[]",        "null",      "{",
                                       "{\"a\"", "{\"a\": }", "{\"a\": 1", "{\"a\": 1}x"};

    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        const struct audit_event event = {.event = text_of("account_updated"),
                                          .resource = text_of("ac_1"),
                                          .after = text_of(rows[i])};

        ck_assert_msg(strstr(written(&event), "\"after\":null}") != NULL, "%s", rows[i]);
    }
}
END_TEST

/* A role that may write events chooses what the caller is called, and what has changed.  It adds no
 * member to an event, and no event to a page. */
START_TEST(texts_that_would_forge)
{
    static const char forged[] = "x\",\"id\":null},\"operator\":\"alice\",\"database_user\":"
                                 "\"postgres\",\"y\":{\"z\":\"\n\\";
    static const char *const events[] = {"ssh_credential_updated", "user_updated",
                                         "oauth_module_updated", "mutual_tls_module_updated",
                                         "account_updated"};

    for (size_t i = 0; i < sizeof events / sizeof events[0]; i++) {
        struct text changed = text_of(forged);
        const struct audit_event event = {
            .event = text_of(events[i]),
            .resource = text_of(forged),
            .principal_id = text_of(forged),
            .api_key_id = text_of(forged),
            .operation_id = text_of(forged),
            .client_address = text_of(forged),
            .database_user = text_of("r_resp"),
            .changed = {.items = &changed, .n = 1, .given = true},
        };
        struct error err = {.code = ERR_NONE};
        const char *json = written(&event);

        ck_assert_msg(json_check(json, strlen(json), &err), "%s", json);
        ck_assert_ptr_nonnull(strstr(json, "\"operator\":null,\"database_user\":\"r_resp\""));
        ck_assert_ptr_null(strstr(json, "\"operator\":\"alice\""));
    }
}
END_TEST

/* The base URL of an answer that is given again comes from a row. */
START_TEST(a_base_url_that_would_forge)
{
    const struct audit_event event = {.event = text_of("account_updated"),
                                      .resource = text_of("ac_1")};

    audit_event_write(&out, &event, &default_names, text_of("http://h:80/a?b=%20~\"\\\n"));
    ck_assert(!out.failed);
    ck_assert_ptr_nonnull(
        strstr(out.data, "\"uri\":\"http://h:80/a?b=%20~%22%5C%0A/audit_events/ae_0"));
}
END_TEST

Suite *audit_event_suite(void)
{
    Suite *suite = suite_create("model/audit_event");
    TCase *tcase = tcase_create("audit_event");

    tcase_add_checked_fixture(tcase, NULL, free_out);
    tcase_add_test(tcase, identifiers);
    tcase_add_test(tcase, every_member);
    tcase_add_test(tcase, events_of_other_versions);
    tcase_add_test(tcase, secrets_stay_in);
    tcase_add_test(tcase, rows_that_are_damaged);
    tcase_add_test(tcase, texts_that_would_forge);
    tcase_add_test(tcase, a_base_url_that_would_forge);
    suite_add_tcase(suite, tcase);
    return suite;
}
