/* SPDX-License-Identifier: MIT */
/* Tests of decisions about SSH keys: their bodies, in and out, and their rules. */
#include "model/ssh_decision.h"

#include <check.h>
#include <stdio.h>

#include "model/field_cases.h"
#include "suites.h"

#define PUBLIC_KEY                                                                                 \
    "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAID5SbIpVnFfJIc9McVvd+X81MKSG/SHWfskTzyZTpF9R"
#define FINGERPRINT "SHA256:PQ5XwsUOwKSLkInJ7UPnhscFU1uqDuqBj/D4/V75bGo"

/* ---- questions ---- */

static struct ssh_decision_input input;

static const void *read_question(const struct json_node *body, struct arena *arena,
                                 struct error *err)
{
    input = (struct ssh_decision_input){.fingerprint = {0}};
    return ssh_decision_read(body, arena, &input, err) ? &input : NULL;
}

static bool is_named(const struct field *field, const char *name)
{
    return strcmp(field->name, name) == 0;
}

/* One of the two forms of the key. */
static const char *key_beside(const struct field *field, bool is_given)
{
    if (is_named(field, "fingerprint") || (is_named(field, "public_key") && is_given))
        return "";
    return "\"fingerprint\":\"" FINGERPRINT "\",";
}

static enum error_code key_is_missing(const struct field *field)
{
    return is_named(field, "fingerprint") ? ERR_DECISION_KEY_MISSING : ERR_NONE;
}

START_TEST(fields_of_question)
{
    const struct field_table table = {
        .name = "ssh_decision_fields",
        .fields = ssh_decision_fields,
        .n_fields = ssh_decision_n_fields,
        .open = "{",
        .close = "}",
        .path = "",
        .read = read_question,
        .companions = key_beside,
        .absent = key_is_missing,
    };

    field_table_check(&table);
}
END_TEST

static void check_body(const struct test_case *test)
{
    body_case_check(test, test->input, read_question);
}

START_TEST(bodies_of_case_file)
{
    cases_run("ssh_decision.cases", check_body);
}
END_TEST

/* Reads a body, and calls look() while its text is there. */
static void with_body(const char *text, void (*look)(bool ok, const struct error *err))
{
    struct arena arena = {0};
    struct error err = {.code = ERR_NONE};
    struct json_node top;

    ck_assert_msg(json_parse(text, strlen(text), &top, &err), "%s", text);
    look(read_question(&top, &arena, &err) != NULL, &err);
    json_free(&top);
    arena_free(&arena);
}

static void look_at_fingerprint(bool ok, const struct error *err)
{
    ck_assert_msg(ok, "%s", err->msg);
    ck_assert(text_eq(input.fingerprint, text_of(FINGERPRINT)));
    ck_assert(!input.target.s);
}

START_TEST(both_forms_have_one_fingerprint)
{
    with_body("{\"fingerprint\":\"" FINGERPRINT "\"}", look_at_fingerprint);
    with_body("{\"public_key\":\"" PUBLIC_KEY "\"}", look_at_fingerprint);
}
END_TEST

static void look_for_secret(bool ok, const struct error *err)
{
    ck_assert(!ok);
    ck_assert_msg(!strstr(err->msg, "c2VjcmV0") && !strstr(err->cause, "c2VjcmV0"), "%s", err->msg);
}

START_TEST(private_key_is_not_quoted)
{
    static const char *const bodies[] = {
        "{\"public_key\":\"-----BEGIN OPENSSH PRIVATE KEY-----\\nc2VjcmV0\\n"
        "-----END OPENSSH PRIVATE KEY-----\"}",
        "{\"fingerprint\":\"-----BEGIN OPENSSH PRIVATE KEY-----\\nc2VjcmV0\"}",
    };

    for (size_t i = 0; i < sizeof bodies / sizeof bodies[0]; i++)
        with_body(bodies[i], look_for_secret);
}
END_TEST

static void look_at_reason(bool ok, const struct error *err)
{
    ck_assert(!ok);
    ck_assert_str_eq(err->msg,
                     "target is 'a:0', which is not valid: the port must be a number from 1 to "
                     "65535, without sign, space or leading zero. A target is '<domain>', "
                     "'*.<domain>', '<host>:<port>' or '<key>=<value>'.");
}

static void look_at_rule(bool ok, const struct error *err)
{
    ck_assert(!ok);
    ck_assert_str_eq(err->msg,
                     "target is 'bind:a.example', which is not valid: leave 'bind:' out. A target "
                     "is '<domain>', '*.<domain>', '<host>:<port>' or '<key>=<value>'.");
}

START_TEST(message_has_the_forms_of_a_target)
{
    with_body("{\"fingerprint\":\"" FINGERPRINT "\",\"target\":\"a:0\"}", look_at_reason);
    with_body("{\"fingerprint\":\"" FINGERPRINT "\",\"target\":\"bind:a.example\"}", look_at_rule);
}
END_TEST

/* ---- decisions ---- */

static struct text rules_a[] = {{"bind:*.a.example", 16}, {"bind:k=*", 8}, {"bind:[::1]:80", 13}};
static struct text rules_b[] = {{"bind:k=*", 8}, {"bind:b.example", 14}};
static struct text rules_all[] = {{"bind:c.example", 14}, {"bind:*", 6}};

/* The first two have rules.  The third has none, and the fourth permits everything. */
static const struct ssh_grant grants[] = {
    {{"sshcr_1", 7}, {"usr_1", 5}, {rules_a, 3, true}},
    {{"sshcr_2", 7}, {"bot_2", 5}, {rules_b, 2, true}},
    {{"sshcr_3", 7}, {"usr_3", 5}, {NULL, 0, true}},
    {{"sshcr_4", 7}, {"usr_4", 5}, {rules_all, 2, true}},
};

