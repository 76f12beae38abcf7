/* SPDX-License-Identifier: MIT */
/* Tests of the gates: if a request fails two of them, the earlier one answers. */
#include <check.h>
#include <stdio.h>
#include <string.h>

#include "api/operations.h"
#include "nodes/nodes.h"
#include "suites.h"

static struct client client;
static void set_up(void)
{
    operations_open(&client);
}

static void tear_down(void)
{
    client_close(&client);
}

START_TEST(nothing_wrong)
{
    for (size_t i = 0; i < operations_n; i++) {
        const struct operation *operation = &operations[i];

        ck_assert_msg(client_ask(&client, operation->method, operation->path, operation->body) ==
                          operation->status,
                      "%s %s: %s", operation->method, operation->path, client_body(&client));
    }
}
END_TEST

/* ---- the gates ---- */

static void unknown_path(struct request *request)
{
    request->path = "/nothing";
}

static void other_method(struct request *request)
{
    request->method = "BREW";
}

static void large_body(struct request *request)
{
    request->body = text_of("");
    request->body_state = BODY_TOO_LARGE;
}

static void two_keys(struct request *request)
{
    request->authorization_repeated = true;
}

static void other_version(struct request *request)
{
    request->version = "1";
}

static void unknown_parameter(struct request *request)
{
    request->query = "x=1";
}

static void malformed_query(struct request *request)
{
    request->query = "%";
}

static void limit_out_of_range(struct request *request)
{
    request->query = "limit=0";
}

static void cut_body(struct request *request)
{
    request->body_state = BODY_CUT;
}

static void overlong_body(struct request *request)
{
    request->body_state = BODY_OVERLONG;
}

static void empty_body(struct request *request)
{
    request->body = text_of("");
}

static void no_content_type(struct request *request)
{
    request->content_type = "";
}

static void other_content_type(struct request *request)
{
    request->content_type = "text/plain";
}

static void no_json(struct request *request)
{
    request->body = text_of("{");
}

static void unknown_member(struct request *request)
{
    request->body = text_of("{\"nonsense\":1}");
}

static void wrong_type(struct request *request)
{
    request->body = text_of("{\"enabled\":\"\",\"description\":1}");
}

static void unexpected_body(struct request *request)
{
    request->body = text_of("{}");
}

static void read_only_key(struct request *request)
{
    request->authorization = "Bearer " CLIENT_READ_ONLY_KEY;
}

static void gateway_key(struct request *request)
{
    request->authorization = "Bearer " CLIENT_GATEWAY_KEY;
}

static void own_key(struct request *request)
{
    request->authorization = "Bearer " CLIENT_OWN_KEY;
}

/* The operation whose missing or malformed identifier the faults use. */
static const struct operation *current;

static void missing_identifier(struct request *request)
{
    request->path = current->missing_path;
}

static void malformed_identifier(struct request *request)
{
    request->path = current->malformed_path;
}

enum applies {
    ALWAYS,
    WITH_BODY,
    WITHOUT_BODY,
    TO_WRITES,
    TO_MODULES, /* writes of them */
    TO_OTHERS,
    TO_LISTS,
    TO_MISSING,
    TO_MALFORMED
};

