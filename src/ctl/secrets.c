/* SPDX-License-Identifier: MIT */
/* aditctl secrets, and aditctl purge. */
#include <stdlib.h>

#include "ctl/ctl.h"
#include "store/audit_event.h"
#include "store/idempotency_key.h"
#include "store/keyring.h"
#include "store/oauth_secret.h"

/* A hundred years. */
#define MAX_DAYS 36500

int ctl_secrets_init(struct ctl *ctl)
{
    char reason[CONF_REASON_SIZE];

    if (!keyring_create(ctl->conf.key_file, reason, sizeof reason))
        return ctl_fail("%s", reason);
    printf("%s\n", ctl->conf.key_file);
    return CTL_OK;
}

int ctl_secrets_add_key(struct ctl *ctl)
{
    char reason[CONF_REASON_SIZE];

    if (!keyring_add(ctl->conf.key_file, reason, sizeof reason))
        return ctl_fail("%s", reason);
    printf("%s\n", ctl->conf.key_file);
    return CTL_OK;
}

static void print_unreadable(struct text edge_id, struct text route_id, const char *cause)
{
    ctl_fail("edge %s, route %s: %s", edge_id.s, route_id.s, cause);
}

int ctl_secrets_rekey(struct ctl *ctl)
{
    char reason[CONF_REASON_SIZE];
    struct keyring *keyring = keyring_load(ctl->conf.key_file, reason, sizeof reason);
    struct oauth_secret_rekeying done;
    struct error err;
    bool ok;

    if (!keyring)
        return ctl_fail("%s", reason);
    ok = oauth_secret_rekey(ctl->pg, keyring, print_unreadable, &done, &err);
    if (ok)
        printf("%lld secrets sealed under key %s\n", (long long)done.n_sealed,
               keyring_first(keyring));
    keyring_free(keyring);
    if (!ok)
        return ctl_fail_error(&err);
    if (done.n_left > 0)
        return ctl_fail(
            "%lld secrets are under other keys; run this again once every responder has "
            "the new key file",
            (long long)done.n_left);
    return CTL_OK;
}

static bool read_days(const char *s, int64_t *days)
{
    char *end;

    if (*s < '0' || *s > '9')
        return false;
    *days = strtoll(s, &end, 10);
    return !*end && *days >= 1 && *days <= MAX_DAYS;
}

int ctl_purge(struct ctl *ctl)
{
    const char *audit_days = ctl->options.audit_days;
    struct error err;
    int64_t days = 0;
    int64_t n;

    if (audit_days && !read_days(audit_days, &days))
        return ctl_misuse("--audit-days takes a number of days, 1 to %d", MAX_DAYS);
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
