/* SPDX-License-Identifier: MIT */
/* Makes text safe and short enough for a terminal. */
#include "ctl/terminal.h"

#include "base/invisible.h"
#include "base/utf8.h"

#define WORD_MAX 255 /* of an identifier or a name */
#define WORD_SHOWN 80
#define MESSAGE_MAX 4096
#define MESSAGE_END 1024

/* Scripts below, such as Latin and Greek, join no characters. */
#define FIRST_JOINED 0x600

/* A variation selector and a joiner.  More could hide a text. */
#define JOINS_MAX 2

/* Returns whether a person sees the character.  *n_joins: how many that join may follow. */
static bool is_plain(uint32_t point, int *n_joins)
{
    enum invisible_kind kind = invisible_kind(point);

    if (kind == INVISIBLE_JOINS)
        return (*n_joins)-- > 0;
    *n_joins = kind == INVISIBLE_SHOWS && point >= FIRST_JOINED ? JOINS_MAX : 0;
    return kind != INVISIBLE_NOTHING && !utf8_is_control(point);
}

void terminal_put(struct buf *out, struct text text)
{
    const unsigned char *at = (const unsigned char *)text.s;
    const unsigned char *end = at + text.len;
    int n_joins = 0;

    while (at < end) {
        size_t len = utf8_char_len(at, end);

        if (len > 0 && is_plain(utf8_decode(at, &len), &n_joins))
            buf_add(out, (const char *)at, len);
        else
            buf_puts(out, "?");
        at += len > 0 ? len : 1;
    }
}

void terminal_put_warning(struct buf *out, struct text text)
{
    buf_puts(out, "aditctl: warning: ");
    terminal_put(out, text);
    buf_puts(out, "\n");
}

/* Appends a word.  If it is quoted, the closing quote and a ',' or ';' stay. */
static void put_word(struct buf *out, struct text word)
{
    const char *end = word.s + word.len;
    size_t n_end = 0;

    if (word.len <= WORD_MAX) {
        buf_add(out, word.s, word.len);
        return;
    }
    if (end[-1] == '\'' || end[-2] == '\'')
        n_end = end[-1] == '\'' ? 1 : 2;
    buf_add(out, word.s, utf8_whole(word.s, WORD_SHOWN));
    buf_puts(out, "...");
    buf_add(out, end - n_end, n_end);
}

static void put_words(struct buf *out, struct text text)
{
    size_t from = 0;

    while (from < text.len) {
        size_t to = from;

        while (to < text.len && text.s[to] != ' ')
            to++;
        put_word(out, text_part(text, from, to));
        if (to < text.len)
            buf_puts(out, " ");
        from = to + 1;
    }
}

void terminal_put_message(struct buf *out, struct text message)
{
    struct buf plain = {0};
    struct buf cut = {0};

    terminal_put(&plain, message);
    put_words(&cut, buf_text(&plain));
    if (cut.len <= MESSAGE_MAX) {
        buf_add(out, cut.data ? cut.data : "", cut.len);
    } else {
        size_t from = utf8_whole(cut.data, cut.len - MESSAGE_END);

        buf_add(out, cut.data, utf8_whole(cut.data, MESSAGE_MAX - MESSAGE_END));
        buf_puts(out, " ... ");
        buf_add(out, cut.data + from, cut.len - from);
    }
    out->failed = out->failed || plain.failed || cut.failed;
    buf_free(&plain);
    buf_free(&cut);
}