#define UNITED "\"bind:*.a.example\",\"bind:k=*\",\"bind:[::1]:80\",\"bind:b.example\""
#define REF(digit, owner)                                                                          \
    "{\"id\":\"sshcr_" digit "\",\"uri\":\"https://x/ssh_credentials/sshcr_" digit                 \
    "\",\"owner_id\":\"" owner "\"}"

static const struct decision_case {
    size_t first, n; /* of the grants */
    const char *target;
    const char *wanted;
} cases[] = {
    {0, 0, NULL, "{\"permitted\":false,\"credentials\":[],\"acl\":[],\"rule\":null}"},
    {0, 0, "a.example", "{\"permitted\":false,\"credentials\":[],\"acl\":[],\"rule\":null}"},
    {1, 1, NULL,
     "{\"permitted\":true,\"credentials\":[" REF("2",
                                                 "bot_2") "],\"acl\":[\"bind:k=*\","
                                                          "\"bind:b.example\"],\"rule\":null}"},
    {0, 2, "x.y.A.example",
     "{\"permitted\":true,\"credentials\":[" REF("1", "usr_1") "," REF(
         "2", "bot_2") "],\"acl\":[" UNITED "],\"rule\":\"bind:*.a.example\"}"},
    {0, 2, "b.example",
     "{\"permitted\":true,\"credentials\":[" REF("1", "usr_1") "," REF(
         "2", "bot_2") "],\"acl\":[" UNITED "],\"rule\":\"bind:b.example\"}"},
    {0, 2, "[0:0::0:1]:80",
     "{\"permitted\":true,\"credentials\":[" REF("1", "usr_1") "," REF(
         "2", "bot_2") "],\"acl\":[" UNITED "],\"rule\":\"bind:[::1]:80\"}"},
    {0, 2, "a.example",
     "{\"permitted\":false,\"credentials\":[" REF("1", "usr_1") "," REF(
         "2", "bot_2") "],\"acl\":[" UNITED "],\"rule\":null}"},
    {2, 1, NULL,
     "{\"permitted\":true,\"credentials\":[" REF("3", "usr_3") "],\"acl\":[\"*\"],"
                                                               "\"rule\":null}"},
    {2, 1, "any=label",
     "{\"permitted\":true,\"credentials\":[" REF("3", "usr_3") "],\"acl\":[\"*\"],"
                                                               "\"rule\":\"*\"}"},
    {3, 1, "d.example",
     "{\"permitted\":true,\"credentials\":[" REF("4", "usr_4") "],\"acl\":[\"*\"],"
                                                               "\"rule\":\"*\"}"},
    {1, 2, "d.example:1",
     "{\"permitted\":true,\"credentials\":[" REF("2", "bot_2") "," REF(
         "3", "usr_3") "],\"acl\":[\"*\"],\"rule\":\"*\"}"},
};

START_TEST(decision_of_grants)
{
    const struct decision_case *test = &cases[_i];
    struct arena arena = {0};
    struct buf out = {0};
    struct ssh_decision decision;
    struct error err;

    ck_assert(ssh_decision_make(grants + test->first, test->n, text_of(test->target), &arena,
                                &decision, &err));
    ssh_decision_write(&out, &decision, text_of("https://x"));
    ck_assert_str_eq(buf_text(&out).s, test->wanted);
    buf_free(&out);
    arena_free(&arena);
}
END_TEST

/* Decides about one grant with n different rules of len bytes. */
static enum error_code decide_many(size_t n, size_t len)
{
    struct arena arena = {0};
    struct text *items = arena_array(&arena, n, sizeof *items);
    struct ssh_grant grant = {{"sshcr_1", 7}, {"usr_1", 5}, {items, n, true}};
    struct ssh_decision decision;
    struct error err = {.code = ERR_NONE};

    ck_assert_ptr_nonnull(items);
    for (size_t i = 0; i < n; i++) {
        char *rule = arena_alloc(&arena, len + 1);

        ck_assert_ptr_nonnull(rule);
        snprintf(rule, len + 1, "bind:k=%0*zu", (int)(len - 7), i);
        items[i] = text_of(rule);
    }
    ck_assert(ssh_decision_make(&grant, 1, (struct text){0}, &arena, &decision, &err) ==
              (err.code == ERR_NONE));
    arena_free(&arena);
    return err.code;
}

START_TEST(limits_of_what_is_united)
{
    ck_assert_int_eq(decide_many(4096, 12), ERR_NONE);
    ck_assert_int_eq(decide_many(4097, 12), ERR_GRANTS_TOO_MANY);
    ck_assert_int_eq(decide_many(800, 256), ERR_NONE);
    ck_assert_int_eq(decide_many(801, 256), ERR_GRANTS_TOO_MANY);
}
END_TEST

Suite *ssh_decision_suite(void)
{
    Suite *suite = suite_create("model/ssh_decision");
    TCase *questions = tcase_create("questions");
    TCase *decisions = tcase_create("decisions");

    tcase_add_test(questions, fields_of_question);
    tcase_add_test(questions, bodies_of_case_file);
    tcase_add_test(questions, both_forms_have_one_fingerprint);
    tcase_add_test(questions, private_key_is_not_quoted);
    tcase_add_test(questions, message_has_the_forms_of_a_target);
    tcase_add_loop_test(decisions, decision_of_grants, 0, sizeof cases / sizeof cases[0]);
    tcase_add_test(decisions, limits_of_what_is_united);
    suite_add_tcase(suite, questions);
    suite_add_tcase(suite, decisions);
    return suite;
}
