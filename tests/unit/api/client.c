/* SPDX-License-Identifier: MIT */
/* A client for tests of the API, over a real PostgreSQL. */
#include "api/client.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/ident.h"
#include "json/check.h"
#include "json/tree.h"
#include "providers.h"
#include "store/database.h"

#define DATABASE "api"

/* The identifiers have the first digits of the keys. */
static const char callers[] =
    "CREATE ROLE adit_api LOGIN IN ROLE adit_responder;"
    "INSERT INTO adit.account (id)"
    " VALUES ('" CLIENT_ACCOUNT_ID "'), ('" CLIENT_OTHER_ACCOUNT_ID "');"
    "CREATE TABLE pg_temp.caller AS"
    " SELECT substr(c.key, 6, 27) AS digits, *,"
    "        CASE WHEN c.kind = 'bot' THEN 'bot_' ELSE 'usr_' END || substr(c.key, 6, 27) AS id"
    " FROM (VALUES"
    " ('" CLIENT_ADMIN_KEY "', '" CLIENT_ACCOUNT_ID "', 'user', true, 'account', false),"
    " ('" CLIENT_MEMBER_KEY "', '" CLIENT_ACCOUNT_ID "', 'user', false, 'account', false),"
    " ('" CLIENT_READ_ONLY_KEY "', '" CLIENT_ACCOUNT_ID "', 'bot', false, 'account', true),"
    " ('" CLIENT_GATEWAY_KEY "', '" CLIENT_ACCOUNT_ID "', 'bot', false, 'gateway', true),"
    " ('" CLIENT_OWN_KEY "', '" CLIENT_ACCOUNT_ID "', 'user', true, 'own', true),"
    " ('" CLIENT_REVOKED_KEY "', '" CLIENT_ACCOUNT_ID "', 'user', true, 'account', false),"
    " ('" CLIENT_OTHER_KEY "', '" CLIENT_OTHER_ACCOUNT_ID "', 'user', true, 'account', false)"
    ") AS c (key, account_id, kind, is_admin, scope, read_only);"
    "INSERT INTO adit.principal (account_id, id, kind, is_admin)"
    " SELECT account_id, id, kind, is_admin FROM pg_temp.caller;"
    "INSERT INTO adit.api_key (account_id, id, principal_id, digest, scope, read_only)"
    " SELECT account_id, 'ak_' || digits, id, sha256(key::bytea), scope, read_only"
    " FROM pg_temp.caller;"
    "UPDATE adit.api_key SET revoked_at = now() WHERE id ~ '^ak_revoked'";

static struct keyring *keyring;
static char folder[64];
static char key_file[96];

static void begin(void)
{
    static bool is_made;
    const char *tmp = getenv("TMPDIR");
    char reason[256] = "";

    snprintf(folder, sizeof folder, "%.32s/adit-api.XXXXXX", tmp ? tmp : "/tmp");
    ck_assert_ptr_nonnull(mkdtemp(folder));
    snprintf(key_file, sizeof key_file, "%s/key", folder);
    ck_assert_msg(keyring_create(key_file, reason, sizeof reason), "%s", reason);
    keyring = keyring_load(key_file, reason, sizeof reason);
    ck_assert_msg(keyring != NULL, "%s", reason);
    if (!is_made) {
        struct pg *owner = database_create(DATABASE);

        database_migrate(owner);
        database_run(owner, callers);
        pg_free(owner);
    }
    is_made = true;
}

static void end(void)
{
    keyring_free(keyring);
    unlink(key_file);
    rmdir(folder);
}

void client_add(TCase *tcase, SFun set_up, SFun tear_down)
{
    tcase_set_timeout(tcase, 60);
    tcase_add_unchecked_fixture(tcase, begin, end);
    tcase_add_checked_fixture(tcase, set_up, tear_down);
}

