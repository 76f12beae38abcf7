/* SPDX-License-Identifier: MIT */
/* aditctl key issue, key list, key revoke. */
#include <string.h>

#include "base/buf.h"
#include "ctl/accounts.h"
#include "ctl/history.h"
#include "ctl/keys.h"
#include "ctl/option_values.h"
#include "ctl/output.h"
#include "store/api_key.h"
#include "store/principal.h"
#include "store/store.h"

static int fail_no_holder(const struct ctl *ctl, struct text id)
{
    const char *account_id = ctl->options.account;

    if (account_id)
        return ctl_fail(
            "there is no User or Bot with the id '%s' in the account '%s'; 'aditctl user "
            "list' and 'aditctl bot list' show the ids",
            id.s, account_id);
    return ctl_fail("there is no User or Bot with the id '%s'; 'aditctl user list' and 'aditctl "
                    "bot list' show the ids",
                    id.s);
}

/* Sets *holder to the User or Bot of --for.  Without --for, sets it to the only User or Bot of
 * --account, or of all, and writes that id to only.  Returns CTL_OK, or the exit status after a
 * message. */
static int choose_holder(struct ctl *ctl, char only[IDENT_SIZE], struct text *holder)
{
    struct error err = {.code = ERR_NONE};
    int n = 0;

    *holder = text_of(ctl->options.holder);
    if (holder->s)
        return CTL_OK;
    if (principal_find_only(ctl->pg, text_of(ctl->options.account), only, &n, &err)) {
        *holder = text_of(only);
        return CTL_OK;
    }
    if (n > 1)
        return ctl_misuse("there are several Users and Bots; name one with --for");
    if (err.code)
        return ctl_fail_error(&err);
    return ctl->options.account
               ? ctl_fail("there is no User or Bot in that account; run: aditctl user create "
                          "--account %s",
                          ctl->options.account)
               : ctl_fail("there is no User or Bot; run: %s", accounts_first_user(ctl->pg));
}

static void print_key(const struct ctl *ctl, const struct api_key_issued *issued,
                      struct text holder)
{
    const struct listing_fact facts[] = {
        {"id", LISTING_TEXT, text_of(issued->id)},
        {"holder_id", LISTING_TEXT, holder},
        {"key", LISTING_TEXT, text_of(issued->key)},
    };

    if (!listing_put_json(ctl, facts, 3))
        puts(issued->key);
}

/* Issues the key, which takes effect only if it could be printed: nobody knows it otherwise. */
static int issue_key(struct ctl *ctl, const struct api_key_order *order)
{
    const char *holder = order->principal_id.s;
    struct api_key_issued issued;
    struct error err;
    int status;

    if (!store_begin(ctl->pg, &err) || !api_key_issue(ctl->pg, order, &issued, &err))
        return ctl_fail_error(&err);
    if (!issued.id[0])
        return fail_no_holder(ctl, order->principal_id);
    print_key(ctl, &issued, order->principal_id);
    explicit_bzero(issued.key, sizeof issued.key);
    status = ctl_commit(ctl);
    if (status != CTL_OK)
        return status;
    ctl_note("issued %s to %s; the key is not shown again", issued.id, holder);
    if (issued.is_disabled)
        ctl_note("warning: %s is disabled: the key is refused until you run: "
                 "aditctl %s enable %s",
                 holder, ident_assigned(order->principal_id, IDENT_BOT) ? "bot" : "user", holder);
    return CTL_OK;
}

/* Sets *kind to that of the options, of which there may be one. */
static bool choose_kind(const struct ctl_options *options, enum key_kind *kind)
{
    int n = 0;

    *kind = KEY_READ_WRITE;
#define KEY_KIND_GIVEN(with, symbol, word, scope, reads, writes, asks, letter, member, ...)        \
    if (options->member) {                                                                         \
        *kind = KEY_##symbol;                                                                      \
        n++;                                                                                       \
    }
    KEY_LIMITED_KINDS(KEY_KIND_GIVEN, )
#undef KEY_KIND_GIVEN
    return n <= 1;
}

static int misuse_kinds(void)
{
    struct buf list = {0};
    int status;

    for (int kind = KEY_READ_WRITE + 1; kind < KEY_N_KINDS; kind++)
        buf_printf(&list, "%s--%s",
                   kind == KEY_READ_WRITE + 1 ? ""
                   : kind + 1 < KEY_N_KINDS   ? ", "
                                              : " and ",
                   key_kind_row((enum key_kind)kind)->word);
    status = ctl_misuse("%s are kinds of key; give one of them", buf_text(&list).s);
    buf_free(&list);
    return status;
}

int ctl_key_issue(struct ctl *ctl)
{
    struct api_key_order order = {.account_id = text_of(ctl->options.account),
                                  .description = text_of(ctl->options.description)};
    char only[IDENT_SIZE];
    int status;

    if (!ctl_text_valid("description", ctl->options.description))
        return CTL_USAGE;
    if (!choose_kind(&ctl->options, &order.kind))
        return misuse_kinds();
    if (ctl->options.expires &&
        !ctl_read_duration("expires", ctl->options.expires, &order.expires_s))
        return CTL_USAGE;
    status = choose_holder(ctl, only, &order.principal_id);
    return status == CTL_OK ? issue_key(ctl, &order) : status;
}

