/* SPDX-License-Identifier: MIT */
/* aditctl user and aditctl bot: create, list, show, rename. */
#include <string.h>

#include "ctl/keys.h"
#include "ctl/option_values.h"
#include "ctl/output.h"
#include "ctl/principals.h"
#include "store/account.h"
#include "store/store.h"

/* Sets *account_id to the value of --account.  Without --account, sets it to the id of the only
 * account, and writes that id to only.  Returns CTL_OK, or the exit status after a message. */
static int choose_account(struct ctl *ctl, char only[IDENT_SIZE], struct text *account_id)
{
    struct error err = {.code = ERR_NONE};
    int n = 0;

    *account_id = text_of(ctl->options.account);
    if (account_id->s)
        return CTL_OK;
    if (account_find_only(ctl->pg, only, &n, &err)) {
        *account_id = text_of(only);
        return CTL_OK;
    }
    if (n > 1)
        return ctl_misuse("there are several accounts; name one with --account");
    return err.code ? ctl_fail_error(&err)
                    : ctl_fail("there is no account; run: aditctl account create");
}

/* Warns if another User or Bot of the account has the name, which is fine.  Returns CTL_OK, or
 * CTL_FAILED after a message. */
static int warn_same_name(const struct ctl *ctl, struct text account_id, struct text name,
                          struct text but_id)
{
    char other[IDENT_SIZE] = "";
    struct error err;

    if (text_present(name) && !principal_find_named(ctl->pg, account_id, name, but_id, other, &err))
        return ctl_fail_error(&err);
    if (other[0])
        ctl_note("warning: %s of the account has the same name; their ids tell them "
                 "apart",
                 other);
    return CTL_OK;
}

/* Creates a principal of the kind, "user" or "bot". */
static int create_principal(struct ctl *ctl, const char *kind)
{
    struct text name = text_of(ctl->options.name ? ctl->options.name : "");
    struct text account_id;
    char only[IDENT_SIZE];
    char id[IDENT_SIZE];
    struct error err;
    int status;

    if (!ctl_text_valid("name", ctl->options.name))
        return CTL_USAGE;
    status = choose_account(ctl, only, &account_id);
    if (status == CTL_OK)
        status = warn_same_name(ctl, account_id, name, text_of(""));
    if (status != CTL_OK)
        return status;
    if (!store_begin(ctl->pg, &err) ||
        !principal_create(ctl->pg,
                          &(struct principal_new){account_id, kind, name, ctl->options.is_admin},
                          id, &err))
        return ctl_fail_error(&err);
    if (!id[0])
        return ctl_fail("there is no account with the id '%s'; 'aditctl account list' shows the "
                        "ids",
                        account_id.s);
    listing_print_value(ctl, "id", id);
    return ctl_commit(ctl);
}

/* The name is that of the list in JSON. */
static int list_principals(struct ctl *ctl, const char *kind, const char *name)
{
    static const struct listing_column columns[PRINCIPAL_N_COLUMNS] = {
        [PRINCIPAL_ID] = {"ID", "id", LISTING_TEXT, 0},
        [PRINCIPAL_ACCOUNT_ID] = {"ACCOUNT", "account_id", LISTING_TEXT, 0},
        [PRINCIPAL_ADMIN] = {"ADMIN", "admin", LISTING_BOOL, 0},
        [PRINCIPAL_N_KEYS] = {"KEYS", "valid_keys", LISTING_NUMBER, 0},
        [PRINCIPAL_CREATED_AT] = {"CREATED", "created_at", LISTING_TIME, 0},
        [PRINCIPAL_DISABLED_AT] = {"DISABLED", "disabled_at", LISTING_TIME, 0},
        [PRINCIPAL_NAME] = {"NAME", "name", LISTING_TEXT, 0},
    };
    const struct listing listing = {name, columns, PRINCIPAL_N_COLUMNS};
    struct pg_result *result;
    struct error err;

    if (!principal_list(ctl->pg, kind, &result, &err))
        return ctl_fail_error(&err);
    listing_print(ctl, &listing, result);
    pg_result_free(result);
    return CTL_OK;
}

/* ---- one User or Bot ---- */

struct principal ctl_principal(const struct ctl *ctl, const char *kind)
{
    return (struct principal){text_of(ctl->options.argument), kind};
}

