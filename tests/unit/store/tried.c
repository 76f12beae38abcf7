/* SPDX-License-Identifier: MIT */
/* A store over a real PostgreSQL. */
#include "nodes/nodes.h"
#include "store/tried.h"

#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "model/key_kind.h"

struct tried tried;

/* For key files, which must stay while a store seals with them. */
static char folder[64];
static int n_keyrings;

static void name_key_file(char path[96], int number)
{
    snprintf(path, 96, "%s/key%d", folder, number);
}

static void make_folder(void)
{
    const char *tmp = getenv("TMPDIR");

    snprintf(folder, sizeof folder, "%.32s/adit-store.XXXXXX", tmp ? tmp : "/tmp");
    ck_assert_ptr_nonnull(mkdtemp(folder));
    n_keyrings = 0;
}

static void remove_folder(void)
{
    char path[96];

    for (int i = 0; i < n_keyrings; i++) {
        name_key_file(path, i);
        unlink(path);
    }
    rmdir(folder);
}

struct keyring *tried_keyring(const char *content)
{
    char path[96];
    char reason[256] = "";
    struct keyring *made;
    FILE *file;

    name_key_file(path, n_keyrings++);
    ck_assert_msg(keyring_create(path, reason, sizeof reason), "%s", reason);
    if (content) {
        file = fopen(path, "w");
        ck_assert_ptr_nonnull(file);
        fputs(content, file);
        ck_assert_int_eq(fclose(file), 0);
    }
    made = keyring_load(path, reason, sizeof reason);
    ck_assert_msg(made != NULL, "%s", reason);
    return made;
}

struct store_request tried_issue(const char *principal_id, bool read_only, int64_t expires_s,
                                 char key_id[34])
{
    return (struct store_request){
        .caller = database_issue(tried.owner, principal_id, read_only, expires_s, key_id),
        .operation_id = "op_test",
        .keys = KEYS_READ,
        .arena = &tried.arena,
    };
}

const struct ssh_credential_page tried_all = {.limit = 100, .most_bytes = SIZE_MAX};

static char database[32];

/* The store connects as the responder's role, and tried.gateway as that of gateways. */
void tried_set_up(void)
{
    static int n;

    snprintf(database, sizeof database, "store_%d_%d", (int)getpid(), n++);
    tried.owner = database_create(database);
    database_migrate(tried.owner);
    database_run(tried.owner, "DO $$ BEGIN CREATE ROLE adit_tester LOGIN IN ROLE adit_responder;"
                              " CREATE ROLE adit_tester_gateway LOGIN IN ROLE adit_gateway;"
                              " EXCEPTION WHEN duplicate_object THEN NULL; END $$");
    database_fill(tried.owner, &tried.who);
    tried.admin = tried_issue(tried.who.admin, false, 0, NULL);
    tried.member = tried_issue(tried.who.member, false, 0, NULL);
    tried.reader = tried_issue(tried.who.admin, true, 0, NULL);
    tried.other = tried_issue(tried.who.other_admin, false, 0, NULL);
    make_folder();
    tried.keyring = tried_keyring(NULL);
    tried.responder = database_connect(database, "adit_tester");
    tried.gateway = database_connect(database, "adit_tester_gateway");
    tried.store = store_new(tried.responder, tried.keyring);
    ck_assert_ptr_nonnull(tried.store);
    tried.err = (struct error){.code = ERR_NONE};
}

void tried_run_file(const char *name)
{
    const char *cases_dir = getenv("CASES_DIR");
    char path[4096];
    char sql[32768];
    size_t len;
    FILE *file;

    snprintf(path, sizeof path, "%s/../../sql/%s", cases_dir, name);
    file = fopen(path, "r");
    ck_assert_msg(file != NULL, "%s", path);
    len = fread(sql, 1, sizeof sql, file);
    ck_assert(len < sizeof sql);
    sql[len] = '\0';
    fclose(file);
    ck_assert_msg(pg_script(tried.owner, sql, 20000, &tried.err), "%s: %s", name, tried.err.cause);
}

void tried_set_up_distributed(void)
{
    tried_set_up();
    tried_run_file("optional/distributed.sql");
    nodes_place(tried.responder, true);
}

struct pg *tried_connect(void)
{
    return database_connect(database, "postgres");
}

void tried_tear_down(void)
{
    arena_free(&tried.arena);
    store_free(tried.store);
    keyring_free(tried.keyring);
    remove_folder();
    pg_free(tried.responder);
    pg_free(tried.gateway);
    pg_free(tried.owner);
}

struct ssh_credential tried_input(const char *fingerprint)
{
    return (struct ssh_credential){.public_key = text_of("the key \xC3\xA9\n"),
                                   .key_type = text_of(TRIED_TYPE),
                                   .fingerprint = text_of(fingerprint),
                                   .enabled = true};
}

