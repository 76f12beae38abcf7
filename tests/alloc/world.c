/* SPDX-License-Identifier: MIT */
/* Sets up the database through its own connection, and the fixtures through the API. */
#include "world.h"

#include <libpq-fe.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../unit/cases.h"
#include "../unit/providers.h"
#include "base/clock.h"
#include "http/response.h"
#include "json/write.h"
#include "store/account.h"
#include "store/api_key.h"
#include "store/principal.h"
#include "store/schema.h"

#define N_HOARD 101

/* The origin of the page that sends every request. */
#define ORIGIN "https://a.example"

struct world {
    PGconn *db; /* the superuser's, to reset and to read the tables */
    char conninfo[512];
    struct keyring *keyring;
    char folder[32]; /* of the key file */
    struct metrics *metrics;
    struct api_settings settings[2]; /* with and without a base URL */
    char account[IDENT_SIZE];
    char admin[IDENT_SIZE];
    char member[IDENT_SIZE];
    char credential[IDENT_SIZE];
    char keys[WHO_N][API_KEY_SIZE];
    char reset_sql[2048];
    char state_sql[2048];
};

static void die(const char *what, const char *why)
{
    printf("alloc: %s: %s\n", what, why);
    exit(EXIT_FAILURE);
}

/* ---- the database ---- */

static void run_sql(struct world *world, const char *sql)
{
    PGresult *result = PQexec(world->db, sql);
    ExecStatusType status = PQresultStatus(result);

    if (status != PGRES_COMMAND_OK && status != PGRES_TUPLES_OK)
        die(sql, PQerrorMessage(world->db));
    PQclear(result);
}

static void nothing(void *context, const char *name)
{
    (void)context;
    (void)name;
}

static void make_schema(struct world *world, struct pg *pg)
{
    const struct schema_migrating how = {
        .patience_ms = 20000, .waiting = nothing, .applied = nothing};
    struct error err;

    if (!schema_migrate(pg, &how, &err))
        die("migrate", err.cause);
    run_sql(world, "CREATE ROLE alloc_responder LOGIN IN ROLE adit_responder;"
                   "CREATE UNIQUE INDEX ssh_credential_unique_public_key"
                   " ON adit.ssh_credential (account_id, fingerprint)");
}

static void make_principal(struct pg *pg, const char *account, bool is_admin, char *id)
{
    struct error err;

    if (!principal_create(
            pg, &(struct principal_new){text_of(account), "user", text_of("name"), is_admin}, id,
            &err))
        die("user", err.cause);
}

static void make_key(struct pg *pg, const char *principal, enum key_kind kind, char *key_id,
                     char *key)
{
    struct api_key_order order = {
        .principal_id = text_of(principal), .description = text_of(""), .kind = kind};
    struct api_key_issued issued;
    struct error err;

    if (!api_key_issue(pg, &order, &issued, &err))
        die("key", err.cause);
    memcpy(key_id, issued.id, sizeof issued.id);
    memcpy(key, issued.key, sizeof issued.key);
}

static void make_account(struct pg *pg, char *id)
{
    struct error err;

    if (!account_create(pg, text_of("name"), id, &err))
        die("account", err.cause);
}

static void make_keys(struct world *world, struct pg *pg)
{
    char id[IDENT_SIZE];
    char sql[256];

    make_key(pg, world->admin, KEY_READ_WRITE, id, world->keys[WHO_ADMIN]);
    make_key(pg, world->member, KEY_READ_WRITE, id, world->keys[WHO_MEMBER]);
    make_key(pg, world->admin, KEY_READ_ONLY, id, world->keys[WHO_READER]);
    make_key(pg, world->admin, KEY_GATEWAY, id, world->keys[WHO_GATEWAY]);
    make_key(pg, world->admin, KEY_READ_WRITE, id, world->keys[WHO_REVOKED]);
    snprintf(sql, sizeof sql, "UPDATE adit.api_key SET revoked_at = now() WHERE id = '%s'", id);
    run_sql(world, sql);
    make_key(pg, world->admin, KEY_READ_WRITE, id, world->keys[WHO_EXPIRED]);
    snprintf(sql, sizeof sql, "UPDATE adit.api_key SET expires_at = now() WHERE id = '%s'", id);
    run_sql(world, sql);
}

