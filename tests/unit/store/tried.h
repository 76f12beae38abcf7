/* SPDX-License-Identifier: MIT */
/* A store over a real PostgreSQL, and short calls of its operations. */
#ifndef ADIT_TESTS_STORE_TRIED_H
#define ADIT_TESTS_STORE_TRIED_H

#include "store/database.h"
#include "store/resource.h"
#include "store/ssh_credential.h"

/* The state of a test.  The store runs as the responder's role, gateway as that of
 * gateways, owner is a superuser. */
extern struct tried {
    struct pg *owner;
    struct pg *responder;
    struct pg *gateway;
    struct store *store;
    struct keyring *keyring;
    struct arena arena;
    struct accounts who;
    struct store_request admin;  /* requests with keys of an admin, */
    struct store_request member; /* of a Bot of the same account, */
    struct store_request reader; /* of the admin again, read-only, */
    struct store_request other;  /* and of the admin of another account */
    struct error err;            /* of the latest operation */
} tried;

void tried_set_up(void);

/* The same, and the store takes the database for one whose rows are on several nodes. */
void tried_set_up_distributed(void);
void tried_tear_down(void);

/* Runs a file of the folder sql as the superuser. */
void tried_run_file(const char *name);

/* Returns another connection as a superuser.  pg_free() frees it. */
struct pg *tried_connect(void);

/* Issues a key and returns a request with it; expires_s as in api_key_issue(). */
struct store_request tried_issue(const char *principal_id, bool read_only, int64_t expires_s,
                                 char key_id[34]);

/* The page that has the whole list. */
extern const struct ssh_credential_page tried_all;

#define TRIED_TYPE "ssh-ed25519"
#define TRIED_FINGERPRINT(c) "SHA256:" c "000000000000000000000000000000000000000000"
#define TRIED_ID(digit) "sshcr_00000000000000000000000000" digit

/* Returns the input of a credential with only its key set. */
struct ssh_credential tried_input(const char *fingerprint);

/* Run an operation with tried.err, which they set to ERR_NONE first.  A created credential gets
 * this identifier instead of the assigned one. */
bool tried_create(const struct store_request *request, const char *id,
                  const struct ssh_credential *input, struct ssh_credential_list *list);
bool tried_get(const struct store_request *request, const char *id,
               struct ssh_credential_list *list);

/* Lists the admin's credentials under a filter that names the owner alone.  The caller frees *list.
 */
void tried_list_own(int limit, struct ssh_credential_list *list);

/* Creates a credential, which must succeed. */
void tried_have(const struct store_request *request, const char *id);

/* Inserts n credentials of the admin with that fingerprint.  rules is SQL, a text[] that may depend
 * on i, the number of the credential from 1 on. */
void tried_have_many(int n, const char *fingerprint, const char *rules);

/* Returns the keyring of a key file with this content; NULL: with one new key.  The caller frees
 * it.
 */
struct keyring *tried_keyring(const char *content);

/* Put or read the module of this route.  The full module has every column set, with this secret.
 */
extern const struct module_place tried_route;
extern const struct module_place tried_edge; /* of the mutual TLS module */
#define TRIED_SECRET "hush \xC3\xA9"
struct oauth_module tried_full_module(struct text items[5]);
bool tried_put_oauth(const struct store_request *request, struct oauth_module *module);
bool tried_get_oauth(const struct store_request *request, struct oauth_module *module);

/* The module of edge "e". */
bool tried_get_mutual_tls(const struct store_request *request, struct mutual_tls_module *module);

void tried_expect_text(struct text value, const char *wanted);

#endif