int ctl_print_keys(const struct ctl *ctl, struct text holder, const struct listing_fact *facts,
                   int n_facts)
{
    static const struct listing_column columns[API_KEY_N_COLUMNS] = {
        [API_KEY_ID] = {"ID", "id", LISTING_TEXT, 0},
        [API_KEY_ACCOUNT_ID] = {"ACCOUNT", "account_id", LISTING_TEXT, 0},
        [API_KEY_PRINCIPAL_ID] = {"HOLDER", "holder_id", LISTING_TEXT, 0},
        [API_KEY_STATE] = {"STATE", "state", LISTING_TEXT, 0},
        [API_KEY_MODE] = {"MODE", "mode", LISTING_TEXT, 0},
        [API_KEY_CREATED_AT] = {"CREATED", "created_at", LISTING_TIME, 0},
        [API_KEY_EXPIRES_AT] = {"EXPIRES", "expires_at", LISTING_TIME, 0},
        [API_KEY_USED_AT] = {"USED", "used_at", LISTING_TIME, 0},
        [API_KEY_USED_FROM] = {"FROM", "used_from", LISTING_TEXT, 0},
        [API_KEY_DESCRIPTION] = {"DESCRIPTION", "description", LISTING_TEXT, 0},
    };
    static const struct listing listing = {"api_keys", columns, API_KEY_N_COLUMNS};
    struct listing_out out;
    struct pg_result *result;
    struct error err;

    if (!api_key_list(ctl->pg, holder, &result, &err))
        return ctl_fail_error(&err);
    if (!facts || !ctl->options.json) {
        if (facts)
            listing_print_facts(ctl, facts, n_facts);
        listing_print(ctl, &listing, result);
    } else {
        listing_open(&out, ctl, &listing);
        for (int row = 0; row < pg_rows(result); row++) {
            struct text cells[API_KEY_N_COLUMNS];

            for (int column = 0; column < API_KEY_N_COLUMNS; column++)
                cells[column] = pg_text(result, row, column);
            listing_add(&out, cells);
        }
        listing_close(&out, facts, n_facts);
    }
    pg_result_free(result);
    return CTL_OK;
}

int ctl_key_list(struct ctl *ctl)
{
    const char *holder = ctl->options.holder;
    struct error err;
    int status;

    if (!holder)
        return ctl_print_keys(ctl, text_of(NULL), NULL, 0);
    /* One who was deleted has no keys, and is known to the record. */
    if (!history_begin(ctl->pg, &err))
        return ctl_fail_error(&err);
    status = history_check_holder(ctl, holder);
    if (status == CTL_OK)
        status = ctl_print_keys(ctl, text_of(holder), NULL, 0);
    pg_rollback(ctl->pg);
    return status;
}

/* Revokes all keys of the User or Bot of --for. */
static int revoke_all(struct ctl *ctl)
{
    struct text holder = text_of(ctl->options.holder);
    struct listing_fact facts[] = {{"holder_id", LISTING_TEXT, holder},
                                   {"revoked", LISTING_NUMBER, {0}}};
    char number[LISTING_NUMBER_SIZE];
    struct error err;
    bool found;
    int64_t n;

    if (ctl->options.argument)
        return ctl_misuse("'key revoke' takes the id of a key or --for, not both");
    if (!api_key_revoke_all(ctl->pg, holder, text_of(ctl->options.account), &found, &n, &err))
        return ctl_fail_error(&err);
    if (!found)
        return fail_no_holder(ctl, holder);
    facts[1].value = listing_number(number, n);
    if (!listing_put_json(ctl, facts, 2))
        printf("revoked %s API %s of %s\n", number, n == 1 ? "key" : "keys", holder.s);
    return CTL_OK;
}

int ctl_key_revoke(struct ctl *ctl)
{
    struct text id = text_of(ctl->options.argument);
    struct api_key_revoked revoked;
    struct error err;

    if (ctl->options.holder)
        return revoke_all(ctl);
    if (!id.s)
        return ctl_misuse("'key revoke' needs the id of a key, or --for ID for all keys of a User "
                          "or Bot");
    /* The word may be a part of a secret: no message repeats it. */
    if (!ident_valid(id))
        return ctl_misuse("this is not the id of an API key; expected ak_ and 27 letters and "
                          "digits, as 'aditctl key list' shows it");
    if (!api_key_revoke(ctl->pg, id, text_of(ctl->options.account), &revoked, &err))
        return ctl_fail_error(&err);
    if (!revoked.found)
        return ctl_fail("there is no API key with this id%s; 'aditctl key list' shows the ids",
                        ctl->options.account ? " in that account" : "");
    if (listing_put_json(ctl, &(struct listing_fact){"id", LISTING_TEXT, id}, 1))
        return CTL_OK;
    if (revoked.earlier[0])
        printf("%s is revoked since %s\n", id.s, revoked.earlier);
    else
        printf("revoked %s\n", id.s);
    return CTL_OK;
}
