/* SPDX-License-Identifier: MIT */
/* Tests of each operation from its request to its answer. */
#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api/client.h"
#include "api/page.h"
#include "base/ident.h"
#include "providers.h"
#include "suites.h"

static struct client client;

static void set_up(void)
{
    client_open(&client);
}

static void tear_down(void)
{
    client_close(&client);
}

static int ask(const char *method, const char *path, const char *body)
{
    return client_ask(&client, method, path, body);
}

static int ask_query(const char *query)
{
    client_prepare(&client, "GET", "/ssh_credentials", "");
    client.request.query = query;
    return client_send(&client);
}

static void expect_body(const char *wanted)
{
    ck_assert_str_eq(client_body(&client), wanted);
}

static void expect_fault(int number, const char *field)
{
    char wanted[128];

    ck_assert_msg(client_error(&client) == number, "%s", client_body(&client));
    snprintf(wanted, sizeof wanted, "\"field\":\"%s\"", field);
    ck_assert_msg((strstr(client_body(&client), wanted) != NULL) == (field[0] != '\0'), "%s",
                  client_body(&client));
}

/* ---- SSH credentials ---- */

static char id[64];
static char path[96];

static void create(const char *body)
{
    ck_assert_msg(ask("POST", "/ssh_credentials", body) == 201, "%s", client_body(&client));
    client_member(&client, "id", id, sizeof id);
    snprintf(path, sizeof path, "/ssh_credentials/%s", id);
}

/* Expects a credential with these members.  The tests of src/model check the form of all members.
 */
static void expect_credential(const char *description, const char *metadata, const char *acl,
                              const char *owner_id)
{
    char uri[128];
    const struct {
        const char *name;
        const char *value;
    } texts[] = {
        {"id", id},
        {"uri", uri},
        {"description", description},
        {"metadata", metadata},
        {"public_key", CLIENT_KEY},
        {"owner_id", owner_id},
    };
    char wanted[256];

    snprintf(uri, sizeof uri, "https://adit.example/api/ssh_credentials/%s", id);
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        snprintf(wanted, sizeof wanted, "\"%s\":\"%s\"", texts[i].name, texts[i].value);
        ck_assert_msg(strstr(client_body(&client), wanted) != NULL, "%s is not in %s", wanted,
                      client_body(&client));
    }
    snprintf(wanted, sizeof wanted, "\"acl\":%s", acl);
    ck_assert_msg(strstr(client_body(&client), wanted) != NULL, "%s", client_body(&client));
}

START_TEST(credential_from_birth_to_death)
{
    create("{\"public_key\":\"" CLIENT_KEY "\",\"description\":\"d\",\"metadata\":\"m\","
           "\"acl\":[\"bind:a\",\"bind:a\"]}");
    expect_credential("d", "m", "[\"bind:a\",\"bind:a\"]", CLIENT_ADMIN_ID);
    ck_assert(ident_valid(text_of(id)) && strncmp(id, "sshcr_", 6) == 0 && strlen(id) == 33);
    ck_assert_int_eq(ask("GET", path, ""), 200);
    expect_credential("d", "m", "[\"bind:a\",\"bind:a\"]", CLIENT_ADMIN_ID);
    ck_assert_int_eq(ask("PATCH", path, "{}"), 200);
    expect_credential("d", "m", "[\"bind:a\",\"bind:a\"]", CLIENT_ADMIN_ID);
    ck_assert_int_eq(ask("PATCH", path, "{\"description\":\"\",\"acl\":[]}"), 200);
    expect_credential("", "m", "[]", CLIENT_ADMIN_ID);
    ck_assert_int_eq(ask("DELETE", path, ""), 204);
    ck_assert_int_eq(ask("DELETE", path, ""), 404);
    expect_fault(9002, "");
    ck_assert_int_eq(ask("GET", path, ""), 404);
    ck_assert_int_eq(ask("PATCH", path, "{}"), 404);
}
END_TEST

START_TEST(credential_with_nothing_set)
{
    create(CLIENT_CREDENTIAL);
    expect_credential("", "", "[]", CLIENT_ADMIN_ID);
}
END_TEST

