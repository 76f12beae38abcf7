/* SPDX-License-Identifier: MIT */
/* aditctl secrets, and aditctl purge. */
#include "base/number.h"
#include "ctl/listing.h"
#include "ctl/progress.h"
#include "store/audit_purge.h"
#include "store/idempotency_key.h"
#include "keyring/keyring.h"
#include "store/oauth_secret.h"
#include "store/schema.h"

/* A hundred years. */
#define AUDIT_DAYS_MAX 36500

/* Writes the key file, and prints its path. */
static int write_key_file(const struct ctl *ctl, bool (*write)(const char *, char *, size_t))
{
    const char *path = ctl->conf.key_file;
    char reason[CONF_REASON_SIZE];

    if (!write(path, reason, sizeof reason))
        return ctl_fail("%s", reason);
    listing_print_value(ctl, "path", path);
    return CTL_OK;
}

static void warn_lost(void *context, const char *what)
{
    (void)context;
    ctl_note("note: %s", what);
}

/* The new file does not open secrets that are stored already.  Often there is no database yet. */
int ctl_secrets_init(struct ctl *ctl)
{
    int status = write_key_file(ctl, keyring_create);
    struct oauth_secret_counts counts;
    struct error err;

    if (status == CTL_OK && oauth_secret_count(ctl->pg, NULL, &counts, &err))
        (void)ctl_lost_keys(ctl, &counts, NULL, warn_lost, NULL);
    return status;
}

int ctl_secrets_add_key(struct ctl *ctl)
{
    return write_key_file(ctl, keyring_add);
}

static void print_unreadable(void *context, const struct keyring_place *place, const char *cause)
{
    progress_erase(context);
    ctl_fail("account %s, edge %s, route %s: %s", place->account_id.s, place->ids[0].s,
             place->ids[1].s, cause);
}

static void show_sealed(void *context, int64_t n)
{
    progress_show(context, n);
}

int64_t ctl_lost_keys(const struct ctl *ctl, const struct oauth_secret_counts *counts,
                      const struct keyring *keyring, void (*lost)(void *context, const char *what),
                      void *context)
{
    int64_t n_others = 0;

    for (size_t i = 0; i < counts->n_rows; i++) {
        const char *key_id = counts->rows[i].key_id;
        int64_t n = counts->rows[i].n;
        char what[CONF_REASON_SIZE];

        if (keyring && keyring_has(keyring, text_of(key_id))) {
            n_others += n;
            continue;
        }
        snprintf(what, sizeof what,
                 "%lld secret%s sealed under key %s, which %s lacks; restore this key from your "
                 "copy of the file",
                 (long long)n, n == 1 ? " is" : "s are", key_id, ctl->conf.key_file);
        lost(context, what);
    }
    return n_others;
}

static void print_lost(void *context, const char *what)
{
    bool *is_any = context;

    *is_any = true;
    ctl_fail("%s", what);
}

/* Prints which secrets are not sealed under the first key of the keyring, and what to do.  A NULL
 * keyring has no keys.  Returns CTL_OK if there are no such secrets, else CTL_FAILED. */
static int tell_left(struct ctl *ctl, const struct keyring *keyring, int64_t n_damaged)
{
    struct oauth_secret_counts counts;
    struct error err;
    bool is_lost = false;
    int64_t n_left;

    if (!oauth_secret_count(ctl->pg, keyring, &counts, &err))
        return ctl_fail_error(&err);
    n_left = ctl_lost_keys(ctl, &counts, keyring, print_lost, &is_lost) - n_damaged;
    if (n_damaged > 0)
        ctl_fail("%lld secret%s damaged; PUT the modules named above again, with client_secret",
                 (long long)n_damaged, n_damaged == 1 ? " is" : "s are");
    if (n_left > 0)
        ctl_fail("%lld secret%s still sealed under an old key; give every responder the new key "
                 "file, then run again: aditctl secrets rekey",
                 (long long)n_left, n_left == 1 ? " is" : "s are");
    return is_lost || n_damaged > 0 || n_left > 0 ? CTL_FAILED : CTL_OK;
}

