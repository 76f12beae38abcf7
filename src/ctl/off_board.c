/* SPDX-License-Identifier: MIT */
/* aditctl user and aditctl bot: disable, enable, delete. */
#include <stdlib.h>
#include <string.h>

#include "ctl/accounts.h"
#include "ctl/listing.h"
#include "ctl/principals.h"
#include "ctl/question.h"
#include "ctl/retry.h"

/* aditctl needs no admin: this is no reason to refuse. */
static void warn_last_admin(const struct principal_end *end)
{
    if (end->is_last_admin)
        ctl_note("warning: " ACCOUNTS_NO_ADMIN, end->account_id, end->account_id);
}

/* Asks before credentials are deleted, if there are any.  what: the question's first word, such as
 * "Disable".  Returns CTL_OK, or the exit status after a message. */
static int confirm_credentials(struct ctl *ctl, const struct principal *principal, const char *what)
{
    char question[160];
    struct pg_result *result;
    struct error err;
    int status = CTL_OK;

    if (!ctl->options.with_credentials || ctl->options.yes)
        return CTL_OK;
    if (!principal_show(ctl->pg, principal, &result, &err))
        return ctl_fail_error(&err);
    if (pg_rows(result) > 0) {
        int64_t n = strtoll(pg_text(result, 0, PRINCIPAL_SHOW_N_CREDENTIALS).s, NULL, 10);

        snprintf(question, sizeof question, "%s %s and delete its %lld SSH credential%s?", what,
                 principal->id.s, (long long)n, ctl_plural(n));
        if (n > 0)
            status = ctl_confirm(ctl, question);
    }
    pg_result_free(result);
    return status;
}

/* ---- disable and enable ---- */

static void print_disabled(const struct ctl *ctl, const struct principal *principal,
                           const struct principal_end *end)
{
    char n_keys[LISTING_NUMBER_SIZE];
    char n_credentials[LISTING_NUMBER_SIZE];
    char n_ended[LISTING_NUMBER_SIZE];
    const struct listing_fact facts[] = {
        {"id", LISTING_TEXT, principal->id},
        {"disabled_at", LISTING_TIME, text_of(end->disabled_at[0] ? end->disabled_at : NULL)},
        {"keys", LISTING_NUMBER, listing_number(n_keys, end->n_keys)},
        {"credentials", LISTING_NUMBER, listing_number(n_credentials, end->n_credentials)},
        {"deleted_credentials", LISTING_NUMBER, listing_number(n_ended, end->n_ended)},
    };

    if (listing_put_json(ctl, facts, sizeof facts / sizeof facts[0]))
        return;
    if (end->is_as_before && end->disabled_at[0])
        printf("%s is disabled since %s: %s API key%s stay%s refused\n", principal->id.s,
               end->disabled_at, n_keys, ctl_plural(end->n_keys), end->n_keys == 1 ? "s" : "");
    else if (end->is_as_before)
        printf("%s is not disabled: %s API key%s stay%s accepted\n", principal->id.s, n_keys,
               ctl_plural(end->n_keys), end->n_keys == 1 ? "s" : "");
    else
        printf("%s %s: %s API key%s %s\n", end->disabled_at[0] ? "disabled" : "enabled",
               principal->id.s, n_keys, ctl_plural(end->n_keys),
               end->disabled_at[0] ? "refused from now on" : "accepted again");
    if (ctl->options.with_credentials)
        printf("deleted %s SSH credential%s\n", n_ended, ctl_plural(end->n_ended));
    if (end->disabled_at[0])
        printf("%s SSH credential%s still permit%s tunnels\n", n_credentials,
               ctl_plural(end->n_credentials), end->n_credentials == 1 ? "s" : "");
}

static int disable(struct ctl *ctl, const char *kind, bool wanted)
{
    const struct principal principal = ctl_principal(ctl, kind);
    int status = confirm_credentials(ctl, &principal, "Disable");
    struct principal_end end;
    struct error err;

    if (status != CTL_OK)
        return status;
    if (!principal_disable(ctl->pg, &principal, wanted, &end, &err))
        return ctl_fail_error(&err);
    if (!end.found)
        return ctl_no_principal(&principal, wanted ? "disable" : "enable");
    /* In other transactions, which wait for writers that came before the first ended. */
    if (ctl->options.with_credentials &&
        !principal_end_credentials(ctl->pg, principal.id, &end, &err)) {
        ctl_fail("disabled %s, and deleted %lld of its SSH credentials, but others %s; run this "
                 "again",
                 principal.id.s, (long long)end.n_ended,
                 err.code == ERR_OUTCOME_UNKNOWN ? "may stand" : "stand");
        return ctl_fail_error(&err);
    }
    print_disabled(ctl, &principal, &end);
    if (end.same_keys[0])
        ctl_note("warning: others have SSH credentials with the same public keys, so whoever has "
                 "these keys may still open tunnels; look at %s with 'aditctl history'",
                 end.same_keys);
    if (wanted)
        warn_last_admin(&end);
    return CTL_OK;
}

