/* SPDX-License-Identifier: MIT */
/* The query of a page, and the page itself. */
#include "api/page.h"

#include "base/clock.h"
#include "base/ident.h"
#include "base/percent.h"
#include "json/write.h"

/* Room for the bytes after the items of a page, without two base URLs and the filter.  A place has
 * at most two identifiers. */
#define TAIL_MAX (512 + 2 * IDENT_MAX)

/* Percent-encoding makes three bytes of one. */
#define ENCODED_MAX 3

static bool read_limit(struct text value, struct api_page *page, struct error *err)
{
    char quote[ERROR_QUOTE_SIZE];
    /* A negative number is a whole number that is out of range. */
    size_t sign = value.len > 1 && value.s[0] == '-';
    int limit = 0;

    for (size_t i = sign; i < value.len; i++) {
        if (value.s[i] < '0' || value.s[i] > '9')
            return error_say(err, ERR_LIMIT_NOT_NUMBER,
                             "limit is '%s', which is not a whole number. Give 1 to %d.",
                             error_quote(quote, value), API_PAGE_ITEMS_MAX);
        if (limit <= API_PAGE_ITEMS_MAX)
            limit = limit * 10 + (value.s[i] - '0');
    }
    if (value.len == 0)
        return error_say(err, ERR_LIMIT_NOT_NUMBER, "limit is empty. Give 1 to %d.",
                         API_PAGE_ITEMS_MAX);
    if (sign || limit < 1 || limit > API_PAGE_ITEMS_MAX)
        return error_say(err, ERR_LIMIT_RANGE, "limit is %s; 1 to %d are accepted.",
                         error_quote(quote, value), API_PAGE_ITEMS_MAX);
    page->limit = limit;
    page->limit_given = true;
    return true;
}

bool api_page_read(const struct call *call, const struct filter_member *members,
                   struct api_page *page, struct error *err)
{
    struct text source = call->query[API_PAGE_FILTER];

    *page = (struct api_page){.limit = API_PAGE_ITEMS_MAX};
    if (call->query[API_PAGE_LIMIT].s && !read_limit(call->query[API_PAGE_LIMIT], page, err))
        return false;
    if (text_present(call->query[API_PAGE_PLACE]))
        page->place = call->query[API_PAGE_PLACE];
    if (!text_present(source))
        return true;
    page->source = source;
    return filter_parse(source, members, clock_wall_us(), call->arena, &page->filter, err);
}

bool api_page_check_before_id(const struct api_page *page, struct error *err)
{
    char quote[ERROR_QUOTE_SIZE];

    return !page->place.s || ident_valid(page->place) ||
           error_say(err, ERR_BEFORE_ID_MALFORMED,
                     "before_id is '%s', which is not an identifier. Follow next_page_uri.",
                     error_quote(quote, page->place));
}

static void write_uri(struct call *call)
{
    struct buf *out = &call->response->body;

    buf_add(out, call->base_url.s, call->base_url.len);
    buf_puts(out, call->match.route->path);
}

/* Writes the items that fit on a page.  Returns how many. */
static size_t write_items(struct call *call, const struct api_page *page,
                          const struct api_page_items *items)
{
    struct buf *out = &call->response->body;
    size_t tail = TAIL_MAX + 2 * call->base_url.len + ENCODED_MAX * page->source.len;

    for (size_t i = 0; i < items->n; i++) {
        size_t len = out->len;

        items->write(call, items->list, i);
        if (out->len + tail <= API_PAGE_MAX || i == 0)
            continue;
        buf_cut(out, len);
        return i;
    }
    return items->n;
}

static void write_next_page(struct call *call, const struct api_page *page,
                            const struct api_page_items *items, size_t n)
{
    struct buf *out = &call->response->body;

    json_put_name(out, "next_page_uri");
    if (n == items->n && !items->more) {
        json_put_null(out);
        return;
    }
    buf_puts(out, "\"");
    write_uri(call);
    buf_printf(out, "?%s=", call->match.route->query[API_PAGE_PLACE].name);
    items->write_place(out, items->list, n - 1);
    if (page->limit_given)
        buf_printf(out, "&limit=%d", page->limit);
    if (page->source.s) {
        buf_puts(out, "&filter=");
        percent_encode(out, page->source);
    }
    buf_puts(out, "\"");
}

void api_page_write(struct call *call, const struct api_page *page,
                    const struct api_page_items *items)
{
    struct buf *out = &call->response->body;
    size_t n;

    json_open(out, '{');
    json_put_name(out, call->match.route->path + 1);
    json_open(out, '[');
    n = write_items(call, page, items);
    json_close(out, ']');
    json_put_name(out, "uri");
    buf_puts(out, "\"");
    write_uri(call);
    buf_puts(out, "\"");
    write_next_page(call, page, items, n);
    json_close(out, '}');
}
