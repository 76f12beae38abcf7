/* SPDX-License-Identifier: MIT */
/* Fuzz target: input and output of FastCGI records.  The input's first byte gives the size of the
 * pieces in which the rest arrives. */
#include "serve/record.h"

#include "fuzz.h"
#include "serve/request.h"

/* Takes the data in pieces of that many bytes.  Each piece has its own memory, so that a sanitizer
 * sees a read past its end. */
static enum serve_progress take(struct serve_intake *intake, struct text data, size_t piece,
                                size_t *taken)
{
    enum serve_progress progress = SERVE_PART;

    *taken = 0;
    while (progress == SERVE_PART && *taken < data.len) {
        size_t len = data.len - *taken < piece ? data.len - *taken : piece;
        char *copy = malloc(len);
        size_t used;

        MUST(copy);
        memcpy(copy, data.s + *taken, len);
        progress = serve_intake_take(intake, copy, len, &used);
        MUST(used <= len && (used == len || progress != SERVE_PART));
        *taken += used;
        free(copy);
    }
    return progress;
}

static bool same(const struct buf *a, const struct buf *b)
{
    return a->len == b->len && (a->len == 0 || memcmp(a->data, b->data, a->len) == 0);
}

/* A request is the same whatever the size of its pieces. */
static void compare(struct text data, size_t piece, const struct serve_intake *intake,
                    enum serve_progress progress, size_t taken)
{
    struct serve_intake other = {.id = 0};
    size_t n;

    MUST(take(&other, data, piece, &n) == progress);
    if (progress == SERVE_WHOLE)
        MUST(n == taken && other.keep == intake->keep && other.id == intake->id &&
             other.is_authorizer == intake->is_authorizer);
    MUST(progress != SERVE_BROKEN || (intake->cause && strcmp(intake->cause, other.cause) == 0));
    MUST(same(&intake->params, &other.params) && same(&intake->body, &other.body));
    serve_intake_clear(&other);
    MUST(!serve_intake_begun(&other));
}

/* Returns the length of a pair whose lengths are valid. */
static size_t pair_len(const unsigned char *at)
{
    size_t len = 0;
    size_t header = 0;

    for (int i = 0; i < 2; i++) {
        const unsigned char *s = at + header;

        len += s[0] < 0x80
                   ? s[0]
                   : (size_t)(s[0] & 0x7F) << 24 | (size_t)s[1] << 16 | (size_t)s[2] << 8 | s[3];
        header += s[0] < 0x80 ? 1 : 4;
    }
    return header + len;
}

static void look_at_params(const struct buf *params)
{
    size_t at = 0;

    while (at < params->len)
        at += pair_len((const unsigned char *)params->data + at);
    MUST(at == params->len);
}

/* The received variables, and how many of their bytes were visited. */
struct seen {
    const char *came;
    const char *params;
    size_t at;
};

/* A variable lies at its pair, and its bytes are unchanged. */
static void look_at_variable(void *context, struct text name, const char *value)
{
    struct seen *seen = context;
    size_t end = seen->at + pair_len((const unsigned char *)seen->came + seen->at);
    size_t at = (size_t)(name.s - seen->params);

    MUST(at >= seen->at + 2 && at <= seen->at + 8 && at + name.len <= end);
    MUST(value == name.s + name.len && memcmp(name.s, seen->came + at, end - at) == 0);
    seen->at = end;
}

/* Each variable is visited once, and ends with a NUL. */
static void look_at_variables(struct serve_intake *intake)
{
    struct buf came = {0};
    struct seen seen = {0};

    buf_add(&came, buf_text(&intake->params).s, intake->params.len);
    MUST(!came.failed);
    seen.came = came.data;
    seen.params = intake->params.data;
    serve_intake_see(intake, look_at_variable, &seen);
    MUST(seen.at == came.len);
    for (size_t at = 0; at < came.len;) {
        at += pair_len((const unsigned char *)came.data + at);
        MUST(intake->params.data[at] == '\0');
    }
    buf_free(&came);
}

/* The request stays the same when this program writes it as records again. */
static void put_together_again(const struct serve_intake *intake, size_t piece)
{
    const unsigned char begin[SERVE_RECORD_BEGIN_SIZE] = {1,
                                                          SERVE_RECORD_BEGIN,
                                                          (unsigned char)(intake->id >> 8),
                                                          (unsigned char)(intake->id & 0xFF),
                                                          0,
                                                          8,
                                                          0,
                                                          0,
                                                          0,
                                                          intake->is_authorizer ? 2 : 1};
    struct buf all = {0};
    struct buf params = {0};
    struct buf body = {0};
    struct serve_intake again = {.id = 0};
    size_t taken;

    serve_record_begin(&params);
    serve_record_begin(&body);
    buf_add(&params, buf_text(&intake->params).s, intake->params.len);
    buf_add(&body, buf_text(&intake->body).s, intake->body.len);
    serve_record_frame(&params, SERVE_RECORD_PARAMS, intake->id);
    serve_record_frame(&body, SERVE_RECORD_STDIN, intake->id);
    buf_add(&all, (const char *)begin, sizeof begin);
    buf_add(&all, params.data, params.len);
    if (!intake->is_authorizer)
        buf_add(&all, body.data, body.len);
    MUST(!intake->is_authorizer || intake->body.len == 0);
    MUST(!all.failed && !params.failed && !body.failed);
    MUST(take(&again, buf_text(&all), piece, &taken) == SERVE_WHOLE && taken == all.len);
    MUST(again.id == intake->id && !again.keep && !again.is_too_much);
    MUST(again.is_authorizer == intake->is_authorizer);
    MUST(same(&again.params, &intake->params) && same(&again.body, &intake->body));
    serve_intake_clear(&again);
    buf_free(&all);
    buf_free(&params);
    buf_free(&body);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct serve_intake intake = {.id = 0};
    struct text rest;
    enum serve_progress progress;
    size_t piece;
    size_t taken;

    if (size < 2)
        return 0;
    piece = (size_t)data[0] + 1;
    rest = (struct text){.s = (const char *)data + 1, .len = size - 1};
    progress = take(&intake, rest, rest.len, &taken);
    compare(rest, piece, &intake, progress, taken);
    compare(rest, 1, &intake, progress, taken);
    MUST(intake.params.len <= SERVE_PARAMS_MAX && intake.body.len <= REQUEST_BODY_MAX + 1);
    if (progress == SERVE_WHOLE) {
        look_at_params(&intake.params);
        put_together_again(&intake, piece);
        look_at_variables(&intake);
        accepted();
    }
    serve_intake_clear(&intake);
    return 0;
}