/* ---- delete ---- */

/* Says why nothing was deleted. */
static int refuse_delete(const struct ctl *ctl, const struct principal *principal,
                         const struct principal_end *end)
{
    if (ctl->options.heir)
        return ctl_fail("--give-to '%s' is not another User or Bot of the same account that is "
                        "enabled; 'aditctl user list' and 'aditctl bot list' show them",
                        ctl->options.heir);
    return ctl_fail(
        "%s owns %lld SSH credential%s; give them to another User or Bot with --give-to "
        "ID, or delete them with --with-credentials",
        principal->id.s, (long long)end->n_credentials, ctl_plural(end->n_credentials));
}

static void print_deleted(const struct ctl *ctl, const struct principal *principal,
                          const struct principal_end *end)
{
    char n_keys[LISTING_NUMBER_SIZE];
    char n_credentials[LISTING_NUMBER_SIZE];
    const struct text heir = text_of(ctl->options.heir);
    const struct listing_fact facts[] = {
        {"id", LISTING_TEXT, principal->id},
        {"keys", LISTING_NUMBER, listing_number(n_keys, end->n_keys)},
        {"credentials", LISTING_NUMBER, listing_number(n_credentials, end->n_credentials)},
        {"given_to", LISTING_TEXT, heir},
    };

    if (listing_put_json(ctl, facts, sizeof facts / sizeof facts[0]))
        return;
    printf("deleted %s and %s API key%s\n", principal->id.s, n_keys, ctl_plural(end->n_keys));
    if (heir.s)
        printf("gave %s SSH credential%s to %s\n", n_credentials, ctl_plural(end->n_credentials),
               heir.s);
    else
        printf("deleted %s SSH credential%s\n", n_credentials, ctl_plural(end->n_credentials));
}

static bool try_delete(struct ctl *ctl, const struct principal *principal,
                       struct principal_end *end, struct error *err)
{
    const struct ctl_options *options = &ctl->options;

    return principal_begin(ctl->pg, err) &&
           pg_end(ctl->pg,
                  principal_delete(ctl->pg, principal, text_of(options->heir),
                                   options->with_credentials, end, err),
                  NULL, err);
}

static int delete_principal(struct ctl *ctl, const char *kind)
{
    const struct principal principal = ctl_principal(ctl, kind);
    struct principal_end end;
    struct error err;
    int n_tries = 0;
    int status;

    if (ctl->options.heir && ctl->options.with_credentials)
        return ctl_misuse("--give-to and --with-credentials exclude each other; give one of them");
    status = confirm_credentials(ctl, &principal, "Delete");
    if (status != CTL_OK)
        return status;
    /* Others may create something of it in between. */
    while (!try_delete(ctl, &principal, &end, &err)) {
        if (!ctl_try_again(&err, &n_tries))
            return ctl_fail_error(&err);
    }
    if (!end.found)
        return ctl_no_principal(&principal, "delete");
    if (!end.is_deleted)
        return refuse_delete(ctl, &principal, &end);
    print_deleted(ctl, &principal, &end);
    warn_last_admin(&end);
    return CTL_OK;
}

/* ---- the verbs ---- */

int ctl_user_disable(struct ctl *ctl)
{
    return disable(ctl, "user", true);
}

int ctl_bot_disable(struct ctl *ctl)
{
    return disable(ctl, "bot", true);
}

int ctl_user_enable(struct ctl *ctl)
{
    return disable(ctl, "user", false);
}

int ctl_bot_enable(struct ctl *ctl)
{
    return disable(ctl, "bot", false);
}

int ctl_user_delete(struct ctl *ctl)
{
    return delete_principal(ctl, "user");
}

int ctl_bot_delete(struct ctl *ctl)
{
    return delete_principal(ctl, "bot");
}