/* The identifier in the body must match the path's, even if the resource does not exist. */
START_TEST(identifier_in_the_body_of_a_change)
{
    char body[96];

    create(CLIENT_CREDENTIAL);
    snprintf(body, sizeof body, "{\"id\":\"%s\"}", id);
    ck_assert_int_eq(ask("PATCH", path, body), 200);
    ck_assert_int_eq(ask("PATCH", path, "{\"id\":\"other\"}"), 400);
    expect_fault(9013, "id");
    ck_assert_int_eq(ask("PATCH", path, "{\"public_key\":\"" CLIENT_KEY "\"}"), 400);
    expect_fault(9014, "public_key");
    ck_assert_int_eq(ask("PATCH", path, "{\"owner_id\":\"" CLIENT_ADMIN_ID "\"}"), 400);
    expect_fault(9015, "owner_id");
}
END_TEST

/* ---- the list ---- */

static void create_several(char ids[][64], int n)
{
    for (int i = 0; i < n; i++) {
        create(CLIENT_CREDENTIAL);
        memcpy(ids[i], id, sizeof id);
    }
}

/* Returns the place of an identifier in the answer, or NULL. */
static const char *place_of(const char *wanted)
{
    char member[512];

    snprintf(member, sizeof member, "{\"id\":\"%s\"", wanted);
    return strstr(client_body(&client), member);
}

static int compare_ids(const void *a, const void *b)
{
    return strcmp(b, a);
}

START_TEST(walk_from_page_to_page)
{
    char ids[5][64];
    char next[256] = "limit=2";
    int n_pages = 0;

    create_several(ids, 5);
    qsort(ids, 5, sizeof ids[0], compare_ids);
    while (next[0]) {
        char uri[256];

        ck_assert_int_eq(ask_query(next), 200);
        for (int i = 0; i < 5; i++)
            ck_assert_int_eq(place_of(ids[i]) != NULL, i / 2 == n_pages);
        ck_assert_ptr_nonnull(strstr(client_body(&client),
                                     "],\"uri\":\"https://adit.example/api/ssh_credentials\","));
        client_member(&client, "next_page_uri", uri, sizeof uri);
        snprintf(next, sizeof next, "%s", uri[0] ? strchr(uri, '?') + 1 : "");
        n_pages++;
    }
    ck_assert_int_eq(n_pages, 3);
}
END_TEST

/* The most items of a page, as text. */
#define TEXT(number) #number
#define TEXT_OF(number) TEXT(number)
#define MOST TEXT_OF(API_PAGE_ITEMS_MAX)

START_TEST(limits_and_boundaries)
{
    static const struct {
        const char *query;
        int error;
    } cases[] = {
        {"limit=1", 0},
        {"limit=" MOST, 0},
        {"limit=0" MOST, 0},
        {"limit=%31", 0},
        {"limit=0", 233},
        {"limit=00", 233},
        {"limit=" MOST "0", 233},
        {"limit=4294967297", 233},
        {"limit=18446744073709551617", 233},
        {"limit=", 244},
        {"limit", 244},
        {"limit=-1", 233},
        {"limit=-0", 233},
        {"limit=-", 244},
        {"limit=--1", 244},
        {"limit=-x", 244},
        {"limit=+1", 244},
        {"limit=%2B1", 244},
        {"limit=1.0", 244},
        {"limit=1e2", 244},
        {"limit=0x10", 244},
        {"limit=a", 244},
        {"limit=1 ", 244},
        {"limit=%C2%B2", 244},
        {"limit=" MOST "0x", 244},
        {"before_id=a b", 9009},
        {"before_id=..", 9009},
        {"before_id=a/b", 9009},
        {"before_id=%C3%A9", 9009},
        {"before_id=a&beforeId=a", 232},
        {"limit=1&limit=1", 232},
        {"offset=1", 231},
        {"limit=%", 9010},
    };

    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        ck_assert_msg(ask_query(cases[i].query) == (cases[i].error ? 400 : 200), "%s",
                      cases[i].query);
        ck_assert_msg(client_error(&client) == cases[i].error, "%s: %s", cases[i].query,
                      client_body(&client));
    }
}
END_TEST

/* ---- the modules ---- */

#define DEFAULTS                                                                                   \
    "},\"options_passthrough\":false,\"cookie_prefix\":\"service.\",\"inactivity_timeout\":0,"     \
    "\"maximum_duration\":0,\"auth_check_interval\":0}"