void client_open(struct client *client)
{
    *client = (struct client){.owner = database_connect(DATABASE, "postgres"),
                              .pg = database_connect(DATABASE, "adit_api")};
    database_run(client->owner, "DELETE FROM adit.ssh_credential; DELETE FROM adit.oauth_module;"
                                "DELETE FROM adit.mutual_tls_module");
    client->store = store_new(client->pg, keyring);
    ck_assert_ptr_nonnull(client->store);
    names_fill(&client->settings.names, "service");
    client->settings.oauth = default_names;
    client->settings.oauth.cookie_prefix = client->settings.names.cookie_prefix;
    client->settings.base_url = "https://adit.example/api";
    client->settings.log = (struct log){.level = LOG_LEVEL_ERROR, .target = LOG_TARGET_STDERR};
    client_fail(ERR_NONE);
}

void client_close(struct client *client)
{
    client_fail(ERR_NONE);
    store_free(client->store);
    pg_free(client->pg);
    pg_free(client->owner);
    arena_free(&client->arena);
    buf_free(&client->response.headers);
    buf_free(&client->response.body);
}

/* Each change of a row is an event. */
int64_t client_changes(const struct client *client)
{
    static const struct pg_statement latest = {
        .name = "latest",
        .types = PG_BIGINT,
        .sql = "SELECT coalesce(max(id), 0) FROM adit.audit_event"};
    struct pg_params params = {.n = 0};
    struct pg_result *result;
    struct error err;
    int64_t number;

    ck_assert_msg(pg_run(client->owner, &latest, &params, &result, &err), "%s", err.cause);
    number = pg_int(result, 0, 0);
    pg_result_free(result);
    return number;
}

/* ---- a database that fails ---- */

static enum error_code failure;

void client_fail(enum error_code code)
{
    failure = code;
}

bool __real_pg_run(struct pg *pg, const struct pg_statement *statement,
                   const struct pg_params *params, struct pg_result **result, struct error *err);
bool __wrap_pg_run(struct pg *pg, const struct pg_statement *statement,
                   const struct pg_params *params, struct pg_result **result, struct error *err);

/* The linker replaces pg_run() by this function. */
bool __wrap_pg_run(struct pg *pg, const struct pg_statement *statement,
                   const struct pg_params *params, struct pg_result **result, struct error *err)
{
    return failure == ERR_NONE ? __real_pg_run(pg, statement, params, result, err)
                               : error_cause(err, failure, "%s", CLIENT_CAUSE);
}

/* ---- requests ---- */

void client_prepare(struct client *client, const char *method, const char *path, const char *body)
{
    client->request = (struct request){
        .method = method,
        .path = path,
        .query = "",
        .script_name = "/mount",
        .scheme = "http",
        .host = "host.example:8080",
        .server_name = "server.example",
        .server_port = "8080",
        .remote_addr = client->remote_addr,
        .authorization = "Bearer " CLIENT_ADMIN_KEY,
        .version = "2",
        .content_type = body[0] ? "application/json" : "",
        .body = text_of(body),
    };
}

/* Checks the shape of an error: its members in order, and details that are strings. */
static void check_error(const struct client *client)
{
    struct json_node top;
    struct error err;
    struct text text = {0};
    uint32_t status = 0;
    const char *body = client_body(client);
    struct json_node node;
    struct json_node details;

    ck_assert_msg(json_parse(body, strlen(body), &top, &err), "%s", body);
    node = json_member(&top, "status_code");
    ck_assert(json_get_uint32(&node, &status, &err));
    ck_assert_int_eq((int)status, client->response.status);
    node = json_member(&top, "msg");
    ck_assert(json_get_text(&node, &text, &err) && text.len > 0);
    node = json_member(&top, "error_code");
    ck_assert(json_get_text(&node, &text, &err));
    ck_assert_int_eq(strncmp(text.s, "ERR_SERVICE_", 12), 0);
    details = json_member(&top, "details");
    ck_assert(json_is_object(&details, &err));
    node = json_member(&details, "operation_id");
    ck_assert(json_get_text(&node, &text, &err));
    ck_assert(ident_valid(text) && strncmp(text.s, "op_", 3) == 0);
    node = json_member(&details, "field");
    ck_assert(json_get_text(&node, &text, &err));
    node = json_member(&details, "offset");
    ck_assert(json_get_text(&node, &text, &err));
    json_free(&top);
}