/* Bypasses the triggers, so that the revision stays. */
static void rename_credential(struct ssh_credential *credential, const char *id)
{
    char sql[256];

    snprintf(sql, sizeof sql,
             "BEGIN; SET LOCAL session_replication_role = replica;"
             " UPDATE adit.ssh_credential SET id = '%s', is_timely = false WHERE id = '%s'; COMMIT",
             id, credential->id.s);
    database_run(tried.owner, sql);
    credential->id = text_of(id);
}

bool tried_create(const struct store_request *request, const char *id,
                  const struct ssh_credential *input, struct ssh_credential_list *list)
{
    *list = (struct ssh_credential_list){0};
    tried.err = (struct error){.code = ERR_NONE};
    if (!store_ssh_credential_create(tried.store, request, input, list, &tried.err))
        return false;
    rename_credential(&list->items[0], id);
    return true;
}

void tried_have(const struct store_request *request, const char *id)
{
    struct ssh_credential input = tried_input(TRIED_FINGERPRINT("0"));
    struct ssh_credential_list list;

    ck_assert_msg(tried_create(request, id, &input, &list), "%s", tried.err.cause);
    ssh_credential_list_free(&list);
}

void tried_have_many(int n, const char *fingerprint, const char *rules)
{
    char sql[800];

    /* An account may have had more credentials of a key than it may make now. */
    snprintf(sql, sizeof sql,
             "ALTER TABLE adit.ssh_credential DISABLE TRIGGER limit_public_key;"
             "INSERT INTO adit.ssh_credential"
             " (account_id, id, owner_id, key_type, fingerprint, public_key, acl)"
             " SELECT '%s', 'sshcr_many' || lpad(i::text, 23, '0'), '%s', '" TRIED_TYPE "', '%s',"
             " 'k', %s FROM generate_series(1, %d) AS i;"
             "ALTER TABLE adit.ssh_credential ENABLE TRIGGER limit_public_key",
             tried.who.account[0], tried.who.admin, fingerprint, rules, n);
    database_run(tried.owner, sql);
}

void tried_list_own(int limit, struct ssh_credential_list *list)
{
    struct ssh_credential_page page = {.limit = limit, .most_bytes = SIZE_MAX};
    char source[64];

    snprintf(source, sizeof source, "obj.owner_id == '%s'", tried.who.admin);
    ck_assert(filter_parse(text_of(source), ssh_credential_filter_members, 0, &tried.arena,
                           &page.filter, &tried.err));
    ck_assert_msg(store_ssh_credential_list(tried.store, &tried.admin, &page, list, &tried.err),
                  "%s", tried.err.cause);
}

bool tried_get(const struct store_request *request, const char *id,
               struct ssh_credential_list *list)
{
    *list = (struct ssh_credential_list){0};
    tried.err = (struct error){.code = ERR_NONE};
    return store_ssh_credential_get(tried.store, request, text_of(id), list, &tried.err);
}

const struct module_place tried_edge = {.edge_id = {.s = "e", .len = 1}};
const struct module_place tried_route = {.edge_id = {.s = "e", .len = 1},
                                         .route_id = {.s = "r", .len = 1}};

/* Each list of the module has different entries, so that swapped columns show. */
struct oauth_module tried_full_module(struct text items[5])
{
    static const char *const texts[] = {"scope", "address", "domain", "team", "organization"};
    struct oauth_module module = {.enabled = true,
                                  .provider = 1,
                                  .options_passthrough = true,
                                  .cookie_prefix = text_of("c."),
                                  .inactivity_timeout = 1,
                                  .maximum_duration = UINT32_MAX,
                                  .auth_check_interval = 3};
    struct text_list *lists[] = {&module.config.scopes, &module.config.email_addresses,
                                 &module.config.email_domains, &module.config.teams,
                                 &module.config.organizations};

    module.config.client_id = text_of("i");
    module.config.client_secret.plain = text_of(TRIED_SECRET);
    for (size_t i = 0; i < 5; i++) {
        items[i] = text_of(texts[i]);
        *lists[i] = (struct text_list){.items = &items[i], .n = 1, .given = true};
    }
    return module;
}

bool tried_put_oauth(const struct store_request *request, struct oauth_module *module)
{
    tried.err = (struct error){.code = ERR_NONE};
    return store_resource_put(tried.store, request, RESOURCE_OAUTH_MODULE, &tried_route, module,
                              &tried.err);
}

bool tried_get_oauth(const struct store_request *request, struct oauth_module *module)
{
    tried.err = (struct error){.code = ERR_NONE};
    return store_resource_get(tried.store, request, RESOURCE_OAUTH_MODULE, &tried_route, module,
                              &tried.err);
}

bool tried_get_mutual_tls(const struct store_request *request, struct mutual_tls_module *module)
{
    tried.err = (struct error){.code = ERR_NONE};
    return store_resource_get(tried.store, request, RESOURCE_MUTUAL_TLS_MODULE, &tried_edge, module,
                              &tried.err);
}

void tried_expect_text(struct text value, const char *wanted)
{
    ck_assert_msg(text_eq(value, text_of(wanted)), "'%s' is not '%s'", value.s, wanted);
}