/* Ordered by step.  Gates of one step exclude each other, or have no order. */
static const struct gate {
    int step;
    int error;
    int status;
    enum applies applies;
    void (*spoil)(struct request *request);
} gates[] = {
    {1, 9000, 404, ALWAYS, unknown_path},
    {2, 9001, 405, ALWAYS, other_method},
    {3, 9006, 413, ALWAYS, large_body},
    {4, 200, 401, ALWAYS, fault_no_key},
    {4, 201, 401, ALWAYS, fault_other_scheme},
    {4, 202, 401, ALWAYS, fault_malformed_key},
    {4, 202, 401, ALWAYS, two_keys},
    {4, 203, 401, ALWAYS, fault_unknown_key},
    {4, 203, 401, ALWAYS, fault_revoked_key},
    {5, 218, 400, ALWAYS, fault_no_version},
    {5, 217, 400, ALWAYS, other_version},
    {6, 231, 400, ALWAYS, unknown_parameter},
    {6, 9010, 400, ALWAYS, malformed_query},
    {7, 211, 400, WITHOUT_BODY, unexpected_body},
    {7, 211, 400, WITHOUT_BODY, cut_body},
    {7, 212, 400, WITH_BODY, cut_body},
    {7, 9008, 400, WITH_BODY, overlong_body},
    {8, 9007, 400, WITH_BODY, empty_body},
    {9, 216, 415, WITH_BODY, no_content_type},
    {9, 210, 415, WITH_BODY, other_content_type},
    {10, 213, 400, WITH_BODY, no_json},
    {10, 214, 400, WITH_BODY, unknown_member},
    {10, 0, 400, WITH_BODY, wrong_type},
    {10, 233, 400, TO_LISTS, limit_out_of_range},
    {11, 9005, 403, TO_WRITES, read_only_key},
    {11, 9080, 403, TO_MODULES, own_key},
    {11, 9071, 403, TO_OTHERS, gateway_key},
    {12, -1, 404, TO_MISSING, missing_identifier},
    {12, -1, 404, TO_MALFORMED, malformed_identifier},
};

#define N_GATES (sizeof gates / sizeof gates[0])

static bool gate_applies(const struct gate *gate, const struct operation *operation)
{
    switch (gate->applies) {
    case ALWAYS:
        return true;
    case WITH_BODY:
        return operation->body[0] != '\0';
    case WITHOUT_BODY:
        return operation->body[0] == '\0';
    case TO_WRITES:
        return operation->writes;
    case TO_MODULES:
        return operation->writes && strncmp(operation->path, "/edges/", 7) == 0;
    case TO_OTHERS:
        return strcmp(operation->path, "/ssh_decisions") != 0;
    case TO_LISTS:
        return strcmp(operation->method, "GET") == 0 &&
               (strcmp(operation->path, "/ssh_credentials") == 0 ||
                strcmp(operation->path, "/audit_events") == 0 ||
                strstr(operation->path, "_modules") != NULL);
    case TO_MISSING:
        return operation->missing != 0;
    case TO_MALFORMED:
        return operation->malformed != 0;
    }
    return false;
}

/* Returns the number of the error; 0 accepts any. */
static int wanted_error(const struct gate *gate, const struct operation *operation)
{
    if (gate->applies == TO_MISSING)
        return operation->missing;
    return gate->applies == TO_MALFORMED ? operation->malformed : gate->error;
}

static void expect_first(const struct operation *operation, const struct gate *first,
                         const struct gate *second)
{
    int error = wanted_error(first, operation);

    current = operation;
    client_prepare(&client, operation->method, operation->path, operation->body);
    /* If both change the same part of the request, the first fault must remain. */
    if (second)
        second->spoil(&client.request);
    first->spoil(&client.request);
    client_send(&client);
    ck_assert_msg(client.response.status == first->status &&
                      (error == 0 || client_error(&client) == error),
                  "%s %s: gates %d and %d: %d %s", operation->method, operation->path, first->error,
                  second ? second->error : 0, client.response.status, client_body(&client));
}

START_TEST(every_gate_alone)
{
    int64_t before = client_changes(&client);
    int n_cases = 0;

    for (size_t i = 0; i < operations_n; i++) {
        for (size_t j = 0; j < N_GATES; j++) {
            if (!gate_applies(&gates[j], &operations[i]))
                continue;
            expect_first(&operations[i], &gates[j], NULL);
            n_cases++;
        }
    }
    printf("gates: %d cases\n", n_cases);
    ck_assert_int_gt(n_cases, 0);
    ck_assert_int_eq(client_changes(&client), before);
}
END_TEST

