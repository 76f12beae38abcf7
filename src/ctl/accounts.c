/* SPDX-License-Identifier: MIT */
/* aditctl account create, account list, account rename, account delete. */
#include "ctl/accounts.h"

#include "ctl/listing.h"
#include "ctl/option_values.h"
#include "ctl/output.h"
#include "ctl/question.h"
#include "store/account.h"
#include "store/store.h"

const char *accounts_first_user(struct pg *pg)
{
    static const char *const commands[] = {
        "aditctl account create --name NAME", "aditctl user create --name NAME",
        "aditctl user create --account ID --name NAME ('aditctl account list' shows the ids)"};
    static const char uncounted[] =
        "aditctl user create --name NAME, with --account ID if there are several accounts";
    struct error err = {.code = ERR_NONE};
    char only[IDENT_SIZE];
    int n = 0;

    if (account_find_only(pg, only, &n, &err))
        return commands[1];
    return err.code ? uncounted : commands[n]; /* the responder's role may not read accounts */
}

bool accounts_find_second(const struct ctl *ctl, char only[IDENT_SIZE], struct error *err)
{
    struct error reason = {.code = ERR_NONE};
    int n = 0;

    if (account_find_only(ctl->pg, only, &n, &reason))
        return true;
    only[0] = '\0';
    *err = reason;
    return reason.code == ERR_NONE;
}

int accounts_confirm_second(const struct ctl *ctl)
{
    return ctl->options.yes || !ctl_may_ask() ? CTL_OK : ctl_confirm(ctl, "Make a second account?");
}

/* Warns on standard error if another account would be the second.  Sets *is_second to whether it
 * would.  Returns false with *err as pg_run(). */
static bool warn_second_account(const struct ctl *ctl, bool *is_second, struct error *err)
{
    char only[IDENT_SIZE];

    *is_second = false;
    if (!accounts_find_second(ctl, only, err))
        return false;
    *is_second = only[0] != '\0';
    if (*is_second)
        ctl_note("warning: " ACCOUNTS_SECOND, only);
    return true;
}

/* Warns if another account has the name, which is fine.  Returns CTL_OK, or CTL_FAILED after a
 * message. */
static int warn_namesake(const struct ctl *ctl, struct text name, struct text but_id)
{
    char other[IDENT_SIZE] = "";
    struct error err;

    if (text_present(name) && !account_find_named(ctl->pg, name, but_id, other, &err))
        return ctl_fail_error(&err);
    if (other[0])
        ctl_note("warning: the account %s has the same name; their ids tell them apart", other);
    return CTL_OK;
}

int ctl_account_create(struct ctl *ctl)
{
    struct text name = text_of(ctl->options.name ? ctl->options.name : "");
    char id[IDENT_SIZE];
    bool is_second;
    struct error err;
    int status = CTL_OK;

    if (!ctl_text_valid("name", ctl->options.name))
        return CTL_USAGE;
    if (!warn_second_account(ctl, &is_second, &err))
        return ctl_fail_error(&err);
    if (is_second)
        status = accounts_confirm_second(ctl);
    if (status == CTL_OK)
        status = warn_namesake(ctl, name, text_of(""));
    if (status != CTL_OK)
        return status;
    if (!store_begin(ctl->pg, &err) || !account_create(ctl->pg, name, id, &err))
        return ctl_fail_error(&err);
    listing_print_value(ctl, "id", id);
    return ctl_commit(ctl);
}

int ctl_account_list(struct ctl *ctl)
{
    static const struct listing_column columns[ACCOUNT_N_COLUMNS] = {
        [ACCOUNT_ID] = {"ID", "id", LISTING_TEXT, 0},
        [ACCOUNT_CREATED_AT] = {"CREATED", "created_at", LISTING_TIME, 0},
        [ACCOUNT_NAME] = {"NAME", "name", LISTING_TEXT, 0},
    };
    static const struct listing listing = {"accounts", columns, ACCOUNT_N_COLUMNS};
    struct pg_result *result;
    struct error err;

    if (!account_list(ctl->pg, &result, &err))
        return ctl_fail_error(&err);
    listing_print(ctl, &listing, result);
    pg_result_free(result);
    return CTL_OK;
}

static int fail_unknown(const char *id)
{
    return ctl_fail("there is no account with the id '%s'; 'aditctl account list' shows the ids",
                    id);
}

int ctl_account_rename(struct ctl *ctl)
{
    const char *id = ctl->options.argument;
    struct error err;
    bool found;

    if (!ctl->options.name)
        return ctl_misuse("'account rename' needs the new name: --name TEXT");
    if (!ctl_text_valid("name", ctl->options.name))
        return CTL_USAGE;
    if (!account_rename(ctl->pg, text_of(id), text_of(ctl->options.name), &found, &err))
        return ctl_fail_error(&err);
    if (!found)
        return fail_unknown(id);
    if (warn_namesake(ctl, text_of(ctl->options.name), text_of(id)) != CTL_OK)
        return CTL_FAILED;
    listing_put_json(ctl, &(struct listing_fact){"id", LISTING_TEXT, text_of(id)}, 1);
    return CTL_OK;
}

/* Returns false after a message that says what stands in the account. */
static bool check_rest(const char *id, const struct account_rest *rest)
{
    int64_t n = rest->principals;
    struct buf modules = {0};

    for (int kind = 0; kind < RESOURCE_N_KINDS; kind++) {
        n += rest->modules[kind];
        buf_printf(&modules, ", %ss: %lld", resource_row((enum resource_kind)kind)->title,
                   (long long)rest->modules[kind]);
    }
    if (n > 0)
        ctl_fail("the account %s is not empty: Users and Bots: %lld%s; delete those first", id,
                 (long long)rest->principals, buf_text(&modules).s);
    buf_free(&modules);
    return n == 0;
}

int ctl_account_delete(struct ctl *ctl)
{
    const char *id = ctl->options.argument;
    struct account_rest rest;
    struct error err;

    if (!account_delete(ctl->pg, text_of(id), &rest, &err))
        return ctl_fail_error(&err);
    if (!rest.found)
        return fail_unknown(id);
    if (!check_rest(id, &rest))
        return CTL_FAILED;
    listing_put_json(ctl, &(struct listing_fact){"id", LISTING_TEXT, text_of(id)}, 1);
    return CTL_OK;
}
