/* SPDX-License-Identifier: MIT */
/* The handlers of SSH credentials. */
#include "api/ssh_credential.h"

#include "base/ident.h"
#include "json/write.h"
#include "store/ssh_credential.h"

#define LIMIT_MAX 100

/* Most bytes in the body of a page. */
#define PAGE_MAX ((size_t)1024 * 1024)

/* Room for the bytes after the credentials of a page, without the two URIs. */
#define TAIL_MAX 512

/* Input of the list operation. */
struct list_input {
    struct ssh_credential_page page;
    bool limit_given;
};

enum query { QUERY_LIMIT, QUERY_BEFORE_ID };

const struct query_param api_ssh_credential_query[] = {
    [QUERY_LIMIT] = {.name = "limit"},
    [QUERY_BEFORE_ID] = {.name = "before_id", .alias = "beforeId"},
    {.name = NULL},
};

static void write_one(struct call *call, const void *resource)
{
    const struct ssh_credential_list *list = resource;

    ssh_credential_write(&call->response->body, &list->items[0],
                         list->base_url.s ? list->base_url : call->base_url);
}

/* Answers with the one credential of the list if it was found.  Frees the list either way. */
static bool answer_one(struct call *call, bool found, struct ssh_credential_list *list, int status,
                       struct error *err)
{
    bool ok;

    if (found && list->is_replay)
        response_header(call->response, "Idempotent-Replayed", "true");
    ok = found && call_answer_resource(call, status, list->items[0].revision, write_one, list, err);
    ssh_credential_list_free(list);
    return ok;
}

bool api_ssh_credential_read_create(struct call *call, struct error *err)
{
    struct ssh_credential_input *input = call_input(call, sizeof *input, err);

    return input && ssh_credential_read_create(&call->body, call->arena, input, err);
}

bool api_ssh_credential_create(struct call *call, struct error *err)
{
    struct ssh_credential_list list = {0};
    bool ok =
        store_ssh_credential_create(call->store, &call->store_request, call->input, &list, err);

    return answer_one(call, ok, &list, 201, err);
}

static bool read_limit(struct text value, struct list_input *input, struct error *err)
{
    char quote[ERROR_QUOTE_SIZE];
    int limit = 0;

    for (size_t i = 0; i < value.len; i++) {
        if (value.s[i] < '0' || value.s[i] > '9')
            return error_say(err, ERR_LIMIT_NOT_NUMBER,
                             "limit is '%s', which is not a whole number. Give 1 to %d.",
                             error_quote(quote, value), LIMIT_MAX);
        if (limit <= LIMIT_MAX)
            limit = limit * 10 + (value.s[i] - '0');
    }
    if (value.len == 0)
        return error_say(err, ERR_LIMIT_NOT_NUMBER, "limit is empty. Give 1 to %d.", LIMIT_MAX);
    if (limit < 1 || limit > LIMIT_MAX)
        return error_say(err, ERR_LIMIT_RANGE, "limit is %s; 1 to %d are accepted.",
                         error_quote(quote, value), LIMIT_MAX);
    input->page.limit = limit;
    input->limit_given = true;
    return true;
}

bool api_ssh_credential_read_list(struct call *call, struct error *err)
{
    struct list_input *input = call_input(call, sizeof *input, err);
    struct text before_id = call->query[QUERY_BEFORE_ID];
    char quote[ERROR_QUOTE_SIZE];

    if (!input)
        return false;
    input->page = (struct ssh_credential_page){.limit = LIMIT_MAX, .most_bytes = PAGE_MAX};
    if (call->query[QUERY_LIMIT].s && !read_limit(call->query[QUERY_LIMIT], input, err))
        return false;
    if (!text_present(before_id))
        return true;
    if (!ident_valid(before_id))
        return error_say(err, ERR_BEFORE_ID_MALFORMED,
                         "before_id is '%s', which is not an identifier. Follow next_page_uri.",
                         error_quote(quote, before_id));
    input->page.before_id = before_id;
    return true;
}

static void write_next_page(struct buf *out, const struct call *call,
                            const struct ssh_credential *last)
{
    const struct list_input *input = call->input;

    json_put_name(out, "next_page_uri");
    if (!last) {
        json_put_null(out);
        return;
    }
    buf_puts(out, "\"");
    ssh_credential_write_uri(out, call->base_url, (struct text){0});
    buf_puts(out, "?before_id=");
    query_encode(out, last->id);
    if (input->limit_given)
        buf_printf(out, "&limit=%d", input->page.limit);
    buf_puts(out, "\"");
}

/* Writes the credentials that fit on a page, at least one if there is one.  Returns how many. */
static size_t write_items(struct buf *out, const struct ssh_credential_list *list,
                          struct text base_url)
{
    size_t most = PAGE_MAX - TAIL_MAX - 2 * base_url.len;

    for (size_t i = 0; i < list->n; i++) {
        size_t len = out->len;

        ssh_credential_write(out, &list->items[i], base_url);
        if (out->len <= most || i == 0)
            continue;
        buf_cut(out, len);
        return i;
    }
    return list->n;
}

static void write_list(struct call *call, const struct ssh_credential_list *list)
{
    struct buf *out = &call->response->body;
    size_t n;

    json_open(out, '{');
    json_put_name(out, "ssh_credentials");
    json_open(out, '[');
    n = write_items(out, list, call->base_url);
    json_close(out, ']');
    json_put_name(out, "uri");
    buf_puts(out, "\"");
    ssh_credential_write_uri(out, call->base_url, (struct text){0});
    buf_puts(out, "\"");
    write_next_page(out, call, n < list->n || list->more ? &list->items[n - 1] : NULL);
    json_close(out, '}');
}

bool api_ssh_credential_list(struct call *call, struct error *err)
{
    struct ssh_credential_list list = {0};
    const struct list_input *input = call->input;
    bool ok =
        store_ssh_credential_list(call->store, &call->store_request, &input->page, &list, err);

    if (ok)
        write_list(call, &list);
    ssh_credential_list_free(&list);
    return ok && call_answer(call, 200);
}

bool api_ssh_credential_get(struct call *call, struct error *err)
{
    struct ssh_credential_list list = {0};
    bool ok =
        store_ssh_credential_get(call->store, &call->store_request, call->match.ids[0], &list, err);

    return answer_one(call, ok, &list, 200, err);
}

bool api_ssh_credential_read_update(struct call *call, struct error *err)
{
    struct ssh_credential_input *input = call_input(call, sizeof *input, err);

    return input &&
           ssh_credential_read_update(&call->body, call->match.ids[0], call->arena, input, err);
}

bool api_ssh_credential_update(struct call *call, struct error *err)
{
    struct ssh_credential_list list = {0};
    bool ok = store_ssh_credential_update(call->store, &call->store_request, call->match.ids[0],
                                          call->input, &list, err);

    return answer_one(call, ok, &list, 200, err);
}

bool api_ssh_credential_delete(struct call *call, struct error *err)
{
    return store_ssh_credential_delete(call->store, &call->store_request, call->match.ids[0],
                                       err) &&
           call_answer(call, 204);
}