START_TEST(every_two_gates)
{
    int64_t before = client_changes(&client);
    int n_cases = 0;

    for (size_t i = 0; i < operations_n; i++) {
        for (size_t j = 0; j < N_GATES; j++) {
            for (size_t k = j + 1; k < N_GATES; k++) {
                if (gates[j].step == gates[k].step || !gate_applies(&gates[j], &operations[i]) ||
                    !gate_applies(&gates[k], &operations[i]))
                    continue;
                expect_first(&operations[i], &gates[j], &gates[k]);
                n_cases++;
            }
        }
    }
    printf("pairs of gates: %d cases\n", n_cases);
    ck_assert_int_gt(n_cases, 1000);
    ck_assert_int_eq(client_changes(&client), before);
}
END_TEST

/* What a body says is read before permission to name its owner. */
START_TEST(input_before_permission_to_name_an_owner)
{
#define OTHERS_AND(members) "{\"owner_id\":\"" CLIENT_ADMIN_ID "\"," members "}"
    static const struct {
        const char *body;
        int error;
    } cases[] = {
        {OTHERS_AND("\"public_key\":\"" CLIENT_KEY "\""), 630},
        {OTHERS_AND("\"x\":1"), 214},
        {OTHERS_AND("\"acl\":1"), 215},
        {OTHERS_AND("\"acl\":[\"x\"]"), 600},
        {OTHERS_AND("\"public_key\":null"), 611},
        {OTHERS_AND("\"public_key\":\"x\""), 612},
    };
#undef OTHERS_AND

    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        client_ask_as(&client, CLIENT_MEMBER_KEY, "POST", "/ssh_credentials", cases[i].body);
        ck_assert_msg(client_error(&client) == cases[i].error, "%s: %s", cases[i].body,
                      client_body(&client));
    }
}
END_TEST

/* A caller without a valid key gets 401, whatever else is wrong. */
START_TEST(host_is_looked_at_with_a_key_only)
{
    client.settings.base_url = NULL;
    client_prepare(&client, "GET", "/ssh_credentials", "");
    client.request.host = "a b";
    ck_assert_int_eq(client_send(&client), 400);
    ck_assert_int_eq(client_error(&client), 9024);
    fault_unknown_key(&client.request);
    ck_assert_int_eq(client_send(&client), 401);
    fault_no_key(&client.request);
    ck_assert_int_eq(client_send(&client), 401);
}
END_TEST

/* ---- callers ---- */

#define DIGITS_40 "0000000000000000000000000000000000000000"
#define BARE_KEY "adit_00000000000000000000000000000000000000000002CZclj"
#define KEY_OF_ACCOUNT "adit_" DIGITS_40 "0000000000000000000000000000000T20xp"

static struct request_caller caller_of(const char *authorization)
{
    return api_caller(text_of(authorization), text_of("192.0.2.1"));
}

/* However a key is written, it is one key of one account. */
START_TEST(blanks_make_no_other_caller)
{
    static const char *const same[] = {
        "Bearer  " KEY_OF_ACCOUNT,     "Bearer\t" KEY_OF_ACCOUNT,
        "Bearer \t " KEY_OF_ACCOUNT,   " Bearer " KEY_OF_ACCOUNT,
        "\t bEARER " KEY_OF_ACCOUNT,   "Bearer " KEY_OF_ACCOUNT " ",
        "Bearer " KEY_OF_ACCOUNT "\t", "\tBearer\t\t" KEY_OF_ACCOUNT "\t "};
    struct request_caller caller = caller_of("Bearer " KEY_OF_ACCOUNT);
    struct request_caller bare = caller_of("Bearer " BARE_KEY);

    ck_assert_uint_ne(caller.account, 0);
    ck_assert_uint_ne(caller.key, caller.account);
    ck_assert_uint_eq(bare.key, bare.account);
    ck_assert_uint_ne(bare.key, caller.key);
    ck_assert_uint_eq(caller_of(" Bearer  " BARE_KEY "\t").key, bare.key);
    for (size_t i = 0; i < sizeof same / sizeof same[0]; i++) {
        ck_assert_msg(caller_of(same[i]).account == caller.account, "%s", same[i]);
        ck_assert_msg(caller_of(same[i]).key == caller.key, "%s", same[i]);
    }
}
END_TEST

