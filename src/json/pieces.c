/* SPDX-License-Identifier: MIT */
/* Walking a JSON text.  It takes no memory, and its time is proportional to the text and the depth
 * of the walk. */
#include "json/pieces.h"

#include "base/ascii.h"

static bool refuse_piece(const struct json_pieces *p, const char *at, const char *msg,
                         struct error *err)
{
    error_say(err, ERR_BODY_NOT_JSON, "%s",
              at >= p->whole.s + p->whole.len ? "The text ends before its JSON is complete." : msg);
    err->has_offset = true;
    err->offset = (size_t)(at - p->whole.s);
    return false;
}

static const char *skip_json_space(const char *at, const char *end)
{
    while (at < end && ascii_is_space(*at))
        at++;
    return at;
}

/* Starts at the opening quote.  Returns the place behind the closing one, or end if there is none.
 */
static const char *skip_string(const char *at, const char *end)
{
    for (at++; at < end && *at != '"'; at++) {
        if (*at == '\\' && at + 1 < end)
            at++;
    }
    return at < end ? at + 1 : end;
}

/* Starts at an opening bracket.  Returns the place behind the bracket that closes it, or end. */
static const char *skip_nested(const char *at, const char *end)
{
    size_t depth = 0;

    while (at < end) {
        char c = *at;

        if (c == '"') {
            at = skip_string(at, end);
            continue;
        }
        at++;
        if (c == '{' || c == '[')
            depth++;
        else if ((c == '}' || c == ']') && --depth == 0)
            break;
    }
    return at;
}

/* Takes the value that begins here, and moves behind it.  It is not empty. */
static bool take_piece(struct json_pieces *p, struct text *value, struct error *err)
{
    const char *from = p->at;

    if (from < p->end && (*from == '{' || *from == '['))
        p->at = skip_nested(from, p->end);
    else if (from < p->end && *from == '"')
        p->at = skip_string(from, p->end);
    else
        while (p->at < p->end && !ascii_is_space(*p->at) && !strchr(",:{}[]\"", *p->at))
            p->at++;
    *value = (struct text){.s = from, .len = (size_t)(p->at - from)};
    return value->len > 0 || refuse_piece(p, from, "There is no JSON value here.", err);
}

bool json_whole_piece(struct text whole, struct text *piece, struct error *err)
{
    struct json_pieces p = {.whole = whole, .at = whole.s, .end = whole.s + whole.len};

    p.at = skip_json_space(p.at, p.end);
    if (!take_piece(&p, piece, err))
        return false;
    p.at = skip_json_space(p.at, p.end);
    return p.at == p.end || refuse_piece(&p, p.at, "Something follows the JSON value.", err);
}

bool json_pieces_begin(struct json_pieces *pieces, struct text whole, struct text piece,
                       bool is_list, struct error *err)
{
    if (piece.len == 0 || piece.s[0] != (is_list ? '[' : '{'))
        return error_say(err, ERR_WRONG_VALUE, "This must be %s.",
                         is_list ? "a list" : "an object");
    *pieces = (struct json_pieces){
        .whole = whole, .at = piece.s + 1, .end = piece.s + piece.len, .is_list = is_list};
    return true;
}

static bool take_name(struct json_pieces *p, struct text *name, struct error *err)
{
    const char *from = p->at;

    if (from >= p->end || *from != '"')
        return refuse_piece(p, from, "A member's name, in quotes, is missing here.", err);
    p->at = skip_string(from, p->end);
    *name = (struct text){.s = from + 1, .len = (size_t)(p->at - from) - 1};
    /* Without its closing quote the name would reach to the end. */
    if (name->len > 0)
        name->len--;
    if (memchr(name->s, '\\', name->len))
        return refuse_piece(p, from, "A member's name has an escape; give it without.", err);
    p->at = skip_json_space(p->at, p->end);
    if (p->at >= p->end || *p->at != ':')
        return refuse_piece(p, p->at, "A colon is missing here.", err);
    p->at = skip_json_space(p->at + 1, p->end);
    return true;
}

bool json_pieces_next(struct json_pieces *pieces, struct text *name, struct text *value,
                      struct error *err)
{
    char closing = pieces->is_list ? ']' : '}';

    *value = (struct text){0};
    pieces->at = skip_json_space(pieces->at, pieces->end);
    if (pieces->at < pieces->end && *pieces->at == closing) {
        pieces->at++;
        return pieces->at == pieces->end ||
               refuse_piece(pieces, pieces->at, "Something follows the end.", err);
    }
    if (pieces->has_begun) {
        if (pieces->at >= pieces->end || *pieces->at != ',')
            return refuse_piece(pieces, pieces->at,
                                pieces->is_list ? "A comma or ']' is missing here."
                                                : "A comma or '}' is missing here.",
                                err);
        pieces->at = skip_json_space(pieces->at + 1, pieces->end);
    }
    pieces->has_begun = true;
    return (pieces->is_list || take_name(pieces, name, err)) && take_piece(pieces, value, err);
}