/* Makes another account, whose list has more than one page. */
static void make_hoard(struct world *world, struct pg *pg)
{
    char account[IDENT_SIZE];
    char user[IDENT_SIZE];
    char id[IDENT_SIZE];
    char sql[1024];

    make_account(pg, account);
    make_principal(pg, account, true, user);
    make_key(pg, user, KEY_READ_WRITE, id, world->keys[WHO_HOARDER]);
    snprintf(
        sql, sizeof sql,
        "INSERT INTO adit.ssh_credential (account_id, id, owner_id, key_type, fingerprint,"
        " description, metadata, acl, public_key)"
        " SELECT '%s', 'sshcr_' || lpad(i::text, 27, '0'), '%s', 'ssh-ed25519',"
        " 'SHA256:' || lpad(i::text, 43, '0'), 'number ' || i, repeat('m', i),"
        " ARRAY['bind:*.example.com', 'bind:a=' || i], 'a key' FROM generate_series(1, %d) AS i",
        account, user, N_HOARD);
    run_sql(world, sql);
}

/* ---- fixtures ---- */

static void answer_fixture(struct world *world, struct worker *worker,
                           const struct scenario *scenario)
{
    struct play play;

    play_make(&play, scenario, world);
    play_answer(&play, world, worker);
    if (worker->response.status != scenario->status)
        die(scenario->name, buf_text(&worker->response.body).s);
    play_free(&play);
}

static void take_credential_id(struct world *world, const struct response *response)
{
    const char *id = strstr(response->body.data, "sshcr_");

    snprintf(world->credential, sizeof world->credential, "%.33s", id);
}

#define ROUTES "/edges/https/edge/routes/"
#define SECRET                                                                                     \
    "{\"provider\":{\"provider_a\":{\"client_id\":\"id\",\"client_secret\":\"sealed\","            \
    "\"scopes\":[\"s\"],\"email_domains\":[\"example.com\"],\"teams\":[\"o/t\"],"                  \
    "\"organizations\":[\"o\"]}},\"cookie_prefix\":\"c.\"}"

static void make_fixtures(struct world *world)
{
    static const struct scenario fixtures[] = {
        {.name = "fixture 1",
         .method = "POST",
         .path = "/ssh_credentials",
         .key = "accepted/ed25519.line",
         .status = 201},
        {.name = "fixture 2",
         .method = "POST",
         .path = "/ssh_credentials",
         .key = "accepted/rsa2048-least.line",
         .status = 201},
        {.name = "fixture 3",
         .method = "PUT",
         .path = ROUTES "secret/oauth",
         .body = SECRET,
         .status = 200},
        {.name = "fixture 4",
         .method = "PUT",
         .path = ROUTES "broken/oauth",
         .body = SECRET,
         .status = 200},
        {.name = "fixture 5",
         .method = "PUT",
         .path = ROUTES "managed/oauth",
         .body = "{\"provider\":{\"provider_b\":{\"email_addresses\":[\"a@example.com\"]}}}",
         .status = 200},
        {.name = "fixture 6",
         .method = "PUT",
         .path = "/edges/tls/edge/mutual_tls",
         .body = "{\"certificate_authority_ids\":[\"ca_1\",\"ca_2\"]}",
         .status = 200},
        {.name = "fixture 7",
         .method = "PATCH",
         .path = "/ssh_credentials/{credential}",
         .body = "{\"description\":\"old\",\"metadata\":\"old\",\"acl\":[\"bind:old.example\"]}",
         .status = 200},
    };
    struct worker worker;

    worker_open(&worker, world);
    for (size_t i = 0; i < sizeof fixtures / sizeof fixtures[0]; i++) {
        answer_fixture(world, &worker, &fixtures[i]);
        if (i == 0)
            take_credential_id(world, &worker.response);
    }
    worker_close(&worker);
    run_sql(world, "UPDATE adit.oauth_module SET client_secret_sealed ="
                   " set_byte(client_secret_sealed, 20, 255 - get_byte(client_secret_sealed, 20))"
                   " WHERE route_id = 'broken';"
                   "CREATE SCHEMA kept;"
                   "CREATE TABLE kept.ssh_credential AS TABLE adit.ssh_credential;"
                   "CREATE TABLE kept.oauth_module AS TABLE adit.oauth_module;"
                   "CREATE TABLE kept.mutual_tls_module AS TABLE adit.mutual_tls_module;");
}

