/* SPDX-License-Identifier: MIT */
/* Indenting JSON that has no white space outside of its strings. */
#include "json/indent.h"

void json_new_line(struct buf *out, size_t depth)
{
    size_t len = depth * JSON_INDENT_STEP + 1;
    char *room = buf_room(out, len);

    if (!room)
        return;
    memset(room, ' ', len);
    room[0] = '\n';
    room[len] = '\0';
    out->len += len;
}

/* Returns the length of the string at its opening quote, with both quotes. */
static size_t string_len(struct text from)
{
    size_t len = 1;

    while (len < from.len && from.s[len] != '"')
        len += from.s[len] == '\\' ? 2 : 1;
    return len < from.len ? len + 1 : from.len;
}

/* Appends the bracket or comma at the beginning.  Returns how many bytes it took. */
static size_t put_mark(struct buf *out, struct text from, size_t *depth)
{
    char c = from.s[0];
    bool opens = c == '{' || c == '[';

    if (opens && from.len > 1 && (from.s[1] == '}' || from.s[1] == ']')) {
        buf_add(out, from.s, 2);
        return 2;
    }
    if (c == '}' || c == ']')
        json_new_line(out, --*depth);
    buf_add(out, &c, 1);
    if (opens)
        json_new_line(out, ++*depth);
    else if (c == ',')
        json_new_line(out, *depth);
    else if (c == ':')
        buf_add(out, " ", 1);
    return 1;
}

void json_indent(struct buf *out, struct text written, size_t depth)
{
    struct text left = written;

    while (left.len > 0) {
        size_t len = 0;

        if (left.s[0] == '"') {
            len = string_len(left);
            buf_add(out, left.s, len);
        } else if (strchr("{}[],:", left.s[0])) {
            len = put_mark(out, left, &depth);
        } else {
            while (len < left.len && !strchr("{}[],:\"", left.s[len]))
                len++;
            buf_add(out, left.s, len);
        }
        left = text_part(left, len, left.len);
    }
}
