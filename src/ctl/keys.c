/* SPDX-License-Identifier: MIT */
/* aditctl key issue, key list, key revoke. */
#include <string.h>

#include "ctl/ctl.h"
#include "store/account.h"
#include "store/api_key.h"

/* Sets *holder to the User or Bot of --for.  Without --for, sets it to the only User or Bot, and
 * writes that id to only.  Returns CTL_OK, or the exit status after a message. */
static int choose_holder(struct ctl *ctl, char only[IDENT_SIZE], struct text *holder)
{
    struct error err = {.code = ERR_NONE};
    int n = 0;

    *holder = text_of(ctl->options.holder);
    if (holder->s)
        return CTL_OK;
    if (principal_find_only(ctl->pg, only, &n, &err)) {
        *holder = text_of(only);
        return CTL_OK;
    }
    if (n > 1)
        return ctl_misuse("there are several Users and Bots; name one with --for");
    return err.code ? ctl_fail_error(&err)
                    : ctl_fail("there is no User or Bot; run: aditctl user create");
}

int ctl_key_issue(struct ctl *ctl)
{
    struct api_key_order order = {.description = text_of(ctl->options.description),
                                  .read_only = ctl->options.read_only,
                                  .is_gateway = ctl->options.is_gateway};
    char only[IDENT_SIZE];
    char id[IDENT_SIZE];
    char key[API_KEY_SIZE];
    struct error err;
    int status;

    if (!ctl_text_valid("description", ctl->options.description))
        return CTL_USAGE;
    if (order.read_only && order.is_gateway)
        return ctl_misuse("--gateway and --read-only are two kinds of key; give one of them");
    if (ctl->options.expires &&
        !ctl_read_duration("expires", ctl->options.expires, &order.expires_s))
        return CTL_USAGE;
    status = choose_holder(ctl, only, &order.principal_id);
    if (status != CTL_OK)
        return status;
    if (!api_key_issue(ctl->pg, &order, id, key, &err))
        return ctl_fail_error(&err);
    if (!id[0])
        return ctl_fail("there is no User or Bot with the id '%s'; 'aditctl user list' and "
                        "'aditctl bot list' show the ids",
                        order.principal_id.s);
    puts(key);
    explicit_bzero(key, sizeof key);
    fprintf(stderr, "aditctl: issued %s to %s; the key is not shown again\n", id,
            order.principal_id.s);
    return CTL_OK;
}

int ctl_key_list(struct ctl *ctl)
{
    static const char *const names[API_KEY_N_COLUMNS + 1] = {
        [API_KEY_ID] = "ID",
        [API_KEY_ACCOUNT_ID] = "ACCOUNT",
        [API_KEY_PRINCIPAL_ID] = "HOLDER",
        [API_KEY_STATE] = "STATE",
        [API_KEY_MODE] = "MODE",
        [API_KEY_CREATED_AT] = "CREATED",
        [API_KEY_EXPIRES_AT] = "EXPIRES",
        [API_KEY_DESCRIPTION] = "DESCRIPTION",
    };
    struct pg_result *result;
    struct error err;

    if (!api_key_list(ctl->pg, &result, &err))
        return ctl_fail_error(&err);
    ctl_print_list(names, result);
    pg_result_free(result);
    return CTL_OK;
}

int ctl_key_revoke(struct ctl *ctl)
{
    struct text id = text_of(ctl->options.argument);
    struct error err;
    bool found;

    /* The word may be a secret: no message repeats it. */
    if (api_key_valid(id))
        return ctl_misuse(
            "this is an API key, not the id of one; 'aditctl key list' shows the ids; "
            "the key may now be in the history of your shell");
    if (!ident_valid(id))
        return ctl_misuse("this is not the id of an API key; expected ak_ and 27 letters and "
                          "digits, as 'aditctl key list' shows it");
    if (!api_key_revoke(ctl->pg, id, &found, &err))
        return ctl_fail_error(&err);
    return found ? CTL_OK
                 : ctl_fail("there is no API key with this id; 'aditctl key list' shows the ids");
}