int ctl_no_principal(const struct principal *principal, const char *verb)
{
    bool is_user = strcmp(principal->kind, "user") == 0;

    if (ident_assigned(principal->id, is_user ? IDENT_BOT : IDENT_USER))
        return ctl_fail("'%s' is the id of a %s; run: aditctl %s %s %s", principal->id.s,
                        is_user ? "Bot" : "User", is_user ? "bot" : "user", verb, principal->id.s);
    return ctl_fail("there is no %s with the id '%s'; 'aditctl %s list' shows the ids",
                    is_user ? "User" : "Bot", principal->id.s, principal->kind);
}

static int show_principal(struct ctl *ctl, const char *kind)
{
    static const struct listing_fact names[PRINCIPAL_SHOW_N_COLUMNS] = {
        [PRINCIPAL_SHOW_ID] = {"id", LISTING_TEXT, {0}},
        [PRINCIPAL_SHOW_NAME] = {"name", LISTING_TEXT, {0}},
        [PRINCIPAL_SHOW_ACCOUNT_ID] = {"account_id", LISTING_TEXT, {0}},
        [PRINCIPAL_SHOW_ACCOUNT] = {"account", LISTING_TEXT, {0}},
        [PRINCIPAL_SHOW_ADMIN] = {"admin", LISTING_BOOL, {0}},
        [PRINCIPAL_SHOW_CREATED_AT] = {"created_at", LISTING_TIME, {0}},
        [PRINCIPAL_SHOW_DISABLED_AT] = {"disabled_at", LISTING_TIME, {0}},
        [PRINCIPAL_SHOW_N_CREDENTIALS] = {"credentials", LISTING_NUMBER, {0}},
        [PRINCIPAL_SHOW_N_KEYS] = {"valid_keys", LISTING_NUMBER, {0}},
    };
    struct listing_fact facts[PRINCIPAL_SHOW_N_COLUMNS];
    const struct principal principal = ctl_principal(ctl, kind);
    struct pg_result *result;
    struct error err;
    int status;

    if (!principal_show(ctl->pg, &principal, &result, &err))
        return ctl_fail_error(&err);
    if (pg_rows(result) == 0) {
        pg_result_free(result);
        return ctl_no_principal(&principal, "show");
    }
    for (int i = 0; i < PRINCIPAL_SHOW_N_COLUMNS; i++) {
        facts[i] = names[i];
        facts[i].value = pg_text(result, 0, i);
    }
    status = ctl_print_keys(ctl, principal.id, facts, PRINCIPAL_SHOW_N_COLUMNS);
    pg_result_free(result);
    return status;
}

static int rename_principal(struct ctl *ctl, const char *kind)
{
    const struct principal principal = ctl_principal(ctl, kind);
    const struct text name = text_of(ctl->options.name);
    char account_id[IDENT_SIZE];
    struct error err;
    bool found;

    if (!ctl->options.name)
        return ctl_misuse("'%s rename' needs the new name: --name TEXT", kind);
    if (!ctl_text_valid("name", ctl->options.name))
        return CTL_USAGE;
    if (!principal_find_account(ctl->pg, principal.id, text_of(NULL), account_id, &err) ||
        !principal_rename(ctl->pg, &principal, name, &found, &err))
        return ctl_fail_error(&err);
    if (found && warn_same_name(ctl, text_of(account_id), name, principal.id) != CTL_OK)
        return CTL_FAILED;
    if (!found)
        return ctl_no_principal(&principal, "rename");
    listing_put_json(ctl, &(struct listing_fact){"id", LISTING_TEXT, principal.id}, 1);
    return CTL_OK;
}

/* ---- the verbs ---- */

int ctl_user_create(struct ctl *ctl)
{
    return create_principal(ctl, "user");
}

int ctl_bot_create(struct ctl *ctl)
{
    return create_principal(ctl, "bot");
}

int ctl_user_list(struct ctl *ctl)
{
    return list_principals(ctl, "user", "users");
}

int ctl_bot_list(struct ctl *ctl)
{
    return list_principals(ctl, "bot", "bots");
}

int ctl_user_show(struct ctl *ctl)
{
    return show_principal(ctl, "user");
}

int ctl_bot_show(struct ctl *ctl)
{
    return show_principal(ctl, "bot");
}

int ctl_user_rename(struct ctl *ctl)
{
    return rename_principal(ctl, "user");
}

int ctl_bot_rename(struct ctl *ctl)
{
    return rename_principal(ctl, "bot");
}
