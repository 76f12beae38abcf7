/* SPDX-License-Identifier: MIT */
/* Tests of decisions about SSH keys: their bodies, in and out, and their rules. */
#include "model/ssh_decision.h"

#include <check.h>
#include <stdio.h>
#include <string.h>

#include "model/field_cases.h"
#include "model/ssh_share.h"
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
static struct ssh_grant grants[] = {
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
    struct ssh_left_out left_out = {.n = 0};
    struct arena arena = {0};
    struct buf out = {0};
    struct ssh_decision decision;
    struct error err;

    ck_assert(ssh_decision_make(grants + test->first, test->n, &left_out, text_of(test->target),
                                &arena, &decision, &err));
    ck_assert_uint_eq(left_out.n, 0);
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
    struct ssh_left_out left_out = {.n = 0};
    struct ssh_decision decision;
    struct error err = {.code = ERR_NONE};

    ck_assert_ptr_nonnull(items);
    for (size_t i = 0; i < n; i++) {
        char *rule = arena_alloc(&arena, len + 1);

        ck_assert_ptr_nonnull(rule);
        snprintf(rule, len + 1, "bind:k=%0*zu", (int)(len - 7), i);
        items[i] = text_of(rule);
    }
    ck_assert(ssh_decision_make(&grant, 1, &left_out, (struct text){0}, &arena, &decision, &err) ==
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

/* ---- several owners ---- */

/* What one owner has: n credentials, each with the same rules, of len bytes. */
struct owner_part {
    const char *owner_id;
    size_t n;
    size_t n_rules;
    size_t len;
};

#define PARTS_MAX 6

static struct ssh_grant *list_parts(struct arena *arena, const struct owner_part *parts, size_t *n)
{
    struct ssh_grant *list = arena_array(arena, 1000, sizeof *list);

    ck_assert_ptr_nonnull(list);
    *n = 0;
    for (size_t i = 0; i < PARTS_MAX && parts[i].owner_id; i++) {
        const struct owner_part *part = &parts[i];
        struct text *rules = arena_array(arena, part->n_rules, sizeof *rules);

        ck_assert_ptr_nonnull(rules);
        for (size_t j = 0; j < part->n_rules; j++) {
            char *rule = arena_alloc(arena, part->len + 1);

            ck_assert_ptr_nonnull(rule);
            snprintf(rule, part->len + 1, "bind:k%zu=%0*zu", i, (int)(part->len - 8), j);
            rules[j] = text_of(rule);
        }
        for (size_t j = 0; j < part->n; j++)
            list[(*n)++] = (struct ssh_grant){
                text_of("sshcr"), text_of(part->owner_id), {rules, part->n_rules, true}};
    }
    return list;
}

static const struct {
    struct owner_part parts[PARTS_MAX];
    const char *left_out; /* the owners, in that order; NULL: all is too much */
} shared_keys[] = {
    {{{"a", 5, 819, 12}, {"b", 1, 1, 12}}, ""},
    {{{"a", 1, 4096, 12}, {"b", 1, 1, 12}}, "a"},
    {{{"b", 1, 1, 12}, {"a", 1, 900, 256}}, "a"},
    /* Rules count once, however many credentials have them. */
    {{{"b", 500, 30, 12}, {"a", 5, 4090, 12}}, "a"},
    /* Who has too many alone goes first, whichever limit that is. */
    {{{"a", 1, 850, 256}, {"b", 1, 4000, 12}}, "a"},
    {{{"a", 1, 4000, 12}, {"b", 1, 4001, 12}, {"c", 1, 97, 12}}, "ba"},
    {{{"a", 1, 5000, 12},
      {"b", 1, 4900, 12},
      {"c", 1, 4800, 12},
      {"d", 1, 4700, 12},
      {"e", 1, 4, 12}},
     "abcd"},
    {{{"a", 1, 5000, 12},
      {"b", 1, 4900, 12},
      {"c", 1, 4800, 12},
      {"d", 1, 4700, 12},
      {"e", 1, 4600, 12},
      {"f", 1, 1, 12}},
     NULL},
    {{{"a", 3, 4097, 12}}, NULL},
    /* Who came first and fits alone stays, whoever comes later, with however little less. */
    {{{"a", 1, 4000, 12}, {"b", 1, 3999, 12}}, "b"},
    {{{"a", 1, 3072, 12}, {"b", 1, 1025, 12}}, "b"},
    {{{"a", 1, 3072, 12}, {"b", 1, 512, 12}, {"c", 1, 513, 12}}, "c"},
    {{{"a", 1, 1500, 12}, {"b", 1, 1500, 12}, {"c", 1, 1500, 12}}, "c"},
    {{{"a", 1, 600, 256}, {"b", 1, 500, 256}, {"a", 1, 1, 256}}, "b"},
    {{{"a", 1, 3000, 12},
      {"b", 1, 3000, 12},
      {"c", 1, 3000, 12},
      {"d", 1, 3000, 12},
      {"e", 1, 3000, 12}},
     "edcb"},
    /* Who comes with little stays, whoever was there before. */
    {{{"a", 1, 4096, 12}, {"b", 1, 1024, 12}}, "a"},
    {{{"a", 1, 4096, 12}, {"b", 1, 4096, 12}, {"c", 1, 512, 12}}, "ba"},
    {{{"a", 1, 600, 256}, {"b", 1, 600, 256}, {"c", 1, 100, 256}}, "b"},
};

START_TEST(owners_of_a_key)
{
    const char *wanted = shared_keys[_i].left_out;
    struct ssh_left_out left_out = {.n = 0};
    struct arena arena = {0};
    struct ssh_decision decision;
    struct error err;
    size_t n;
    struct ssh_grant *list = list_parts(&arena, shared_keys[_i].parts, &n);
    bool ok = ssh_decision_make(list, n, &left_out, (struct text){0}, &arena, &decision, &err);

    ck_assert_int_eq(ok, wanted != NULL);
    ck_assert(ok || err.code == ERR_GRANTS_TOO_MANY);
    for (size_t i = 0; ok && i < left_out.n; i++) {
        ck_assert_int_eq(left_out.owner_ids[i].s[0], wanted[i]);
        for (size_t j = 0; j < decision.n_grants; j++)
            ck_assert(!text_eq(decision.grants[j].owner_id, left_out.owner_ids[i]));
    }
    ck_assert(!ok || (left_out.n == strlen(wanted) && decision.permitted));
    arena_free(&arena);
}
END_TEST

/* The one beyond a limit counts for its owner, and takes the limit that is reached. */
static const struct {
    struct owner_part parts[PARTS_MAX];
    struct owner_part beyond;
    const char *left_out;
    const char *most;    /* the owner who has most */
    uint64_t most_rules; /* 0: as many as ever */
} cut_keys[] = {
    {{{"b", 1, 400, 256}, {"a", 16, 999, 12}}, {"a", 1, 999, 12}, "a", "a", 0},
    {{{"b", 1, 3000, 12}, {"a", 10, 400, 256}}, {"b", 1, 1, 12}, "a", "a", 0},
    {{{"a", 900, 1, 12}, {"b", 100, 30, 12}}, {"b", 1, 30, 12}, "a", "a", 0},
    {{{"b", 1, 200, 256}}, {"a", 1, 5000, 256}, "a", "a", 0},
    {{{"a", 0, 1, 12}}, {"a", 1, 20000, 12}, "a", "a", 0},
    {{{"a", 1, 9000, 12}}, {"b", 1, 8999, 12}, "b", "a", 0},
    {{{"a", 1, 9000, 12}, {"b", 1, 7000, 12}}, {"a", 1, 1000, 12}, "b", "a", 0},
    {{{"a", 1, 16000, 12}, {"b", 2, 100, 12}}, {"b", 1, 1000, 12}, "a", "a", 0},
    {{{"a", 1, 16384, 12}}, {"b", 1, 4096, 12}, "a", "a", 0},
    {{{"a", 740, 1, 12}, {"b", 260, 1, 12}}, {"a", 1, 1, 12}, "b", "a", 0},
    {{{"a", 760, 1, 12}, {"b", 240, 1, 12}}, {"a", 1, 1, 12}, "a", "a", 0},
    {{{"a", 1, 900, 12}}, {"b", 1, 300, 12}, "b", "a", 1000},
};

START_TEST(owners_of_a_key_that_is_not_read_to_the_end)
{
    const struct owner_part *last = &cut_keys[_i].beyond;
    struct ssh_beyond beyond = {text_of(last->owner_id), last->n_rules, last->n_rules * last->len,
                                cut_keys[_i].most_rules};
    struct ssh_left_out left_out = {.n = 0};
    struct arena arena = {0};
    struct text most;
    size_t n;
    struct ssh_grant *list = list_parts(&arena, cut_keys[_i].parts, &n);

    for (size_t i = 0; i < n; i++) {
        beyond.n_rules += list[i].acl.n;
        beyond.n_bytes += list[i].acl.n * list[i].acl.items[0].len;
    }
    ck_assert(ssh_share_most(list, n, &beyond, &arena, &most));
    ck_assert(text_eq(most, text_of(cut_keys[_i].most)));
    for (size_t i = 0; i < SSH_LEFT_OUT_MAX; i++) {
        ck_assert_int_eq(ssh_share_read(list, n, &beyond, &arena, &left_out), SSH_SHARE_LEFT_OUT);
        ck_assert(text_eq(left_out.owner_ids[i], text_of(cut_keys[_i].left_out)));
    }
    ck_assert_int_eq(ssh_share_read(list, n, &beyond, &arena, &left_out), SSH_SHARE_NOBODY);
    ck_assert_uint_eq(left_out.n, SSH_LEFT_OUT_MAX);
    arena_free(&arena);
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
    tcase_add_loop_test(decisions, owners_of_a_key, 0, sizeof shared_keys / sizeof shared_keys[0]);
    tcase_add_loop_test(decisions, owners_of_a_key_that_is_not_read_to_the_end, 0,
                        sizeof cut_keys / sizeof cut_keys[0]);
    suite_add_tcase(suite, questions);
    suite_add_tcase(suite, decisions);
    return suite;
}
