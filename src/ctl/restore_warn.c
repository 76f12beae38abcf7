/* SPDX-License-Identifier: MIT */
/* aditctl restore: what its changes mean for the rest. */
#include <stdio.h>

#include "ctl/accounts.h"
#include "ctl/admission.h"
#include "ctl/restore_step.h"
#include "json/tree.h"

static bool is_kind(const struct restore *restore, int row, const char *kind)
{
    return text_eq(pg_text(restore->plan, row, RESTORE_KIND), text_of(kind));
}

/* ---- accounts ---- */

/* Warns if an account that comes back is the second. */
static bool add_second(const struct restore *restore, struct buf *warnings, struct error *err)
{
    bool makes_account = false;
    char only[IDENT_SIZE] = "";

    for (int row = 0; row < pg_rows(restore->plan); row++)
        makes_account = makes_account || (is_kind(restore, row, "account") &&
                                          pg_is_null(restore->plan, row, RESTORE_CURRENT) &&
                                          restore_step_is_due(restore, row));
    if (makes_account && !accounts_find_second(restore->ctl, only, err))
        return false;
    if (only[0])
        buf_printf(warnings, "aditctl: warning: " ACCOUNTS_SECOND "\n", only);
    return true;
}

/* The admins of an account, whose rows of Users and Bots come one after the other. */
struct admins {
    struct text account_id;
    int64_t n;     /* enabled, once the rows so far are restored */
    bool is_taken; /* a row takes one away */
};

static void say_admins(const struct admins *admins, struct buf *warnings)
{
    if (admins->is_taken && admins->n == 0)
        buf_printf(warnings, "aditctl: warning: " ACCOUNTS_NO_ADMIN "\n", admins->account_id.s,
                   admins->account_id.s);
}

/* Warns of each account that comes to have no enabled admin. */
static void add_last_admins(const struct restore *restore, struct buf *warnings)
{
    struct admins admins = {.n = 0};

    for (int row = 0; row < pg_rows(restore->plan); row++) {
        struct text account_id = pg_text(restore->plan, row, RESTORE_ACCOUNT_ID);
        int64_t n_more = pg_int(restore->plan, row, RESTORE_MORE_ADMINS);

        if (!is_kind(restore, row, "principal") || !restore_step_is_due(restore, row))
            continue;
        if (!text_eq(account_id, admins.account_id)) {
            say_admins(&admins, warnings);
            admins = (struct admins){.account_id = account_id,
                                     .n = pg_int(restore->plan, row, RESTORE_N_ADMINS)};
        }
        admins.n += n_more;
        admins.is_taken = admins.is_taken || n_more < 0;
    }
    say_admins(&admins, warnings);
}

/* ---- modules and rules ---- */

/* Reads what oauth_admission_find() looks at.  Its text belongs to the tree. */
static bool read_wanted(const struct json_node *row, struct arena *arena,
                        struct oauth_module *module, struct error *err)
{
    struct oauth_provider *config = &module->config;
    struct text_list *const lists[] = {&config->email_addresses, &config->email_domains,
                                       &config->teams, &config->organizations};
    static const char *const names[] = {"email_addresses", "email_domains", "teams",
                                        "organizations"};
    const struct json_node enabled = json_member(row, "enabled");
    const struct json_node position = json_member(row, "provider");
    const struct json_node client_id = json_member(row, "client_id");
    const struct json_node scopes = json_member(row, "scopes");
    uint32_t provider = 0;

    *module = (struct oauth_module){.enabled = false};
    for (size_t i = 0; i < sizeof lists / sizeof lists[0]; i++) {
        const struct json_node list = json_member(row, names[i]);

        lists[i]->n = json_count(&list);
    }
    if (!json_get_bool(&enabled, &module->enabled, err) ||
        !json_get_uint32(&position, &provider, err) ||
        !json_get_text(&client_id, &config->client_id, err) ||
        !json_get_texts(&scopes, SIZE_MAX, ERR_INTERNAL, arena, &config->scopes, err))
        return false;
    module->provider = identity_provider_stored(provider);
    return true;
}