START_TEST(no_key_is_one_caller)
{
    static const char longer[] = "Bearer " BARE_KEY "x";
    static const char *const none[] = {NULL,        "",           " ",      "Bearer", "Bearer x",
                                       "Bearer  y", "Basic eA==", BARE_KEY, longer};

    for (size_t i = 0; i < sizeof none / sizeof none[0]; i++) {
        ck_assert_uint_eq(caller_of(none[i]).account, 0);
        ck_assert_uint_eq(caller_of(none[i]).key, 0);
    }
}
END_TEST

/* A client with an IPv6 address has all of its /64.  Any other text is no address. */
START_TEST(callers_have_addresses)
{
    static const char *const none[] = {NULL, "", "unix:", "192.0.2"};
    struct text key = text_of("Bearer " BARE_KEY), no_key = text_of(NULL);
    uint32_t address = api_caller(key, text_of("192.0.2.1")).networks[0];

    ck_assert_uint_ne(address, 0);
    ck_assert_uint_eq(api_caller(no_key, text_of("192.0.2.1")).networks[0], address);
    ck_assert_uint_eq(api_caller(key, text_of("::ffff:192.0.2.1")).networks[0], address);
    ck_assert_uint_ne(api_caller(key, text_of("192.0.2.2")).networks[0], address);
    ck_assert_uint_eq(api_caller(key, text_of("2001:db8::1")).networks[0],
                      api_caller(key, text_of("2001:db8::2")).networks[0]);
    for (size_t i = 0; i < sizeof none / sizeof none[0]; i++)
        ck_assert_uint_eq(api_caller(key, text_of(none[i])).networks[0], 0);
    ck_assert_uint_eq(api_caller(key, text_of("192.0.2.1")).networks[1], 0);
}
END_TEST

/* It may have all of its /56, or of its /48. */
START_TEST(callers_have_networks)
{
    static const char *const others[] = {"2001:db8:0:1::1", "2001:db8:0:100::1", "2001:db8:1::1"};
    struct request_caller one = api_caller(text_of(NULL), text_of("2001:db8::1"));

    for (size_t i = 0; i < ADDRESS_N_WIDTHS; i++) {
        struct request_caller other = api_caller(text_of(NULL), text_of(others[i]));

        ck_assert_uint_ne(one.networks[i], 0);
        for (size_t j = 0; j < ADDRESS_N_WIDTHS; j++)
            ck_assert_int_eq(one.networks[j] == other.networks[j], j > i);
    }
}
END_TEST

/* Where each account has a place of its own, a key of the earlier form has to be asked for first.
 */
START_TEST(place_of_a_key_that_cannot_be_found)
{
    nodes_place(client.pg, true);
    client_fail(ERR_DATABASE_UNAVAILABLE);
    client_prepare(&client, "GET", "/ssh_credentials", "");
    client.request.authorization = "Bearer " CLIENT_UNKNOWN_KEY;
    ck_assert_int_eq(client_send(&client), 503);
    ck_assert_int_eq(client_error(&client), error_row(ERR_DATABASE_UNAVAILABLE)->number);
}
END_TEST

Suite *dispatch_suite(void)
{
    Suite *suite = suite_create("api/dispatch");
    TCase *tcase = tcase_create("gates");

    client_add(tcase, set_up, tear_down);
    tcase_add_test(tcase, nothing_wrong);
    tcase_add_test(tcase, every_gate_alone);
    tcase_add_test(tcase, every_two_gates);
    tcase_add_test(tcase, input_before_permission_to_name_an_owner);
    tcase_add_test(tcase, host_is_looked_at_with_a_key_only);
    tcase_add_test(tcase, blanks_make_no_other_caller);
    tcase_add_test(tcase, no_key_is_one_caller);
    tcase_add_test(tcase, callers_have_addresses);
    tcase_add_test(tcase, callers_have_networks);
    tcase_add_test(tcase, place_of_a_key_that_cannot_be_found);
    suite_add_tcase(suite, tcase);
    return suite;
}