/* Returns whether the answer is text for Prometheus. */
static bool is_text(const struct client *client)
{
    return strcmp(client->request.path, "/metrics") == 0 && client->response.status == 200;
}

static void check_headers(const struct client *client)
{
    const struct response *response = &client->response;
    const char *headers = response->headers.data;
    int status = response->status;
    const char *id = strstr(headers, "Service-Operation-Id: op_");

    ck_assert_msg(id == headers && strspn(id + 25, "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ"
                                                   "abcdefghijklmnopqrstuvwxyz") == 27,
                  "%s", headers);
    ck_assert_msg(client_has_header(client, "Cache-Control: no-store"), "%s", headers);
    ck_assert_int_eq(client_has_header(client, "Content-Type: application/json"),
                     status != 204 && !is_text(client));
    ck_assert_int_eq(strstr(headers, "\r\nWWW-Authenticate: Bearer") != NULL, status == 401);
    ck_assert_int_eq(strstr(headers, "\r\nRetry-After: ") != NULL, status == 503);
    if (strcmp(client->request.method, "OPTIONS") != 0)
        ck_assert_int_eq(strstr(headers, "\r\nAllow: ") != NULL, status == 405);
    ck_assert_ptr_null(strstr(headers, "Location"));
    ck_assert_ptr_null(strstr(headers, "\n\r\n"));
    ck_assert_str_eq(headers + response->headers.len - 2, "\r\n");
}

int client_send(struct client *client)
{
    struct error err;
    const struct response *response = &client->response;

    api_answer(&client->settings, client->store, &client->arena, &client->request,
               &client->response);
    check_headers(client);
    ck_assert(response->status < 300 || response->status >= 400);
    if (response->status == 204)
        ck_assert_uint_eq(response->body.len, 0);
    else if (!is_text(client))
        ck_assert_msg(json_check(client_body(client), response->body.len, &err), "%s",
                      client_body(client));
    if (response->status >= 400)
        check_error(client);
    return response->status;
}

int client_ask(struct client *client, const char *method, const char *path, const char *body)
{
    client_prepare(client, method, path, body);
    return client_send(client);
}

int client_ask_as(struct client *client, const char *key, const char *method, const char *path,
                  const char *body)
{
    client_prepare(client, method, path, body);
    snprintf(client->authorization, sizeof client->authorization, "Bearer %s", key);
    client->request.authorization = client->authorization;
    return client_send(client);
}

int client_error(const struct client *client)
{
    static const char front[] = "{\"error_code\":\"ERR_SERVICE_";
    const char *body = client_body(client);

    return strncmp(body, front, sizeof front - 1) == 0
               ? (int)strtol(body + sizeof front - 1, NULL, 10)
               : 0;
}

const char *client_body(const struct client *client)
{
    return buf_text(&client->response.body).s;
}

bool client_has_header(const struct client *client, const char *line)
{
    const char *at = strstr(client->response.headers.data, line);

    return at && (at == client->response.headers.data || at[-1] == '\n') &&
           strncmp(at + strlen(line), "\r\n", 2) == 0;
}

void client_member(const struct client *client, const char *name, char *out, size_t size)
{
    struct json_node top;
    struct error err;
    struct json_node node;
    struct text text = {.s = "", .len = 0};

    ck_assert(json_parse(client_body(client), client->response.body.len, &top, &err));
    node = json_member(&top, name);
    ck_assert_msg(json_get_text(&node, &text, &err), "%s", err.msg);
    ck_assert_uint_lt(text.len, size);
    memcpy(out, text.s, text.len + 1);
    json_free(&top);
}
