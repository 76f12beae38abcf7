/* SPDX-License-Identifier: MIT */
/* Fuzz target: providers' answers.  The input is a byte that selects the endpoint ('0' to '7': that
 * of the user, by provider; '8': tokens; '9', ':' and ';': lists), a byte that selects the status,
 * the content type with its NUL, and the body, which also serves as a header Link. */
#include "gate/link.h"
#include "gate/provider_answer.h"
#include "model/domain.h"

#include "fuzz.h"

static const int statuses[] = {200, 400, 401, 403, 404, 500};

/* A text that may go into a header, and to a list's comparison. */
static bool is_word(struct text text)
{
    for (size_t i = 0; i < text.len; i++) {
        if (text.s[i] <= ' ' || text.s[i] > '~')
            return false;
    }
    return text.len > 0 && text.s[text.len] == '\0';
}

static bool is_address(struct text text)
{
    const char *why;

    const char *at = memchr(text.s, '@', text.len);

    return at && at > text.s && is_plain(text_part(text, 0, (size_t)(at - text.s))) &&
           domain_valid(text_part(text, (size_t)(at - text.s) + 1, text.len), &why);
}

static bool is_team(struct text text)
{
    const char *slash = memchr(text.s, '/', text.len);

    return is_word(text) && slash && slash > text.s && slash < text.s + text.len - 1 &&
           !memchr(slash + 1, '/', text.len - (size_t)(slash + 1 - text.s));
}

static enum provider_outcome read_token(const struct fetch_answer *answer, struct arena *arena,
                                        const char **why)
{
    struct provider_tokens tokens = {.access = {.s = NULL}};
    enum provider_outcome outcome =
        provider_answer_token(answer, PROVIDER_GITHUB, arena, &tokens, why);

    MUST((outcome == PROVIDER_ANSWERED) == (tokens.access.s != NULL));
    MUST(!tokens.access.s || (is_word(tokens.access) && answer->status == 200));
    MUST(!tokens.refresh.s || is_word(tokens.refresh));
    return outcome;
}

static enum provider_outcome read_user(const struct fetch_answer *answer, size_t row,
                                       struct arena *arena, const char **why)
{
    struct identity identity;
    const struct identity_provider *provider = identity_provider_at((int)row + 1);
    const struct provider_answerer who = {
        .provider = (int)row + 1, .row = provider, .has_own_tenant = true};
    enum provider_outcome outcome = provider_answer_user(answer, &who, arena, &identity, why);

    if (outcome != PROVIDER_ANSWERED)
        return outcome;
    MUST(answer->status == 200 && is_word(identity.subject));
    MUST(!identity.name.s || (identity.name.len > 0 && is_plain(identity.name)));
    MUST(identity.emails.n <= 1 && identity.teams.n == 0 && identity.organizations.n == 0);
    MUST(identity.emails.n == 0 || is_address(identity.emails.items[0]));
    MUST(identity.emails.n == 0 ||
         (provider->emails != PROVIDER_EMAILS_NONE && provider->emails != PROVIDER_EMAILS_LIST));
    return outcome;
}

/* Reads a page twice: the second one goes behind the first, but for primary addresses. */
static enum provider_outcome read_list(const struct fetch_answer *answer,
                                       provider_answer_page *read,
                                       bool (*is_good)(struct text text), struct arena *arena,
                                       const char **why)
{
    struct provider_answer_texts texts = {.arena = arena};
    enum provider_outcome outcome = read(answer, PROVIDER_GITHUB, &texts, why);
    size_t n = texts.list.n;

    MUST(outcome == PROVIDER_ANSWERED || n == 0);
    MUST(read(answer, PROVIDER_GITHUB, &texts, why) == outcome);
    MUST(texts.list.n == 2 * n);
    for (size_t i = 0; i < texts.list.n; i++)
        MUST(is_good(texts.list.items[i]));
    return outcome;
}

/* The header Link comes from the provider, too. */
static void read_link(struct text value)
{
    struct text next = link_next(value);

    MUST(!next.s || (next.s > value.s && next.s + next.len < value.s + value.len &&
                     next.s[-1] == '<' && next.s[next.len] == '>'));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct input input = input_of(data, size);
    enum provider_outcome outcome = PROVIDER_AWAY;
    struct fetch_answer answer = {0};
    struct arena arena = {0};
    const char *why = NULL;
    char *type, *body;
    size_t kind, row;

    if (size < 2)
        return 0;
    /* The first eight kinds are rows, and the bits above say which eight. */
    kind = data[0] & 15;
    row = (size_t)(data[0] >> 4 << 3 | (data[0] & 7)) % OAUTH_N_PROVIDERS;
    answer.status = statuses[data[1] % (sizeof statuses / sizeof statuses[0])];
    input.at += 2;
    input.left -= 2;
    type = take_string(&input);
    body = take_string(&input);
    answer.content_type = text_of(type);
    answer.body = text_of(body);
    read_link(answer.body);
    if (kind < 8)
        outcome = read_user(&answer, row, &arena, &why);
    else if (kind == 8)
        outcome = read_token(&answer, &arena, &why);
    else if (kind == 9)
        outcome = read_list(&answer, provider_answer_emails, is_address, &arena, &why);
    else if (kind == 10)
        outcome = read_list(&answer, provider_answer_organizations, is_word, &arena, &why);
    else
        outcome = read_list(&answer, provider_answer_teams, is_team, &arena, &why);
    MUST(outcome == PROVIDER_ANSWERED || why);
    if (outcome == PROVIDER_ANSWERED)
        accepted();
    arena_free(&arena);
    free(type);
    free(body);
    return 0;
}