/* A row before and after, as JSON; absent: there is none.  Its tree is empty then. */
struct row_pair {
    struct json_node before, after;
};

static bool parse_row(struct text row, struct json_node *top, struct error *err)
{
    return !row.s || json_parse_large(row.s, row.len, row.len, top, err);
}

static bool warn_of_route(const struct restore *restore, int row, const struct row_pair *pair,
                          struct admission_warnings *warnings, struct error *err)
{
    const struct module_place route = restore_step_route(restore, row);
    struct oauth_module module;
    struct arena arena = {0};
    bool ok = !pair->after.value || read_wanted(&pair->after, &arena, &module, err);

    if (ok)
        admission_warn(warnings, &route, pair->after.value ? &module : NULL);
    arena_free(&arena);
    return ok;
}

static bool warn_of_edge(const struct restore *restore, int row, const struct row_pair *pair,
                         struct admission_warnings *warnings, struct error *err)
{
    const struct json_node enabled = json_member(&pair->after, "enabled");
    const struct json_node list = json_member(&pair->after, "certificate_authority_ids");
    struct mutual_tls_module module = {.enabled = false};

    if (pair->after.value && !json_get_bool(&enabled, &module.enabled, err))
        return false;
    module.certificate_authority_ids.n = pair->after.value ? json_count(&list) : 0;
    admission_warn_edge(warnings, pg_text(restore->plan, row, RESTORE_RESOURCE),
                        pair->after.value ? &module : NULL);
    return true;
}

static void warn_of_rules(const struct restore *restore, int row, const struct row_pair *pair,
                          struct admission_warnings *warnings)
{
    const struct json_node before = json_member(&pair->before, "acl");
    const struct json_node after = json_member(&pair->after, "acl");

    if (pair->before.value && pair->after.value && json_count(&before) > 0 &&
        json_count(&after) == 0)
        admission_warn_rules(warnings, pg_text(restore->plan, row, RESTORE_RESOURCE));
}

/* Warns of what a row opens that is written or deleted. */
static bool add_admission(const struct restore *restore, int row,
                          struct admission_warnings *warnings, struct error *err)
{
    struct row_pair pair = {.before = {.value = NULL}};
    bool ok = parse_row(pg_text(restore->plan, row, RESTORE_CURRENT), &pair.before, err) &&
              parse_row(pg_text(restore->plan, row, RESTORE_WANTED), &pair.after, err);

    if (ok && is_kind(restore, row, "oauth_module"))
        ok = warn_of_route(restore, row, &pair, warnings, err);
    else if (ok && is_kind(restore, row, "mutual_tls_module"))
        ok = warn_of_edge(restore, row, &pair, warnings, err);
    else if (ok && is_kind(restore, row, "ssh_credential"))
        warn_of_rules(restore, row, &pair, warnings);
    json_free(&pair.before);
    json_free(&pair.after);
    return ok;
}

static bool add_admissions(const struct restore *restore, struct buf *out, struct error *err)
{
    struct admission_warnings warnings = {.conf = &restore->ctl->conf, .out = out};
    bool ok = true;

    for (int row = 0; ok && row < pg_rows(restore->plan); row++) {
        if (restore_step_is_due(restore, row))
            ok = add_admission(restore, row, &warnings, err);
    }
    admission_warn_rest(&warnings);
    return ok;
}

/* ---- all ---- */

int restore_warn(struct restore *restore)
{
    struct buf warnings = {0};
    struct text said;
    struct error err;
    int status = CTL_OK;

    if (!add_second(restore, &warnings, &err) || !add_admissions(restore, &warnings, &err))
        status = ctl_fail_error(&err);
    add_last_admins(restore, &warnings);
    said = buf_text(&warnings);
    if (!text_eq(said, buf_text(&restore->warnings)))
        fwrite(said.s, 1, said.len, stderr);
    buf_free(&restore->warnings);
    restore->warnings = warnings;
    return status;
}
