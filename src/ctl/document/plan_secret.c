/* SPDX-License-Identifier: MIT */
/* Client secrets that a document refers to: in the environment, in files, or stored already.  No
 * message quotes one. */
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "ctl/document/plan_kind.h"
#include "ctl/document/secret_source.h"
#include "store/oauth_secret.h"

#define ADVICE "Give {\"env\": \"NAME\"} or {\"file\": \"PATH\"}."

/* Fills in a fault of the document.  Returns false. */
static bool bad_secret(struct error *fault, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

static bool bad_secret(struct error *fault, const char *format, ...)
{
    char what[400];
    va_list args;

    va_start(args, format);
    vsnprintf(what, sizeof what, format, args);
    va_end(args);
    return error_say(fault, ERR_WRONG_VALUE, "client_secret %s", what);
}

/* ---- values from elsewhere ---- */

static bool read_new_secret(struct plan *plan, const struct document_secret *secret,
                            struct text *value, struct error *fault)
{
    char reason[SECRET_REASON_SIZE];

    if (secret->source == DOCUMENT_SECRET_ENV)
        return secret_source_variable(plan->ctl, secret->name, value, reason) ||
               bad_secret(fault, "is from the variable %.160s, which %s", secret->name.s, reason);
    return secret_source_file(plan->ctl, secret->name, &plan->arena, value, reason) ||
           bad_secret(fault, "is from the file %.160s, which %s", secret->name.s, reason);
}

/* ---- stored secrets and digests ---- */

/* Reads the key file once.  Returns false after a message. */
static bool has_keyring(struct plan *plan)
{
    char reason[CONF_REASON_SIZE];

    if (!plan->keyring)
        plan->keyring = keyring_load(plan->ctl->conf.key_file, reason, sizeof reason);
    if (!plan->keyring)
        ctl_fail("client secrets need the key file: %s", reason);
    return plan->keyring != NULL;
}

static bool has_sealed(const struct document_row *row)
{
    return row->entry.of.module.value.oauth_module.config.client_secret.sealed.s != NULL;
}

/* Compares a secret with the digest of the document. */
static bool check_digest(struct plan *plan, const struct document_row *row, struct text digest,
                         struct text secret, struct error *fault)
{
    char made[KEYRING_DIGEST_SIZE];
    struct text key_id = text_part(digest, 0, strcspn(digest.s, ":"));
    struct error err;

    key_id.s = arena_copy(&plan->arena, key_id.s, key_id.len);
    if (!key_id.s)
        return error_set(fault, ERR_OUT_OF_MEMORY);
    if (!document_row_digest(row, plan->keyring, key_id, secret, made, &err))
        return bad_secret(fault,
                          "has a digest that was made with the key %.64s, which %.200s lacks. "
                          "Export again, or delete the digest to keep the stored secret.",
                          key_id.s, plan->ctl->conf.key_file);
    return text_eq(digest, text_of(made)) ||
           bad_secret(fault, "has another digest than the %s secret. %s",
                      has_sealed(row) ? "stored" : "given",
                      has_sealed(row) ? ADVICE " Or leave out client_secret to keep the stored one."
                                      : "Correct one of the two, or leave out the digest.");
}

/* Keeps the stored secret, which has to be there and to have the digest, if one is given. */
static bool keep_stored(struct plan *plan, const struct document_secret *secret,
                        const struct document_row *stored, struct plan_change *change,
                        struct error *fault)
{
    struct text value = {0};
    struct error err;

    change->write.keeps_secret = true;
    if (!stored)
        return bad_secret(fault, "is %s, and none is stored. " ADVICE,
                          secret->source == DOCUMENT_SECRET_DIGEST ? "only a digest" : "missing");
    if (!secret->digest.s)
        return true;
    if (!has_keyring(plan))
        return false;
    if (!document_row_secret(stored, plan->keyring, &plan->arena, &value, &err))
        return bad_secret(fault, "cannot be compared: %s", ctl_reason(&err));
    return check_digest(plan, stored, secret->digest, value, fault);
}

static bool seal(struct plan *plan, struct document_change *change, struct text value)
{
    struct document_row *row = &change->row;
    struct document_module *module = &row->entry.of.module;
    struct oauth_module *oauth = &module->value.oauth_module;
    struct field_secret *secret = &oauth->config.client_secret;
    struct keyring_place place =
        oauth_secret_place(row->account_id, &module->place, oauth->provider);
    struct error err;

    return keyring_seal(plan->keyring, &place, value, &plan->arena, &secret->key_id,
                        &secret->sealed, &err) ||
           plan_fail(&err);
}

/* Seals a value from elsewhere, unless it is what is stored. */
static bool take_new_secret(struct plan *plan, const struct document_secret *secret,
                            const struct document_row *stored, struct plan_change *change,
                            struct error *fault)
{
    struct text value = {0};
    struct text before = {0};
    struct error ignored;

    if (!has_keyring(plan) || !read_new_secret(plan, secret, &value, fault) ||
        (secret->digest.s && !check_digest(plan, &change->write.row, secret->digest, value, fault)))
        return false;
    /* One that cannot be opened is replaced. */
    if (stored && document_row_secret(stored, plan->keyring, &plan->arena, &before, &ignored))
        change->write.keeps_secret = text_eq(before, value);
    change->sets_secret = !change->write.keeps_secret;
    return !change->sets_secret || seal(plan, &change->write, value);
}

bool plan_secret(struct plan *plan, const struct document_item *item,
                 const struct document_row *row, struct plan_change *change, struct error *fault)
{
    const struct document_module *wanted = &item->entry.of.module;
    const struct document_row *stored = row;

    *fault = (struct error){.code = ERR_NONE};
    /* A secret is of one provider. */
    if (row && (!has_sealed(row) || row->entry.of.module.value.oauth_module.provider !=
                                        wanted->value.oauth_module.provider))
        stored = NULL;
    switch (wanted->secret.source) {
    case DOCUMENT_SECRET_NONE:
        change->sets_secret = row && has_sealed(row);
        return true;
    case DOCUMENT_SECRET_KEPT:
    case DOCUMENT_SECRET_DIGEST:
        return keep_stored(plan, &wanted->secret, stored, change, fault);
    case DOCUMENT_SECRET_ENV:
    case DOCUMENT_SECRET_FILE:
        return take_new_secret(plan, &wanted->secret, stored, change, fault);
    }
    return true;
}
