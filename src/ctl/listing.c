/* SPDX-License-Identifier: MIT */
/* aditctl's lists and facts: aligned columns on a terminal, tabs elsewhere, JSON with --json. */
#include "ctl/listing.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/utf8.h"
#include "ctl/terminal.h"
#include "json/write.h"

#define GAP 2 /* spaces between the columns of a terminal */

/* ---- JSON ---- */

/* Writes text that may not be UTF-8, such as a message of the C library. */
static void put_any_text(struct buf *out, struct text value)
{
    struct buf shown = {0};

    if (!value.s || utf8_valid(value.s, value.len)) {
        json_put_text(out, value);
        return;
    }
    for (size_t i = 0; i < value.len; i++)
        buf_add(&shown, value.s[i] == '\0' || (value.s[i] & 0x80) ? "?" : value.s + i, 1);
    json_put_text(out, buf_text(&shown));
    out->failed = out->failed || shown.failed;
    buf_free(&shown);
}

static void put_list(struct buf *out, struct text value)
{
    size_t from = 0;

    json_open(out, '[');
    for (size_t to = 0; to <= value.len; to++) {
        if (to < value.len && value.s[to] != ' ' && value.s[to] != ',')
            continue;
        if (to > from)
            put_any_text(out, text_part(value, from, to));
        from = to + 1;
    }
    json_close(out, ']');
}

static void put_value(struct buf *out, enum listing_kind kind, struct text value)
{
    if (!value.s)
        json_put_null(out);
    else if (kind == LISTING_BOOL)
        json_put_bool(out, text_eq(value, text_of("yes")));
    else if (kind == LISTING_NUMBER || kind == LISTING_JSON)
        json_put_raw(out, value);
    else if (kind == LISTING_LIST)
        put_list(out, value);
    else
        put_any_text(out, value);
}

static void put_facts(struct buf *out, const struct listing_fact *facts, int n_facts)
{
    for (int i = 0; i < n_facts; i++) {
        json_put_name(out, facts[i].name);
        put_value(out, facts[i].kind, facts[i].value);
    }
}

/* Prints the text, and frees it: it may hold an API key. */
static void print_buf(struct buf *out)
{
    if (out->failed)
        exit(ctl_fail("out of memory"));
    fwrite(buf_text(out).s, 1, out->len, stdout);
    buf_free(out);
}

/* ---- rows ---- */

/* Returns the number of characters, as an estimate of the terminal columns. */
static int width_of(struct text value)
{
    int width = 0;

    for (size_t i = 0; i < value.len; i++)
        width += ((unsigned char)value.s[i] & 0xC0) != 0x80;
    return width;
}

static struct text shown(struct text value)
{
    return value.s ? value : text_of("-");
}

/* aditctl accepts no control characters, but callers and other programs write to the tables too. */
static void print_cell(struct text value)
{
    struct buf plain = {0};

    terminal_put(&plain, value);
    print_buf(&plain);
}

static void print_gap(int room)
{
    printf("%*s", room > 0 ? room + GAP : GAP, "");
}

/* Prints cells and ends the line; without widths, with tabs.  Skips those without a heading. */
static void print_row(const struct listing *listing, const struct text *cells, const int *widths)
{
    const char *gap = "";
    int room = 0;

    for (int i = 0; i < listing->n_columns; i++) {
        if (!listing->columns[i].heading)
            continue;
        if (widths && *gap)
            print_gap(room);
        else
            fputs(gap, stdout);
        print_cell(shown(cells[i]));
        room = widths ? widths[i] - width_of(shown(cells[i])) : 0;
        gap = "\t";
    }
    putchar('\n');
}

static void print_headings(const struct listing *listing, const int *widths)
{
    struct text cells[LISTING_COLUMNS_MAX];

    for (int i = 0; i < listing->n_columns; i++)
        cells[i] = text_of(listing->columns[i].heading);
    print_row(listing, cells, widths);
}

static void put_json_row(struct listing_out *out, const struct text *cells)
{
    const struct listing *listing = out->listing;
    struct buf json = {0};

    buf_puts(&json, out->n_rows > 0 ? ",\n" : "\n");
    buf_puts(&json, "{");
    for (int i = 0; i < listing->n_columns; i++) {
        if (!listing->columns[i].name)
            continue;
        json_put_name(&json, listing->columns[i].name);
        put_value(&json, listing->columns[i].kind, cells[i]);
    }
    json_close(&json, '}');
    print_buf(&json);
}

/* ---- lists ---- */

static void open_json(const struct listing *listing)
{
    struct buf json = {0};

    json_open(&json, '{');
    json_put_name(&json, listing->name);
    json_open(&json, '[');
    print_buf(&json);
}