/* Expects the start of an answer up to the first provider, nulls for the others, and defaults. */
static void expect_module(const char *start)
{
    struct buf wanted = {0};

    buf_puts(&wanted, start);
    for (size_t i = 1; i < OAUTH_N_PROVIDERS; i++)
        buf_printf(&wanted, ",\"%s\":null", default_names.providers[i]);
    buf_puts(&wanted, DEFAULTS);
    expect_body(wanted.data);
    buf_free(&wanted);
}

START_TEST(oauth_module_from_birth_to_death)
{
    static const char stored[] =
        "{\"enabled\":false,\"provider\":{\"provider_a\":{\"client_id\":\"i\","
        "\"client_secret\":\"s\",\"scopes\":[\"x\"],\"email_addresses\":[],\"email_domains\":[],"
        "\"teams\":[\"o/t\"],\"organizations\":[]}";

    ck_assert_int_eq(ask("GET", CLIENT_OAUTH, ""), 404);
    expect_fault(9003, "");
    ck_assert_int_eq(ask("DELETE", CLIENT_OAUTH, ""), 204);
    ck_assert_int_eq(ask("PUT", CLIENT_OAUTH,
                         "{\"enabled\":false,\"provider\":{\"provider_a\":{\"client_id\":\"i\","
                         "\"client_secret\":\"s\",\"scopes\":[\"x\"],\"teams\":[\"o/t\"]}}}"),
                     200);
    expect_module(stored);
    ck_assert_int_eq(ask("GET", CLIENT_OAUTH, ""), 200);
    expect_module(stored);
    /* PUT replaces the whole module. */
    ck_assert_int_eq(ask("PUT", CLIENT_OAUTH, "{}"), 200);
    ck_assert_int_eq(ask("GET", CLIENT_OAUTH, ""), 200);
    expect_module("{\"enabled\":true,\"provider\":{\"provider_a\":null");
    ck_assert_int_eq(ask("GET", "/edges/https/e/routes/other/oauth", ""), 404);
    ck_assert_int_eq(ask("DELETE", CLIENT_OAUTH, ""), 204);
    ck_assert_int_eq(ask("GET", CLIENT_OAUTH, ""), 404);
    ck_assert_int_eq(ask("DELETE", CLIENT_OAUTH, ""), 204);
}
END_TEST

START_TEST(mutual_tls_module_from_birth_to_death)
{
    static const char stored[] =
        "{\"enabled\":true,\"certificate_authorities\":["
        "{\"id\":\"z\",\"uri\":\"https://adit.example/api/certificate_authorities/z\"},"
        "{\"id\":\"a\",\"uri\":\"https://adit.example/api/certificate_authorities/a\"}]}";

    ck_assert_int_eq(ask("GET", CLIENT_MUTUAL_TLS, ""), 404);
    expect_fault(9004, "");
    ck_assert_int_eq(ask("DELETE", CLIENT_MUTUAL_TLS, ""), 204);
    ck_assert_int_eq(ask("PUT", CLIENT_MUTUAL_TLS, "{\"certificate_authority_ids\":[\"z\",\"a\"]}"),
                     200);
    expect_body(stored);
    ck_assert_int_eq(ask("GET", CLIENT_MUTUAL_TLS, ""), 200);
    expect_body(stored);
    ck_assert_int_eq(ask("PUT", CLIENT_MUTUAL_TLS, "{\"enabled\":false}"), 200);
    ck_assert_int_eq(ask("GET", CLIENT_MUTUAL_TLS, ""), 200);
    expect_body("{\"enabled\":false,\"certificate_authorities\":[]}");
    ck_assert_int_eq(ask("DELETE", CLIENT_MUTUAL_TLS, ""), 204);
    ck_assert_int_eq(ask("GET", CLIENT_MUTUAL_TLS, ""), 404);
}
END_TEST

START_TEST(identifiers_in_the_bodies_of_modules)
{
    ck_assert_int_eq(ask("PUT", CLIENT_OAUTH, "{\"edge_id\":\"e\",\"id\":\"r\",\"module\":{}}"),
                     200);
    ck_assert_int_eq(ask("PUT", CLIENT_OAUTH, "{\"edge_id\":\"r\",\"id\":\"e\"}"), 400);
    expect_fault(9013, "edge_id");
    ck_assert_int_eq(ask("PUT", CLIENT_MUTUAL_TLS, "{\"id\":\"e\",\"module\":{}}"), 200);
    ck_assert_int_eq(ask("PUT", CLIENT_MUTUAL_TLS, "{\"id\":\"x\"}"), 400);
    expect_fault(9013, "id");
}
END_TEST

