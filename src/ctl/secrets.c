/* SPDX-License-Identifier: MIT */
/* aditctl secrets, and aditctl purge. */
#include "base/number.h"
#include "ctl/ctl.h"
#include "store/audit_event.h"
#include "store/idempotency_key.h"
#include "store/keyring.h"
#include "store/oauth_secret.h"

/* A hundred years. */
#define AUDIT_DAYS_MAX 36500

/* Writes the key file, and prints its path. */
static int write_key_file(const char *path, bool (*write)(const char *, char *, size_t))
{
    char reason[CONF_REASON_SIZE];

    if (!write(path, reason, sizeof reason))
        return ctl_fail("%s", reason);
    puts(path);
    return CTL_OK;
}

int ctl_secrets_init(struct ctl *ctl)
{
    return write_key_file(ctl->conf.key_file, keyring_create);
}

int ctl_secrets_add_key(struct ctl *ctl)
{
    return write_key_file(ctl->conf.key_file, keyring_add);
}

static void print_unreadable(struct text edge_id, struct text route_id, const char *cause)
{
    ctl_fail("edge %s, route %s: %s", edge_id.s, route_id.s, cause);
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

int ctl_secrets_rekey(struct ctl *ctl)
{
    char reason[CONF_REASON_SIZE];
    struct keyring *keyring = keyring_load(ctl->conf.key_file, reason, sizeof reason);
    struct oauth_secret_rekeying done;
    struct error err;
    int status;

    if (!keyring && keyring_is_missing(ctl->conf.key_file)) {
        status = tell_left(ctl, NULL, 0);
        return status == CTL_OK ? ctl_fail("%s", reason)
                                : ctl_fail("%s: there is no such file", ctl->conf.key_file);
    }
    if (!keyring)
        return ctl_fail("%s", reason);
    if (oauth_secret_rekey(ctl->pg, keyring, print_unreadable, &done, &err)) {
        printf("%lld secret%s sealed under key %s\n", (long long)done.n_sealed,
               done.n_sealed == 1 ? "" : "s", keyring_first(keyring));
        status = tell_left(ctl, keyring, done.n_damaged);
    } else {
        status = ctl_fail_error(&err);
    }
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

int ctl_purge(struct ctl *ctl)
{
    const char *audit_days = ctl->options.audit_days;
    struct error err;
    int64_t days = 0;
    int64_t n;

    if (audit_days && !read_days(audit_days, &days))
        return ctl_misuse("--audit-days '%s' is not accepted; expected a number of days, 1 to %d",
                          audit_days, AUDIT_DAYS_MAX);
    if (!idempotency_key_purge(ctl->pg, &n, &err))
        return ctl_fail_error(&err);
    printf("%lld idempotency key%s removed\n", (long long)n, n == 1 ? "" : "s");
    if (!audit_days)
        return CTL_OK;
    if (!audit_event_purge(ctl->pg, days, &n, &err))
        return ctl_fail_error(&err);
    printf("%lld event%s removed from the record of changes\n", (long long)n, n == 1 ? "" : "s");
    return CTL_OK;
}