/* Returns the widths of the listing's columns, in room, or NULL for tabs. */
static const int *choose_widths(const struct listing *listing, int room[LISTING_COLUMNS_MAX])
{
    if (!isatty(STDOUT_FILENO))
        return NULL;
    for (int i = 0; i < listing->n_columns; i++)
        room[i] = listing->columns[i].width;
    return room;
}

void listing_open(struct listing_out *out, const struct ctl *ctl, const struct listing *listing)
{
    int room[LISTING_COLUMNS_MAX];

    *out = (struct listing_out){.ctl = ctl, .listing = listing};
    if (ctl->options.json)
        open_json(listing);
    else
        print_headings(listing, choose_widths(listing, room));
}

void listing_add(struct listing_out *out, const struct text *cells)
{
    int room[LISTING_COLUMNS_MAX];

    if (out->ctl->options.json)
        put_json_row(out, cells);
    else
        print_row(out->listing, cells, choose_widths(out->listing, room));
    out->n_rows++;
}

void listing_close(struct listing_out *out, const struct listing_fact *facts, int n_facts)
{
    struct buf json = {0};

    if (!out->ctl->options.json)
        return;
    buf_puts(&json, out->n_rows > 0 ? "\n]" : "]");
    put_facts(&json, facts, n_facts);
    buf_puts(&json, "}\n");
    print_buf(&json);
}

static void measure(const struct listing *listing, const struct pg_result *result, int *widths)
{
    for (int column = 0; column < listing->n_columns; column++) {
        const char *heading = listing->columns[column].heading;

        widths[column] = heading ? width_of(text_of(heading)) : 0;
        for (int row = 0; row < pg_rows(result); row++) {
            int width = width_of(shown(pg_text(result, row, column)));

            if (width > widths[column])
                widths[column] = width;
        }
    }
}

void listing_print(const struct ctl *ctl, const struct listing *listing,
                   const struct pg_result *result)
{
    struct listing_column columns[LISTING_COLUMNS_MAX];
    struct listing measured = *listing;
    int widths[LISTING_COLUMNS_MAX];
    struct listing_out out;

    measure(listing, result, widths);
    for (int i = 0; i < listing->n_columns; i++) {
        columns[i] = listing->columns[i];
        columns[i].width = widths[i];
    }
    measured.columns = columns;
    listing_open(&out, ctl, &measured);
    for (int row = 0; row < pg_rows(result); row++) {
        struct text cells[LISTING_COLUMNS_MAX];

        for (int i = 0; i < listing->n_columns; i++)
            cells[i] = pg_text(result, row, i);
        listing_add(&out, cells);
    }
    listing_close(&out, NULL, 0);
}

/* ---- facts ---- */

bool listing_put_json(const struct ctl *ctl, const struct listing_fact *facts, int n_facts)
{
    struct buf json = {0};

    if (!ctl->options.json)
        return false;
    json_open(&json, '{');
    put_facts(&json, facts, n_facts);
    buf_puts(&json, "}\n");
    print_buf(&json);
    return true;
}

void listing_print_facts(const struct ctl *ctl, const struct listing_fact *facts, int n_facts)
{
    static const struct listing_column columns[] = {{"", NULL, LISTING_TEXT, 0},
                                                    {"", NULL, LISTING_TEXT, 0}};
    static const struct listing lines = {NULL, columns, 2};
    int width = 0;

    if (listing_put_json(ctl, facts, n_facts))
        return;
    for (int i = 0; i < n_facts; i++) {
        int own = width_of(text_of(facts[i].name));

        width = own > width ? own : width;
    }
    for (int i = 0; i < n_facts; i++)
        print_row(&lines, (struct text[]){text_of(facts[i].name), facts[i].value},
                  isatty(STDOUT_FILENO) ? &width : NULL);
}

void listing_print_value(const struct ctl *ctl, const char *name, const char *value)
{
    const struct listing_fact fact = {name, LISTING_TEXT, text_of(value)};

    if (!listing_put_json(ctl, &fact, 1))
        puts(value);
}

void listing_print_file(const struct ctl *ctl, const char *name, struct text text)
{
    const struct listing_fact fact = {name, LISTING_TEXT, text};

    if (!listing_put_json(ctl, &fact, 1))
        fwrite(text.s, 1, text.len, stdout);
}

struct text listing_number(char out[LISTING_NUMBER_SIZE], int64_t number)
{
    snprintf(out, LISTING_NUMBER_SIZE, "%lld", (long long)number);
    return text_of(out);
}
