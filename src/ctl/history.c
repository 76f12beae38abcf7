/* SPDX-License-Identifier: MIT */
/* aditctl history: who changed what. */
#include "ctl/history.h"

#include <stdlib.h>
#include <string.h>

#include "base/time.h"
#include "ctl/listing.h"
#include "ctl/option_values.h"
#include "ctl/progress.h"
#include "model/audit_event.h"

/* ---- places ---- */

static int refuse_ambiguous(const char *resource, const struct pg_result *result)
{
    struct buf places = {0};
    int status;

    for (int row = 0; row < pg_rows(result); row++)
        buf_printf(&places, "%s%s of account %s", row > 0 ? ", " : "",
                   pg_text(result, row, HISTORY_PLACE_KIND).s,
                   pg_text(result, row, HISTORY_PLACE_ACCOUNT_ID).s);
    status = ctl_misuse("'%s' is the name of several things; name one account with --account: %s",
                        resource, buf_text(&places).s);
    buf_free(&places);
    return status;
}

/* Says what is named so, or that nothing is. */
static int refuse_unknown(const struct ctl *ctl, const char *resource)
{
    struct buf routes = {0};
    struct pg_result *result;
    struct error err;
    int status;

    if (!history_find_routes(ctl->pg, text_of(resource), text_of(ctl->options.account), &result,
                             &err))
        return ctl_fail_error(&err);
    for (int row = 0; row < pg_rows(result); row++)
        buf_printf(&routes, "%s%s", row > 0 ? ", " : "",
                   pg_text(result, row, HISTORY_PLACE_RESOURCE).s);
    if (pg_rows(result) > 0)
        status = ctl_fail("the record of changes has nothing named '%s', but modules of its "
                          "routes; name one: %s",
                          resource, buf_text(&routes).s);
    else
        status = ctl_fail("the record of changes has nothing named '%s'; expected the id of a "
                          "credential, User, Bot, API key or account, EDGE/ROUTE, or EDGE",
                          resource);
    pg_result_free(result);
    buf_free(&routes);
    return status;
}

int history_find_place(const struct ctl *ctl, struct history_place *place)
{
    const char *resource = ctl->options.argument;
    struct error err;
    int status = CTL_OK;

    *place = (struct history_place){.result = NULL};
    if (!history_find(ctl->pg, text_of(resource), text_of(ctl->options.account), &place->result,
                      &err))
        return ctl_fail_error(&err);
    if (pg_rows(place->result) == 0)
        status = refuse_unknown(ctl, resource);
    else if (pg_rows(place->result) > 1)
        status = refuse_ambiguous(resource, place->result);
    if (status != CTL_OK) {
        pg_result_free(place->result);
        place->result = NULL;
        return status;
    }
    place->kind = pg_text(place->result, 0, HISTORY_PLACE_KIND);
    place->account_id = pg_text(place->result, 0, HISTORY_PLACE_ACCOUNT_ID);
    place->resource = pg_text(place->result, 0, HISTORY_PLACE_RESOURCE);
    return CTL_OK;
}

/* ---- names ---- */

/* Sets *is_known to whether the tables or the record have a row of the kind, or of the other kind,
 * with the id. */
static bool is_row_known(const struct ctl *ctl, const char *id, const char *kind, const char *other,
                         bool *is_known, struct error *err)
{
    struct pg_result *result;

    *is_known = false;
    if (!history_find(ctl->pg, text_of(id), text_of(NULL), &result, err))
        return false;
    for (int row = 0; row < pg_rows(result); row++) {
        struct text found = pg_text(result, row, HISTORY_PLACE_KIND);

        *is_known = *is_known || text_eq(found, text_of(kind)) || text_eq(found, text_of(other));
    }
    pg_result_free(result);
    return true;
}

