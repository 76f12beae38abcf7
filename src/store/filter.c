/* SPDX-License-Identifier: MIT */
/* Writes the tree of a filter as SQL. */
#include "store/filter.h"

#include <stdio.h>
#include <string.h>

#include "store/executor.h"

struct writer {
    struct buf *sql;
    struct pg_params *params;
    struct arena *arena;
};

/* Writes the parameter that was added last. */
static void write_param(const struct writer *writer, const char *type)
{
    buf_printf(writer->sql, "$%d::%s", writer->params->n, type);
}

static void write_literal(const struct writer *writer, const struct filter_node *node)
{
    switch (node->type) {
    case FILTER_BOOL:
        buf_puts(writer->sql, node->number ? "true" : "false");
        break;
    case FILTER_INT:
        pg_add_int(writer->params, node->number);
        write_param(writer, "bigint");
        break;
    case FILTER_STRING:
        pg_add_text(writer->params, node->text);
        write_param(writer, "text");
        break;
    case FILTER_TIME:
        pg_add_time(writer->params, node->number);
        write_param(writer, "timestamptz");
        break;
    case FILTER_STRINGS:
        pg_add_texts(writer->params, node->texts, writer->arena);
        write_param(writer, "text[]");
        break;
    case FILTER_OBJECT:
    case FILTER_NULL:
        buf_puts(writer->sql, "NULL");
        break;
    }
}

static void write_node(const struct writer *writer, const struct filter_node *node);

/* Writes a value in brackets.  Strings are compared byte by byte, which is by code point. */
static void write_value(const struct writer *writer, const struct filter_node *node)
{
    buf_puts(writer->sql, "(");
    write_node(writer, node);
    buf_puts(writer->sql, node->type == FILTER_STRING ? " COLLATE \"C\")" : ")");
}

static void write_infix(const struct writer *writer, const struct filter_node *node,
                        const char *word)
{
    write_value(writer, node->left);
    buf_puts(writer->sql, word);
    write_value(writer, node->right);
}

static void write_call(const struct writer *writer, const char *function,
                       const struct filter_node *node)
{
    buf_puts(writer->sql, function);
    write_value(writer, node->left);
    if (node->right) {
        buf_puts(writer->sql, ", ");
        write_value(writer, node->right);
    }
    buf_puts(writer->sql, ")");
}

static void write_ends_with(const struct writer *writer, const struct filter_node *node)
{
    buf_puts(writer->sql, "starts_with(reverse");
    write_value(writer, node->left);
    buf_puts(writer->sql, ", reverse");
    write_value(writer, node->right);
    buf_puts(writer->sql, ")");
}

static void write_equal(const struct writer *writer, const struct filter_node *node)
{
    bool equal = node->op == FILTER_EQ;

    if (node->right->type != FILTER_NULL) {
        write_infix(writer, node, equal ? " = " : " <> ");
        return;
    }
    write_value(writer, node->left);
    buf_puts(writer->sql, equal ? " IS NULL" : " IS NOT NULL");
}

/* Writes an operator between values. */
static void write_comparison(const struct writer *writer, const struct filter_node *node)
{
    static const char *const words[] = {
        [FILTER_AND] = " AND ", [FILTER_OR] = " OR ", [FILTER_LT] = " < ",
        [FILTER_LE] = " <= ",   [FILTER_GT] = " > ",  [FILTER_GE] = " >= ",
    };

    write_infix(writer, node, words[node->op]);
}

/* Recurses as deep as FILTER_MAX_HEIGHT. */
static void write_node(const struct writer *writer, const struct filter_node *node)
{
    switch (node->op) {
    case FILTER_LITERAL:
        write_literal(writer, node);
        break;
    case FILTER_MEMBER:
        buf_puts(writer->sql, node->member->sql);
        break;
    case FILTER_NOT:
        buf_puts(writer->sql, "NOT ");
        write_value(writer, node->left);
        break;
    case FILTER_EQ:
    case FILTER_NE:
        write_equal(writer, node);
        break;
    case FILTER_AND:
    case FILTER_OR:
    case FILTER_LT:
    case FILTER_LE:
    case FILTER_GT:
    case FILTER_GE:
        write_comparison(writer, node);
        break;
    case FILTER_IN:
        write_infix(writer, node, " = ANY ");
        break;
    case FILTER_SIZE:
        write_call(writer, node->left->type == FILTER_STRING ? "char_length(" : "cardinality(",
                   node);
        break;
    case FILTER_STARTS_WITH:
        write_call(writer, "starts_with(", node);
        break;
    case FILTER_ENDS_WITH:
        write_ends_with(writer, node);
        break;
    case FILTER_CONTAINS:
        write_call(writer, "0 < strpos(", node);
        break;
    }
}