/* ---- URIs, details ---- */

START_TEST(uris_derived_from_the_request)
{
    char uri[160];
    char wanted[160];

    client.settings.base_url = NULL;
    create(CLIENT_CREDENTIAL);
    client_member(&client, "uri", uri, sizeof uri);
    snprintf(wanted, sizeof wanted, "http://host.example:8080/mount/ssh_credentials/%s", id);
    ck_assert_str_eq(uri, wanted);
    ck_assert_int_eq(ask("PUT", CLIENT_MUTUAL_TLS, "{\"certificate_authority_ids\":[\"a\"]}"), 200);
    ck_assert_ptr_nonnull(strstr(client_body(&client),
                                 "\"http://host.example:8080/mount/certificate_authorities/a\""));
}
END_TEST

START_TEST(offset_of_what_is_no_json)
{
    ck_assert_int_eq(ask("POST", "/ssh_credentials", "{\"a\":nul}"), 400);
    expect_fault(213, "");
    ck_assert_msg(strstr(client_body(&client), "\"offset\":\"8\"") != NULL, "%s",
                  client_body(&client));
}
END_TEST

/* The operator has none for the second provider. */
START_TEST(application_of_each_provider)
{
    for (int i = 0; i < OAUTH_N_PROVIDERS; i++)
        client.settings.oauth_applications[i] =
            i == 1 ? OAUTH_APPLICATION_MISSING : OAUTH_APPLICATION_THERE;
    for (int i = 0; i < OAUTH_N_PROVIDERS; i++) {
        char body[80];

        snprintf(body, sizeof body, "{\"provider\":{\"%s\":{}}}",
                 client.settings.oauth.providers[i]);
        ck_assert_int_eq(ask("POST", "/oauth_admissions", body), 200);
        ck_assert_msg((strstr(client_body(&client), "\"no_application\"") != NULL) == (i == 1),
                      "%s", client_body(&client));
    }
}
END_TEST

START_TEST(names_of_another_service)
{
    names_fill(&client.settings.names, "ngrok");
    client.settings.oauth.cookie_prefix = client.settings.names.cookie_prefix;
    client.settings.oauth.providers[0] = "github";
    client_prepare(&client, "PUT", CLIENT_OAUTH, "{\"provider\":{\"github\":{}}}");
    api_answer(&client.settings, client.store, &client.arena, &client.request, &client.response);
    ck_assert_int_eq(client.response.status, 200);
    ck_assert_int_eq(strncmp(client.response.headers.data, "Ngrok-Operation-Id: op_", 23), 0);
    ck_assert_ptr_nonnull(strstr(client_body(&client), "\"cookie_prefix\":\"ngrok.\""));
    ck_assert_ptr_nonnull(strstr(client_body(&client), "{\"github\":{\"client_id\":null"));
    client.request.version = "";
    api_answer(&client.settings, client.store, &client.arena, &client.request, &client.response);
    ck_assert_ptr_nonnull(strstr(client_body(&client), "\"ERR_NGROK_218\""));
    ck_assert_ptr_nonnull(strstr(client_body(&client), "Ngrok-Version"));
}
END_TEST

Suite *routes_suite(void)
{
    Suite *suite = suite_create("api/routes");
    TCase *operations = tcase_create("operations");

    client_add(operations, set_up, tear_down);
    tcase_add_test(operations, credential_from_birth_to_death);
    tcase_add_test(operations, credential_with_nothing_set);
    tcase_add_test(operations, identifier_in_the_body_of_a_change);
    tcase_add_test(operations, walk_from_page_to_page);
    tcase_add_test(operations, limits_and_boundaries);
    tcase_add_test(operations, oauth_module_from_birth_to_death);
    tcase_add_test(operations, mutual_tls_module_from_birth_to_death);
    tcase_add_test(operations, identifiers_in_the_bodies_of_modules);
    tcase_add_test(operations, uris_derived_from_the_request);
    tcase_add_test(operations, offset_of_what_is_no_json);
    tcase_add_test(operations, application_of_each_provider);
    tcase_add_test(operations, names_of_another_service);
    suite_add_tcase(suite, operations);
    return suite;
}