int history_check_maker(const struct ctl *ctl, const char *by)
{
    bool is_known = true;
    struct error err;

    if (by && (!is_row_known(ctl, by, "principal", "api_key", &is_known, &err) ||
               (!is_known && !history_has_operator(ctl->pg, text_of(by), &is_known, &err))))
        return ctl_fail_error(&err);
    return is_known ? CTL_OK
                    : ctl_fail("--by '%s' names nobody; expected the id of a User, Bot or API key, "
                               "or a system user that has changed something with aditctl",
                               by);
}

int history_check_holder(const struct ctl *ctl, const char *holder)
{
    bool is_known = true;
    struct error err;

    if (holder && !is_row_known(ctl, holder, "principal", "", &is_known, &err))
        return ctl_fail_error(&err);
    return is_known ? CTL_OK
                    : ctl_fail("there is and was no User or Bot with the id '%s'; 'aditctl user "
                               "list' and 'aditctl bot list' show the ids",
                               holder);
}

int history_check_account(const struct ctl *ctl, const char *account)
{
    bool is_known = true;
    struct error err;

    if (account && !is_row_known(ctl, account, "account", "", &is_known, &err))
        return ctl_fail_error(&err);
    return is_known ? CTL_OK
                    : ctl_fail("there is and was no account with the id '%s'; 'aditctl account "
                               "list' shows the ids",
                               account);
}

struct text_list history_providers(const struct ctl *ctl, struct history_names *room)
{
    for (size_t i = 0; i < OAUTH_N_PROVIDERS; i++) {
        const char *name = ctl->conf.provider_names[i];
        struct buf label = {0};

        identity_provider_write(&label, name, (int)i + 1);
        snprintf(room->labels[i], sizeof room->labels[i], "%s",
                 ctl->options.json || label.failed ? name : label.data);
        room->texts[i] = text_of(room->labels[i]);
        buf_free(&label);
    }
    return (struct text_list){.items = room->texts, .n = OAUTH_N_PROVIDERS, .given = true};
}

int history_check_start(const struct ctl *ctl, int64_t time_us)
{
    char first[TIME_SIZE] = "";
    struct history_start start;
    struct error err;

    if (!history_read_start(ctl->pg, &start, &err))
        return ctl_fail_error(&err);
    if (!start.is_pruned || (start.first_id > 0 && start.first_us <= time_us))
        return CTL_OK;
    if (start.first_id == 0 || !time_write(first, start.first_us / TIME_SECOND_US))
        return ctl_fail("the record of changes is empty: 'aditctl purge --audit-days' has removed "
                        "all of it");
    return ctl_fail("the record of changes begins at %s: 'aditctl purge --audit-days' has removed "
                    "what was before",
                    first);
}

/* ---- the list ---- */

static const struct listing_column columns[HISTORY_N_COLUMNS] = {
    [HISTORY_ID] = {"EVENT", "id", LISTING_TEXT, AUDIT_EVENT_ID_SIZE - 1},
    [HISTORY_CREATED_AT] = {"TIME", "created_at", LISTING_TIME, 20},
    [HISTORY_EVENT] = {"WHAT", "event", LISTING_TEXT, 22},
    [HISTORY_RESOURCE] = {"RESOURCE", "resource", LISTING_TEXT, 33},
    [HISTORY_WHO] = {"WHO", NULL, LISTING_TEXT, 31},
    [HISTORY_KEY] = {"KEY", "api_key_id", LISTING_TEXT, 30},
    [HISTORY_ADDRESS] = {"ADDRESS", "client_address", LISTING_TEXT, 15},
    [HISTORY_CHANGE] = {"CHANGE", NULL, LISTING_TEXT, 0},
    [HISTORY_ACCOUNT_ID] = {NULL, "account_id", LISTING_TEXT, 0},
    [HISTORY_PRINCIPAL_ID] = {NULL, "principal_id", LISTING_TEXT, 0},
    [HISTORY_OPERATOR] = {NULL, "operator", LISTING_TEXT, 0},
    [HISTORY_DATABASE_USER] = {NULL, "database_user", LISTING_TEXT, 0},
    [HISTORY_OPERATION_ID] = {NULL, "operation_id", LISTING_TEXT, 0},
    [HISTORY_CHANGED] = {NULL, "changed", LISTING_JSON, 0},
    [HISTORY_BEFORE] = {NULL, "before", LISTING_JSON, 0},
    [HISTORY_AFTER] = {NULL, "after", LISTING_JSON, 0},
};