static void print_sealed(const struct ctl *ctl, const struct oauth_secret_rekeying *done,
                         const char *key_id)
{
    char sealed[LISTING_NUMBER_SIZE];
    char damaged[LISTING_NUMBER_SIZE];
    const struct listing_fact facts[] = {
        {"key_id", LISTING_TEXT, text_of(key_id)},
        {"sealed", LISTING_NUMBER, listing_number(sealed, done->n_sealed)},
        {"damaged", LISTING_NUMBER, listing_number(damaged, done->n_damaged)},
    };

    if (!listing_put_json(ctl, facts, 3))
        printf("%lld secret%s sealed under key %s\n", (long long)done->n_sealed,
               ctl_plural(done->n_sealed), key_id);
}

/* Seals all again, and prints the result.  The record of changes would take what another role seals
 * for new secrets. */
static int rekey(struct ctl *ctl, struct keyring *keyring)
{
    struct progress progress;
    const struct oauth_secret_calls calls = {
        .unreadable = print_unreadable, .sealed = show_sealed, .context = &progress};
    struct oauth_secret_rekeying done;
    struct error err;
    bool may, sealed;

    if (!schema_may_act_as_owner(ctl->pg, &may, &err))
        return ctl_fail_error(&err);
    if (!may)
        return ctl_fail("nothing was changed: this must connect as the owner of the tables, or the "
                        "record of changes would show new secrets; name the owner's role in "
                        "admin_conninfo in [database] of the settings");
    progress_start(&progress, ctl, "secrets sealed", 0);
    sealed = oauth_secret_rekey(ctl->pg, keyring, &calls, &done, &err);
    progress_erase(&progress);
    if (!sealed)
        return ctl_fail_error(&err);
    print_sealed(ctl, &done, keyring_first(keyring));
    return tell_left(ctl, keyring, done.n_damaged);
}

int ctl_secrets_rekey(struct ctl *ctl)
{
    char reason[CONF_REASON_SIZE];
    struct keyring *keyring = keyring_load(ctl->conf.key_file, reason, sizeof reason);
    int status;

    if (!keyring && keyring_is_missing(ctl->conf.key_file)) {
        status = tell_left(ctl, NULL, 0);
        return status == CTL_OK ? ctl_fail("%s", reason)
                                : ctl_fail("%s: there is no such file", ctl->conf.key_file);
    }
    if (!keyring)
        return ctl_fail("%s", reason);
    status = rekey(ctl, keyring);
    keyring_free(keyring);
    return status;
}

static bool read_days(const char *s, int64_t *days)
{
    uint64_t number;

    if (!number_read(text_of(s), 10, AUDIT_DAYS_MAX, &number) || number < 1)
        return false;
    *days = (int64_t)number;
    return true;
}

/* Prints how many rows were removed.  n_events < 0: events were left alone. */
static void print_removed(const struct ctl *ctl, int64_t n_keys, int64_t n_events)
{
    char keys[LISTING_NUMBER_SIZE];
    char events[LISTING_NUMBER_SIZE];
    const struct listing_fact facts[] = {
        {"idempotency_keys", LISTING_NUMBER, listing_number(keys, n_keys)},
        {"audit_events", LISTING_NUMBER,
         n_events < 0 ? text_of(NULL) : listing_number(events, n_events)},
    };

    if (listing_put_json(ctl, facts, 2))
        return;
    printf("%lld idempotency key%s removed\n", (long long)n_keys, ctl_plural(n_keys));
    if (n_events >= 0)
        printf("%lld event%s removed from the record of changes\n", (long long)n_events,
               ctl_plural(n_events));
}

int ctl_purge(struct ctl *ctl)
{
    const char *audit_days = ctl->options.audit_days;
    struct progress progress;
    const struct long_work work = progress_work(&progress);
    int64_t n_events = -1;
    struct error err;
    bool purged;
    int64_t days = 0;
    int64_t n_keys;

    if (audit_days && !read_days(audit_days, &days))
        return ctl_misuse("--audit-days '%s' is not accepted; expected a number of days, 1 to %d",
                          audit_days, AUDIT_DAYS_MAX);
    progress_start(&progress, ctl, "rows removed", 0);
    purged = idempotency_key_purge(ctl->pg, &work, &n_keys, &err) &&
             (!audit_days || audit_purge(ctl->pg, days, &work, &n_events, &err));
    progress_erase(&progress);
    if (!purged)
        return ctl_fail_error(&err);
    print_removed(ctl, n_keys, n_events);
    return CTL_OK;
}