static void write_sql(struct world *world)
{
    snprintf(world->reset_sql, sizeof world->reset_sql,
             "DELETE FROM adit.ssh_credential WHERE account_id = '%s';"
             "DELETE FROM adit.oauth_module; DELETE FROM adit.mutual_tls_module;"
             "DELETE FROM adit.idempotency_key;"
             "INSERT INTO adit.ssh_credential SELECT * FROM kept.ssh_credential"
             " WHERE account_id = '%s';"
             "INSERT INTO adit.oauth_module TABLE kept.oauth_module;"
             "INSERT INTO adit.mutual_tls_module TABLE kept.mutual_tls_module",
             world->account, world->account);
    /* Each seal is different, except the fixture's. */
    snprintf(
        world->state_sql, sizeof world->state_sql,
        "SELECT md5(string_agg(r, '|' ORDER BY r)) FROM ("
        "SELECT concat_ws(',', CASE WHEN k.id IS NULL THEN 'new' ELSE c.id END, c.owner_id,"
        " c.fingerprint, c.description, c.metadata, c.acl, c.public_key) AS r"
        " FROM adit.ssh_credential AS c LEFT JOIN kept.ssh_credential AS k USING (id)"
        " WHERE c.account_id = '%s'"
        " UNION ALL SELECT replace((to_jsonb(t.m) - '{revision,incarnation}'::text[])::text, "
        "encode(t.s, 'hex'), "
        "length(t.s)::text) FROM ("
        "SELECT m, CASE WHEN EXISTS (SELECT FROM kept.oauth_module AS k"
        " WHERE k.client_secret_sealed = m.client_secret_sealed) THEN '?'::bytea"
        " ELSE coalesce(m.client_secret_sealed, '?') END AS s FROM adit.oauth_module AS m) AS t"
        " UNION ALL SELECT (to_jsonb(m) - 'revision')::text FROM adit.mutual_tls_module AS m"
        " UNION ALL SELECT i.key FROM adit.idempotency_key AS i) AS rows",
        world->account);
}

static void name_key_file(char path[64], const struct world *world)
{
    snprintf(path, 64, "%s/key", world->folder);
}

static void make_keyring(struct world *world)
{
    char path[64];
    char reason[256] = "cannot make a folder";

    snprintf(world->folder, sizeof world->folder, "/tmp/adit-alloc-XXXXXX");
    if (!mkdtemp(world->folder))
        die("keyring", reason);
    name_key_file(path, world);
    if (keyring_create(path, reason, sizeof reason))
        world->keyring = keyring_load(path, reason, sizeof reason);
    if (!world->keyring)
        die("keyring", reason);
}

static void fill_settings(struct world *world)
{
    struct api_settings *settings = &world->settings[0];

    names_fill(&settings->names, "service");
    settings->oauth = default_names;
    settings->oauth.cookie_prefix = settings->names.cookie_prefix;
    settings->base_url = "https://adit.example/base";
    /* What needs memory is on in one of the two. */
    settings->allowed_origins = ORIGIN;
    settings->metrics = world->metrics; /* nothing is counted: the same answer each time */
    world->settings[1] = *settings;
    world->settings[1].allowed_origins = NULL;
    world->settings[1].base_url = NULL;
}

struct world *world_make(const char *server)
{
    struct world *world = calloc(1, sizeof *world);
    char conninfo[256];
    struct pg *pg;

    snprintf(conninfo, sizeof conninfo, "%s dbname=postgres", server);
    pg = pg_new(conninfo, &wait_alone);
    world->db = PQconnectdb(conninfo);
    if (PQstatus(world->db) != CONNECTION_OK)
        die("connect", PQerrorMessage(world->db));
    make_schema(world, pg);
    make_account(pg, world->account);
    make_principal(pg, world->account, true, world->admin);
    make_principal(pg, world->account, false, world->member);
    make_keys(world, pg);
    make_hoard(world, pg);
    pg_free(pg);
    snprintf(world->conninfo, sizeof world->conninfo, "%s user=alloc_responder", conninfo);
    make_keyring(world);
    world->metrics = metrics_new(1);
    if (!world->metrics)
        die("metrics", "cannot map memory");
    fill_settings(world);
    make_fixtures(world);
    write_sql(world);
    return world;
}

void world_free(struct world *world)
{
    char path[64];

    name_key_file(path, world);
    unlink(path);
    rmdir(world->folder);
    PQfinish(world->db);
    metrics_free(world->metrics, 1);
    keyring_free(world->keyring);
    free(world);
}

void world_reset(struct world *world)
{
    run_sql(world, world->reset_sql);
}

void world_state(struct world *world, char out[WORLD_STATE_SIZE])
{
    PGresult *result = PQexec(world->db, world->state_sql);

    if (PQresultStatus(result) != PGRES_TUPLES_OK)
        die("state", PQerrorMessage(world->db));
    snprintf(out, WORLD_STATE_SIZE, "%s", PQgetvalue(result, 0, 0));
    PQclear(result);
}

