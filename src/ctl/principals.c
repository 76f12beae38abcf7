/* SPDX-License-Identifier: MIT */
/* aditctl account create, user create, bot create, and their lists. */
#include "ctl/ctl.h"
#include "store/account.h"

int ctl_account_create(struct ctl *ctl)
{
    struct text name = text_of(ctl->options.name ? ctl->options.name : "");
    char id[IDENT_SIZE];
    struct error err;

    if (!ctl_text_valid("name", ctl->options.name))
        return CTL_USAGE;
    if (!account_create(ctl->pg, name, id, &err))
        return ctl_fail_error(&err);
    puts(id);
    return CTL_OK;
}

int ctl_account_list(struct ctl *ctl)
{
    static const char *const names[ACCOUNT_N_COLUMNS + 1] = {
        [ACCOUNT_ID] = "ID",
        [ACCOUNT_CREATED_AT] = "CREATED",
        [ACCOUNT_NAME] = "NAME",
    };
    struct pg_result *result;
    struct error err;

    if (!account_list(ctl->pg, &result, &err))
        return ctl_fail_error(&err);
    ctl_print_list(names, result);
    pg_result_free(result);
    return CTL_OK;
}

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
    if (status != CTL_OK)
        return status;
    if (!principal_create(ctl->pg, account_id, kind, name, ctl->options.is_admin, id, &err))
        return ctl_fail_error(&err);
    if (!id[0])
        return ctl_fail("there is no account with the id '%s'; 'aditctl account list' shows the "
                        "ids",
                        account_id.s);
    puts(id);
    return CTL_OK;
}

static int list_principals(struct ctl *ctl, const char *kind)
{
    static const char *const names[PRINCIPAL_N_COLUMNS + 1] = {
        [PRINCIPAL_ID] = "ID",
        [PRINCIPAL_ACCOUNT_ID] = "ACCOUNT",
        [PRINCIPAL_ADMIN] = "ADMIN",
        [PRINCIPAL_N_KEYS] = "KEYS",
        [PRINCIPAL_CREATED_AT] = "CREATED",
        [PRINCIPAL_NAME] = "NAME",
    };
    struct pg_result *result;
    struct error err;

    if (!principal_list(ctl->pg, kind, &result, &err))
        return ctl_fail_error(&err);
    ctl_print_list(names, result);
    pg_result_free(result);
    return CTL_OK;
}

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
    return list_principals(ctl, "user");
}

int ctl_bot_list(struct ctl *ctl)
{
    return list_principals(ctl, "bot");
}