bool filter_write_sql(const struct filter_node *root, struct buf *sql, struct pg_params *params,
                      struct arena *arena)
{
    const struct writer writer = {.sql = sql, .params = params, .arena = arena};

    write_value(&writer, root);
    return !sql->failed && !params->failed;
}

/* ---- ranges ---- */

static void begin_at(struct filter_range *range, int64_t us)
{
    if (!range->has_from || us > range->from_us)
        range->from_us = us;
    range->has_from = true;
}

static void end_at(struct filter_range *range, int64_t us)
{
    if (!range->has_until || us < range->until_us)
        range->until_us = us;
    range->has_until = true;
}

/* The parser leaves a time's member at the left, and of the comparisons only >= and <. */
static void narrow(const struct filter_node *node, const char *member, struct filter_range *range)
{
    if (node->op == FILTER_AND) {
        narrow(node->left, member, range);
        narrow(node->right, member, range);
        return;
    }
    if ((node->op != FILTER_GE && node->op != FILTER_LT) || node->left->op != FILTER_MEMBER ||
        node->right->op != FILTER_LITERAL || strcmp(node->left->member->name, member) != 0)
        return;
    if (node->op == FILTER_GE)
        begin_at(range, node->right->number);
    else
        end_at(range, node->right->number);
}

void filter_find_range(const struct filter_node *root, const char *member,
                       struct filter_range *range)
{
    *range = (struct filter_range){0};
    narrow(root, member, range);
}

struct text filter_only_equal(const struct filter_node *root, const char *member)
{
    bool is_it = root->op == FILTER_EQ && root->left->op == FILTER_MEMBER &&
                 root->right->op == FILTER_LITERAL && root->right->type == FILTER_STRING &&
                 strcmp(root->left->member->name, member) == 0;

    return is_it ? root->right->text : (struct text){0};
}

/* ---- running ---- */

/* A filter that reads many rows keeps a lane for up to this long. */
#define MOST_MS 3000

struct filter_query filter_begin(const struct store *store,
                                 const struct filter_statement *statement)
{
    struct filter_query query = {.statement = statement};

    buf_puts(&query.sql,
             pg_is_by_account(store->pg) ? statement->head_by_account : statement->head);
    return query;
}

static bool run_for(struct store *store, const struct filter_query *query,
                    const struct store_request *request, const struct pg_params *params,
                    struct pg_result **result, struct error *err)
{
    const struct pg_statement made = {.name = query->statement->name,
                                      .types = query->statement->types,
                                      .sql = query->sql.data,
                                      .ad_hoc_ms = MOST_MS,
                                      .on_slow = ERR_FILTER_TOO_SLOW};

    return executor_run(store, &made, request, params, result, err);
}

/* Takes a place among the filters that run in the worker.  Returns NULL if they are too many, or if
 * one runs for the same.  The source of requests lets none get here that would find no place: this
 * is the bound that holds whatever a request looks like, and it counts as the source does. */
static struct store_filter_place *take_place(struct store_filters *filters, uint64_t scans_for)
{
    struct store_filter_place *place = NULL;

    for (size_t i = 0; i < STORE_MOST_FILTERS; i++) {
        struct store_filter_place *found = &filters->places[i];

        if (!found->is_taken)
            place = found;
        else if (found->scans_for == scans_for)
            return NULL;
    }
    if (place)
        *place = (struct store_filter_place){.is_taken = true, .scans_for = scans_for};
    return place;
}

bool filter_run(struct store *store, struct filter_query *query,
                const struct store_request *request, const struct pg_params *params,
                struct pg_result **result, struct error *err)
{
    struct store_filter_place *place =
        store->filters ? take_place(store->filters, request->scans_for) : NULL;
    bool ok;

    buf_puts(&query->sql, query->statement->end);
    if (query->sql.failed)
        ok = error_set(err, ERR_OUT_OF_MEMORY);
    else if (store->filters && !place)
        ok = error_say(err, ERR_BUSY,
                       "Other filters of the account are running. Send one at a time, and retry "
                       "after the delay in Retry-After.");
    else
        ok = run_for(store, query, request, params, result, err);
    if (place)
        place->is_taken = false;
    if (!ok && err->code == ERR_FILTER_TOO_SLOW)
        snprintf(err->msg, sizeof err->msg,
                 "%s These are fast, alone or with && before others: %s.",
                 error_row(ERR_FILTER_TOO_SLOW)->text, query->statement->fast);
    buf_free(&query->sql);
    return ok;
}

bool filter_run_list(struct store *store, const struct filtered_list *list,
                     const struct store_request *request, struct pg_params *params,
                     struct pg_result **result, struct error *err)
{
    struct filter_query query = filter_begin(store, list->statement);

    buf_puts(&query.sql, " AND ");
    (void)!filter_write_sql(list->filter, &query.sql, params, request->arena);
    return filter_run(store, &query, request, params, result, err);
}
