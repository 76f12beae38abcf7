/* SPDX-License-Identifier: MIT */
/* Tests of the bodies of SSH credentials, in and out. */
#include "model/ssh_credential.h"

#include <check.h>

#include "model/field_cases.h"
#include "suites.h"

#define PUBLIC_KEY                                                                                 \
    "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAID5SbIpVnFfJIc9McVvd+X81MKSG/SHWfskTzyZTpF9R"

static struct ssh_credential input;

static const void *read_create(const struct json_node *body, struct arena *arena, struct error *err)
{
    input = (struct ssh_credential){.id = {0}};
    return ssh_credential_read_create(body, arena, &input, err) ? &input : NULL;
}

static const void *read_update(const struct json_node *body, struct arena *arena, struct error *err)
{
    input = (struct ssh_credential){.id = {0}};
    return ssh_credential_read_update(body, text_of("sshcr_0"), arena, &input, err) ? &input : NULL;
}

static bool is_public_key(const struct field *field)
{
    return strcmp(field->name, "public_key") == 0;
}

static const char *key_beside(const struct field *field, bool is_given)
{
    (void)is_given;
    return is_public_key(field) ? "" : "\"public_key\":\"" PUBLIC_KEY "\",";
}

static enum error_code key_is_missing(const struct field *field)
{
    return is_public_key(field) ? ERR_PUBLIC_KEY_MISSING : ERR_NONE;
}

START_TEST(fields_of_create)
{
    const struct field_table table = {
        .name = "ssh_credential_create_fields",
        .fields = ssh_credential_create_fields,
        .n_fields = ssh_credential_n_create_fields,
        .open = "{",
        .close = "}",
        .path = "",
        .read = read_create,
        .companions = key_beside,
        .absent = key_is_missing,
    };

    field_table_check(&table);
}
END_TEST

START_TEST(fields_of_update)
{
    const struct field_table table = {
        .name = "ssh_credential_update_fields",
        .fields = ssh_credential_update_fields,
        .n_fields = ssh_credential_n_update_fields,
        .open = "{",
        .close = "}",
        .path = "",
        .read = read_update,
    };

    field_table_check(&table);
}
END_TEST

static void check_body(const struct test_case *test)
{
    const char *body = strchr(test->input, '{');
    bool creates = strncmp(test->input, "POST ", 5) == 0;

    ck_assert_msg(body && (creates || strncmp(test->input, "PATCH ", 6) == 0), "%s:%d", test->file,
                  test->line);
    body_case_check(test, body, creates ? read_create : read_update);
}

START_TEST(bodies_of_case_file)
{
    cases_run("ssh_credential.cases", check_body);
}
END_TEST

static bool read_text(read_body *read, const char *text, struct arena *arena, struct json_node *top,
                      struct error *err)
{
    ck_assert_msg(json_parse(text, strlen(text), top, err), "%s", text);
    return read(top, arena, err) != NULL;
}

/* The text is kept byte for byte; only parsing ignores the white space. */
START_TEST(key_is_kept_as_given)
{
    struct arena arena = {0};
    struct json_node top;
    struct error err;

    ck_assert(read_text(read_create, "{\"public_key\":\" " PUBLIC_KEY " me@host\\r\\n\"}", &arena,
                        &top, &err));
    ck_assert(text_eq(input.public_key, text_of(" " PUBLIC_KEY " me@host\r\n")));
    ck_assert(text_eq(input.key_type, text_of("ssh-ed25519")));
    ck_assert(text_begins(input.fingerprint, "SHA256:"));
    ck_assert(input.description.s && input.description.len == 0 && input.metadata.len == 0);
    ck_assert(!input.owner_id.s && input.acl.given && input.acl.n == 0 && input.enabled);
    json_free(&top);
    arena_free(&arena);
}
END_TEST

/* Absent and null members are absent; empty ones are not. */
START_TEST(change_tells_absent_from_empty)
{
    struct arena arena = {0};
    struct json_node top;
    struct error err;

    ck_assert(read_text(read_update, "{\"description\":\"\",\"acl\":[],\"metadata\":null}", &arena,
                        &top, &err));
    ck_assert(input.description.s && input.description.len == 0);
    ck_assert(input.acl.given && input.acl.n == 0);
    ck_assert_ptr_null(input.metadata.s);
    json_free(&top);
    ck_assert(read_text(read_update, "{}", &arena, &top, &err));
    ck_assert(!input.description.s && !input.metadata.s && !input.acl.given);
    json_free(&top);
    arena_free(&arena);
}
END_TEST