/* ---- a worker ---- */

void worker_open(struct worker *worker, const struct world *world)
{
    *worker = (struct worker){.pg = pg_new(world->conninfo, &wait_alone)};
    pg_outage_announce(&worker->outage, clock_steady_ms());
    pg_share_outage(worker->pg, &worker->outage);
    worker->store = store_new(worker->pg, world->keyring);
    if (!worker->store || !response_reserve(&worker->response))
        die("worker", "out of memory");
}

void worker_forget(struct worker *worker)
{
    arena_free(&worker->arena);
    buf_free(&worker->response.headers);
    buf_free(&worker->response.body);
    if (!response_reserve(&worker->response))
        die("worker", "out of memory");
}

void worker_close(struct worker *worker)
{
    store_free(worker->store);
    pg_free(worker->pg);
    arena_free(&worker->arena);
    buf_free(&worker->response.headers);
    buf_free(&worker->response.body);
}

/* ---- a scenario's request ---- */

static void fill_in(struct buf *out, const char *text, const struct world *world)
{
    const struct {
        const char *name;
        const char *value;
    } names[] = {{"{credential}", world->credential}, {"{member}", world->member}};

    buf_puts(out, "");
    while (*text) {
        size_t i = 0;

        while (i < 2 && strncmp(text, names[i].name, strlen(names[i].name)) != 0)
            i++;
        if (i < 2) {
            buf_puts(out, names[i].value);
            text += strlen(names[i].name);
        } else {
            buf_add(out, text++, 1);
        }
    }
}

static const char *wanted_key;
static struct buf *body_of_key;

static void key_body(const struct test_case *test)
{
    size_t len = strcspn(test->why, ":");

    if (strlen(wanted_key) != len || memcmp(test->why, wanted_key, len) != 0)
        return;
    json_open(body_of_key, '{');
    json_put_name(body_of_key, "public_key");
    json_put_text(body_of_key, (struct text){.s = test->input, .len = test->input_len});
    json_close(body_of_key, '}');
}

/* Takes "class/name". */
static void find_key(struct buf *out, const char *key)
{
    const char *name = strchr(key, '/') + 1;
    char file[64];

    snprintf(file, sizeof file, "keys/%.*s.cases", (int)(name - 1 - key), key);
    wanted_key = name;
    body_of_key = out;
    cases_each(file, key_body);
    if (out->len == 0)
        die(key, "no such key");
}

static void add_authorization(struct buf *out, const struct scenario *scenario,
                              const struct world *world)
{
    buf_puts(out, scenario->authorization ? scenario->authorization : "");
    if (scenario->who == WHO_UNKNOWN) {
        char key[API_KEY_SIZE];

        if (!api_key_make(key, text_of("ac_000000000000000000000000000")))
            die("key", "no random numbers");
        buf_printf(out, "Bearer %s", key);
    } else if (scenario->who < WHO_N) {
        buf_printf(out, "Bearer %s", world->keys[scenario->who]);
    }
}

void play_make(struct play *play, const struct scenario *scenario, const struct world *world)
{
    bool has_body = scenario->body || scenario->key;

    *play = (struct play){.scenario = scenario};
    fill_in(&play->path, scenario->path, world);
    if (scenario->key)
        find_key(&play->body, scenario->key);
    else
        fill_in(&play->body, has_body ? scenario->body : "", world);
    add_authorization(&play->authorization, scenario, world);
    play->request = (struct request){
        .method = scenario->method,
        .path = play->path.data,
        .query = scenario->query ? scenario->query : "",
        .script_name = "/mounted here",
        .scheme = "http",
        .host = "adit.example:8080",
        .server_name = "",
        .server_port = "8080",
        .authorization = play->authorization.data,
        .version = scenario->version ? scenario->version : "2",
        .origin = ORIGIN,
        .preflight_method = "PATCH",
        .content_type = scenario->content_type ? scenario->content_type
                        : has_body             ? "application/json"
                                               : "",
        .if_match = scenario->if_match,
        .idempotency_key = scenario->idempotency_key,
        .body_state = scenario->body_state,
        .body = buf_text(&play->body),
    };
}

void play_free(struct play *play)
{
    buf_free(&play->path);
    buf_free(&play->body);
    buf_free(&play->authorization);
}

void play_answer(const struct play *play, const struct world *world, struct worker *worker)
{
    api_answer(&world->settings[play->scenario->no_base_url], worker->store, &worker->arena,
               &play->request, &worker->response);
}