static const struct listing listing = {"events", columns, HISTORY_N_COLUMNS};

/* Returns whether the row is the first event of its resource. */
static bool is_creation(const struct pg_result *result, int row)
{
    static const char ending[] = "_created";
    const size_t len = sizeof ending - 1;
    struct text event = pg_text(result, row, HISTORY_EVENT);

    return event.len > len && strcmp(event.s + event.len - len, ending) == 0;
}

/* Nothing was found: checks what was asked for. */
static int check_names(const struct ctl *ctl)
{
    int status = history_check_maker(ctl, ctl->options.by);

    return status == CTL_OK && !ctl->options.argument
               ? history_check_account(ctl, ctl->options.account)
               : status;
}

/* Prints all pages.  Sets *is_whole to whether the first event is a creation. */
static int print_events(struct ctl *ctl, struct history_page page, bool *is_whole)
{
    struct listing_out out = {.listing = NULL};
    int n = HISTORY_PAGE_SIZE;
    int status = CTL_OK;
    struct progress progress;
    struct error err;

    progress_start_output(&progress, ctl, "events read");
    while (status == CTL_OK && n == HISTORY_PAGE_SIZE && !ferror(stdout)) {
        struct pg_result *result;

        if (!history_list(ctl->pg, &page, &result, &err)) {
            progress_erase(&progress);
            return ctl_fail_error(&err);
        }
        n = pg_rows(result);
        if (!out.listing && n == 0)
            status = check_names(ctl);
        if (!out.listing && status == CTL_OK) {
            listing_open(&out, ctl, &listing);
            *is_whole = n > 0 && is_creation(result, 0);
        }
        for (int row = 0; row < n; row++) {
            struct text cells[HISTORY_N_COLUMNS];
            char id[AUDIT_EVENT_ID_SIZE];

            for (int i = 0; i < HISTORY_N_COLUMNS; i++)
                cells[i] = pg_text(result, row, i);
            page.after_id = strtoll(cells[HISTORY_ID].s, NULL, 10);
            audit_event_write_id(id, page.after_id);
            cells[HISTORY_ID] = text_of(id);
            listing_add(&out, cells);
        }
        pg_result_free(result);
        progress_show(&progress, out.n_rows);
    }
    progress_erase(&progress);
    if (status == CTL_OK)
        listing_close(&out, NULL, 0);
    return status;
}

int ctl_history(struct ctl *ctl)
{
    const struct ctl_options *options = &ctl->options;
    struct history_names providers;
    struct history_page page = {.by = text_of(options->by),
                                .providers = history_providers(ctl, &providers)};
    struct history_place place = {.result = NULL};
    bool is_whole = false;
    struct error err;
    int status = CTL_OK;

    if (!options->argument && !options->since && !options->by)
        return ctl_misuse("'history' needs a RESOURCE, or --since or --by");
    if (options->since && !ctl_read_time("since", options->since, &page.since_us))
        return CTL_USAGE;
    if (!history_begin(ctl->pg, &err))
        return ctl_fail_error(&err);
    if (options->argument)
        status = history_find_place(ctl, &place);
    if (status == CTL_OK) {
        page.kind = place.kind;
        page.account_id = place.result ? place.account_id : text_of(options->account);
        page.resource = place.resource;
        status = print_events(ctl, page, &is_whole);
        /* A gap is said, and is no failure. */
        if (status == CTL_OK && !(place.result && is_whole))
            history_check_start(ctl, page.since_us);
    }
    pg_rollback(ctl->pg);
    pg_result_free(place.result);
    return status;
}