START_TEST(private_key_is_not_quoted)
{
    static const char *const bodies[] = {
        "{\"public_key\":\"-----BEGIN OPENSSH PRIVATE KEY-----\\nc2VjcmV0\\n"
        "-----END OPENSSH PRIVATE KEY-----\"}",
        "{\"public_key\":\"" PUBLIC_KEY " -----BEGIN RSA PRIVATE KEY----- c2VjcmV0\"}",
    };

    for (size_t i = 0; i < sizeof bodies / sizeof bodies[0]; i++) {
        struct arena arena = {0};
        struct json_node top;
        struct error err;

        ck_assert(!read_text(read_create, bodies[i], &arena, &top, &err));
        ck_assert_int_eq(err.code, ERR_PUBLIC_KEY_INVALID);
        ck_assert_ptr_null(strstr(err.msg, "c2VjcmV0"));
        ck_assert_ptr_null(strstr(err.cause, "c2VjcmV0"));
        ck_assert_msg(strstr(err.msg, "private key") != NULL, "%s", err.msg);
        json_free(&top);
        arena_free(&arena);
    }
}
END_TEST

START_TEST(message_of_a_change)
{
    struct arena arena = {0};
    struct json_node top;
    struct error err;

    ck_assert(!read_text(read_update, "{\"x\":1}", &arena, &top, &err));
    ck_assert_str_eq(err.msg,
                     "The member x is unknown. This object takes: id, description, metadata, "
                     "acl, enabled.");
    json_free(&top);
    arena_free(&arena);
}
END_TEST

START_TEST(written_whole)
{
    struct text rules[] = {{.s = "*", .len = 1}, {.s = "bind:a=\"", .len = 8}};
    const struct ssh_credential credential = {
        .id = text_of("sshcr_1"),
        .created_at = 1769904000,
        .description = text_of("d\n"),
        .metadata = text_of("{\"m\":\"\xC3\xA9/\"}"),
        .public_key = text_of(PUBLIC_KEY "\n"),
        .acl = {.items = rules, .n = 2, .given = true},
        .owner_id = text_of("usr_1"),
        .enabled = true,
    };
    struct buf out = {0};

    ssh_credential_write(&out, &credential, text_of("https://h/api"));
    ck_assert_str_eq(out.data,
                     "{\"id\":\"sshcr_1\",\"uri\":\"https://h/api/ssh_credentials/sshcr_1\","
                     "\"created_at\":\"2026-02-01T00:00:00Z\",\"description\":\"d\\n\","
                     "\"metadata\":\"{\\\"m\\\":\\\"\xC3\xA9/\\\"}\","
                     "\"public_key\":\"" PUBLIC_KEY "\\n\",\"acl\":[\"*\",\"bind:a=\\\"\"],"
                     "\"owner_id\":\"usr_1\",\"enabled\":true}");
    buf_free(&out);
}
END_TEST

START_TEST(written_with_nothing_set)
{
    const struct ssh_credential credential = {
        .id = text_of("sshcr_1"),
        .description = text_of(""),
        .metadata = text_of(""),
        .public_key = text_of("k"),
        .owner_id = text_of("bot_1"),
    };
    struct buf out = {0};

    ssh_credential_write(&out, &credential, text_of("http://h"));
    ck_assert_str_eq(out.data, "{\"id\":\"sshcr_1\",\"uri\":\"http://h/ssh_credentials/sshcr_1\","
                               "\"created_at\":\"1970-01-01T00:00:00Z\",\"description\":\"\","
                               "\"metadata\":\"\",\"public_key\":\"k\",\"acl\":[],"
                               "\"owner_id\":\"bot_1\",\"enabled\":false}");
    buf_free(&out);
}
END_TEST

START_TEST(uris)
{
    struct buf out = {0};

    ssh_credential_write_uri(&out, text_of("http://h/a"), text_of("x"));
    ck_assert_str_eq(out.data, "\"uri\":\"http://h/a/ssh_credentials/x\"");
    buf_free(&out);
}
END_TEST

Suite *ssh_credential_suite(void)
{
    Suite *suite = suite_create("model/ssh_credential");
    TCase *reading = tcase_create("reading");
    TCase *writing = tcase_create("writing");

    tcase_set_timeout(reading, 60);
    tcase_add_test(reading, fields_of_create);
    tcase_add_test(reading, fields_of_update);
    tcase_add_test(reading, bodies_of_case_file);
    tcase_add_test(reading, key_is_kept_as_given);
    tcase_add_test(reading, change_tells_absent_from_empty);
    tcase_add_test(reading, private_key_is_not_quoted);
    tcase_add_test(reading, message_of_a_change);
    tcase_add_test(writing, written_whole);
    tcase_add_test(writing, written_with_nothing_set);
    tcase_add_test(writing, uris);
    suite_add_tcase(suite, reading);
    suite_add_tcase(suite, writing);
    return suite;
}
