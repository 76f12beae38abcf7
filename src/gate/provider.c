/* SPDX-License-Identifier: MIT */
/* Signing a visitor in at a provider. */
#include "gate/provider.h"

#include <stdlib.h>
#include <strings.h>

#include "base/clock.h"
#include "base/percent.h"
#include "crypt/crypt.h"
#include "crypt/key.h"
#include "gate/provider_answer.h"
#include "http/query.h"

/* GitHub's lists: elements of a page, and pages that are read. */
#define PAGE_QUERY "?per_page=100"
#define PAGES_MAX 50

static const struct identity_provider *row_of(const struct provider_client *client)
{
    return identity_provider_at(client->provider);
}

static const char *url_of(const char *override, const char *url)
{
    return override && override[0] ? override : url;
}

/* Appends an URL, and '?' or '&' and the query if there is one. */
static void add_url(struct buf *out, const char *url, const char *query)
{
    buf_puts(out, url);
    if (query)
        buf_printf(out, "%c%s", strchr(url, '?') ? '&' : '?', query);
}

static void add_form_field(struct buf *out, const char *name, struct text value)
{
    buf_printf(out, "%s%s=", out->len > 0 ? "&" : "", name);
    percent_encode(out, value);
}

/* ---- to the provider ---- */

unsigned provider_wants(const struct oauth_provider *lists)
{
    unsigned wants = 0;

    if (lists->email_addresses.n > 0 || lists->email_domains.n > 0)
        wants |= IDENTITY_EMAILS;
    if (lists->organizations.n > 0)
        wants |= IDENTITY_ORGANIZATIONS;
    if (lists->teams.n > 0)
        wants |= IDENTITY_TEAMS;
    return wants;
}

#define TEAM_KINDS (IDENTITY_ORGANIZATIONS | IDENTITY_TEAMS)

/* Appends the words of a text to the list, or counts them if it has no room yet. */
static void add_words(struct text_list *list, struct text words)
{
    struct text word;

    while ((word = text_next_word(&words)).s) {
        if (list->items)
            list->items[list->n] = word;
        list->n++;
    }
}

static void list_scopes(const struct provider_client *client, struct text_list *list)
{
    const struct identity_provider *row = row_of(client);

    list->n = 0;
    for (size_t i = 0; i < client->scopes.n; i++)
        add_words(list, client->scopes.items[i]);
    if (client->scopes.n > 0)
        return;
    add_words(list, text_of(row->scopes));
    if (client->wants & TEAM_KINDS && row->has_teams)
        add_words(list, text_of(row->team_scopes));
}

bool provider_scopes(const struct provider_client *client, struct arena *arena,
                     struct text_list *scopes)
{
    *scopes = (struct text_list){.given = true};
    list_scopes(client, scopes);
    scopes->items = arena_array(arena, scopes->n + 1, sizeof *scopes->items);
    if (!scopes->items)
        return false;
    list_scopes(client, scopes);
    return true;
}

static void add_more_scopes(struct buf *out, const char *scopes)
{
    if (!scopes)
        return;
    buf_puts(out, "%20");
    percent_encode(out, text_of(scopes));
}

static void add_scopes(struct buf *out, const struct provider_client *client)
{
    const struct identity_provider *row = row_of(client);

    buf_puts(out, "&scope=");
    if (client->scopes.n == 0) {
        percent_encode(out, text_of(row->scopes));
        if (client->wants & TEAM_KINDS)
            add_more_scopes(out, row->team_scopes);
        if (client->keeps_token)
            add_more_scopes(out, row->offline_scopes);
    }
    for (size_t i = 0; i < client->scopes.n; i++) {
        buf_puts(out, i > 0 ? "%20" : "");
        percent_encode(out, client->scopes.items[i]);
    }
}

/* Appends the challenge: the digest as base64url without padding (RFC 7636, 4.2). */
static void add_challenge(struct buf *out, struct text code_verifier)
{
    unsigned char digest[CRYPT_SHA256_LEN];
    char encoded[CRYPT_KEY_BASE64URL_SIZE(CRYPT_SHA256_LEN)];

    if (!crypt_sha256(code_verifier.s, code_verifier.len, digest)) {
        out->failed = true;
        return;
    }
    crypt_key_base64url_encode(digest, sizeof digest, encoded);
    buf_printf(out, "&code_challenge_method=S256&code_challenge=%s", encoded);
}

void provider_authorize_url(struct buf *out, const struct provider_client *client,
                            struct text state, struct text code_verifier)
{
    const struct identity_provider *row = row_of(client);

    add_url(out, url_of(client->conf->authorize_url, row->authorize_url), "response_type=code");
    add_form_field(out, "client_id", client->client_id);
    add_form_field(out, "redirect_uri", client->redirect_uri);
    add_form_field(out, "state", state);
    add_scopes(out, client);
    if (row->takes_pkce)
        add_challenge(out, code_verifier);
    if (row->authorize_query)
        buf_printf(out, "&%s", row->authorize_query);
    if (client->keeps_token && row->offline_query)
        buf_printf(out, "&%s", row->offline_query);
}

/* ---- asking it ---- */

/* Appends what scopes or permissions a refusal is about, if the provider says so. */
static void add_scopes_said(struct buf *why, const struct fetch_answer *answer)
{
    if (answer->scopes_taken.len > 0) {
        buf_puts(why, "; it wants one of: ");
        buf_add(why, answer->scopes_taken.s, answer->scopes_taken.len);
    }
    if (answer->scopes_given.s) {
        buf_puts(why, "; the token has: ");
        buf_add(why, answer->scopes_given.s, answer->scopes_given.len);
        buf_puts(why, answer->scopes_given.len > 0 ? "" : "none");
    }
}

/* Sets *why: the provider, the endpoint, the reason and, if there is an answer, its status. */
static void say_why(struct provider_asking *asking, const char *endpoint, const char *reason,
                    const struct fetch_answer *answer)
{
    struct buf why = {0};
    const char *copy = NULL;

    buf_printf(&why, "%s, %s endpoint: %s", row_of(asking->client)->title, endpoint, reason);
    if (answer)
        buf_printf(&why, " (status %d)", answer->status);
    if (answer && answer->status / 100 == 4)
        add_scopes_said(&why, answer);
    if (!why.failed)
        copy = arena_copy(asking->arena, why.data, why.len);
    buf_free(&why);
    asking->why = copy ? copy : "out of memory"; /* the reason may be in an arena that ends */
}

/* Sends a request, with what is the same in all.  The answer is in the scratch arena.  Returns
 * false with the reason. */
static bool send_request(struct provider_asking *asking, const char *endpoint,
                         struct fetch_request request, struct arena *scratch,
                         struct fetch_answer *answer)
{
    const char *reason;

    request.accept = "application/json";
    request.deadline_ms =
        clock_earlier(asking->client->deadline_ms, clock_steady_ms() + PROVIDER_REQUEST_MS);
    if (fetch(asking->fetcher, &request, scratch, answer, &reason))
        return true;
    say_why(asking, endpoint, reason, NULL);
    return false;
}

/* Sends a form to the token endpoint, with the client's id and secret, and wipes it. */
static enum provider_outcome ask_tokens(struct provider_asking *asking, struct buf *form,
                                        struct provider_tokens *tokens)
{
    const struct provider_client *client = asking->client;
    const struct identity_provider *row = row_of(client);
    enum provider_outcome outcome = PROVIDER_AWAY;
    struct arena scratch = {0};
    struct fetch_request request;
    struct fetch_answer answer;
    const char *reason;

    add_form_field(form, "client_id", client->client_id);
    add_form_field(form, "client_secret", client->client_secret);
    request = (struct fetch_request){.url = url_of(client->conf->token_url, row->token_url),
                                     .form = buf_text(form)};
    if (form->failed) {
        asking->why = "out of memory";
    } else if (send_request(asking, "token", request, &scratch, &answer)) {
        outcome = provider_answer_token(&answer, client->provider, asking->arena, tokens, &reason);
        if (outcome != PROVIDER_ANSWERED)
            say_why(asking, "token", reason, &answer);
    }
    arena_free(&scratch);
    buf_free(form);
    return outcome;
}

enum provider_outcome provider_exchange(struct provider_asking *asking, struct text code,
                                        struct text code_verifier, struct provider_tokens *tokens)
{
    struct buf form = {0};

    add_form_field(&form, "grant_type", text_of("authorization_code"));
    add_form_field(&form, "code", code);
    add_form_field(&form, "redirect_uri", asking->client->redirect_uri);
    if (row_of(asking->client)->takes_pkce)
        add_form_field(&form, "code_verifier", code_verifier);
    return ask_tokens(asking, &form, tokens);
}

enum provider_outcome provider_refresh(struct provider_asking *asking, struct text refresh,
                                       struct provider_tokens *tokens)
{
    enum provider_outcome outcome;
    struct buf form = {0};

    add_form_field(&form, "grant_type", text_of("refresh_token"));
    add_form_field(&form, "refresh_token", refresh);
    outcome = ask_tokens(asking, &form, tokens);
    if (outcome == PROVIDER_ANSWERED && !tokens->refresh.s)
        tokens->refresh = refresh;
    return outcome;
}

/* ---- who holds a token ---- */

/* Returns the first segment of the URL's path. */
static struct text first_segment(const char *url)
{
    const char *host = strstr(url, "://");
    const char *path = host ? strchr(host + 3, '/') : NULL;

    if (!path)
        return (struct text){0};
    return (struct text){.s = path + 1, .len = strcspn(path + 1, "/?#")};
}

static bool is_tenant(struct text segment)
{
    static const char *const shared[] = {"common", "organizations", "consumers"};

    for (size_t i = 0; i < sizeof shared / sizeof shared[0]; i++) {
        if (segment.len == strlen(shared[i]) && strncasecmp(segment.s, shared[i], segment.len) == 0)
            return false;
    }
    return segment.len > 0;
}

/* Returns whether both endpoints are those of one tenant: nobody else's users get a token there. */
static bool has_own_tenant(const struct provider_client *client)
{
    const struct identity_provider *row = row_of(client);
    struct text at_token = first_segment(url_of(client->conf->token_url, row->token_url));
    struct text at_authorize =
        first_segment(url_of(client->conf->authorize_url, row->authorize_url));

    return is_tenant(at_token) && text_eq(at_token, at_authorize);
}

static enum provider_outcome ask_user(struct provider_asking *asking, struct text token,
                                      struct identity *identity)
{
    const struct provider_client *client = asking->client;
    const struct provider_answerer who = {.provider = client->provider,
                                          .row = row_of(client),
                                          .has_own_tenant = has_own_tenant(client)};
    enum provider_outcome outcome = PROVIDER_AWAY;
    struct arena scratch = {0};
    struct fetch_request request;
    struct fetch_answer answer;
    struct buf url = {0};
    const char *reason;

    add_url(&url, url_of(client->conf->user_url, who.row->user_url), who.row->user_query);
    request = (struct fetch_request){.url = url.data, .bearer = token};
    if (url.failed) {
        asking->why = "out of memory";
    } else if (send_request(asking, "user", request, &scratch, &answer)) {
        outcome = provider_answer_user(&answer, &who, asking->arena, identity, &reason);
        if (outcome != PROVIDER_ANSWERED)
            say_why(asking, "user", reason, &answer);
    }
    arena_free(&scratch);
    buf_free(&url);
    return outcome;
}

/* A list of the user, page by page. */
struct pages {
    const char *path; /* behind the user endpoint */
    struct text token;
    provider_answer_page *read;
    struct provider_answer_texts texts;
};

/* Asks for one page.  Makes *url that of the next one, or empty. */
static enum provider_outcome ask_page(struct provider_asking *asking, struct pages *pages,
                                      struct buf *url)
{
    const struct fetch_request request = {.url = url->data, .bearer = pages->token};
    enum provider_outcome outcome = PROVIDER_AWAY;
    struct arena scratch = {0};
    struct fetch_answer answer;
    const char *reason = NULL;

    if (send_request(asking, pages->path, request, &scratch, &answer)) {
        outcome = pages->read(&answer, asking->client->provider, &pages->texts, &reason);
        /* The token goes nowhere else. */
        if (outcome == PROVIDER_ANSWERED && answer.next.s &&
            !fetch_is_same_origin(url->data, answer.next.s)) {
            outcome = PROVIDER_AWAY;
            reason = "the next page is at another host";
        }
        if (outcome != PROVIDER_ANSWERED)
            say_why(asking, pages->path, reason, &answer);
        buf_clear(url);
        if (answer.next.s)
            buf_add(url, answer.next.s, answer.next.len);
    }
    arena_free(&scratch);
    return outcome;
}

static enum provider_outcome ask_pages(struct provider_asking *asking, struct pages *pages)
{
    const struct provider_client *client = asking->client;
    const char *user_url = url_of(client->conf->user_url, row_of(client)->user_url);
    enum provider_outcome outcome = PROVIDER_ANSWERED;
    struct buf url = {0};

    pages->texts.arena = asking->arena;
    buf_add(&url, user_url, strcspn(user_url, "?"));
    if (url.len > 0 && url.data[url.len - 1] == '/')
        buf_cut(&url, url.len - 1);
    buf_printf(&url, "/%s" PAGE_QUERY, pages->path);
    /* A failed URL is no end of the list. */
    for (int n = 0; outcome == PROVIDER_ANSWERED && (url.len > 0 || url.failed); n++) {
        if (n == PAGES_MAX) {
            outcome = PROVIDER_AWAY;
            say_why(asking, pages->path, "the list has too many pages", NULL);
        } else if (!url.failed) {
            outcome = ask_page(asking, pages, &url);
        }
        if (url.failed) {
            outcome = PROVIDER_AWAY;
            asking->why = "out of memory";
        }
    }
    buf_free(&url);
    return outcome;
}

/* Asks for a list, and puts it into the identity.  One that is not given stays unknown. */
static enum provider_outcome ask_list(struct provider_asking *asking, struct text token,
                                      enum identity_kind kind, struct identity *identity)
{
    struct pages pages = {0};
    const char *before = asking->why;
    struct text_list *list = NULL;
    enum provider_outcome outcome;

    switch (kind) {
    case IDENTITY_EMAILS:
        pages = (struct pages){.path = "emails", .read = provider_answer_emails};
        list = &identity->emails;
        break;
    case IDENTITY_ORGANIZATIONS:
        pages = (struct pages){.path = "orgs", .read = provider_answer_organizations};
        list = &identity->organizations;
        break;
    case IDENTITY_TEAMS:
        pages = (struct pages){.path = "teams", .read = provider_answer_teams};
        list = &identity->teams;
        break;
    case IDENTITY_DOMAINS:
        return PROVIDER_ANSWERED;
    }
    pages.token = token;
    outcome = ask_pages(asking, &pages);
    if (outcome == PROVIDER_NOT_GIVEN) {
        identity->known &= ~(unsigned)kind;
        if (!(asking->client->wants & kind))
            asking->why = before;
        return PROVIDER_ANSWERED;
    }
    *list = pages.texts.list;
    return outcome;
}

static int compare_texts(const void *a, const void *b)
{
    return text_cmp(*(const struct text *)a, *(const struct text *)b);
}

static void sort_from(struct text_list *list, size_t first)
{
    if (list->n > first + 1)
        qsort(list->items + first, list->n - first, sizeof *list->items, compare_texts);
}

/* A provider may list the same in another order each time.  The first address is the visitor's
 * name. */
static void sort_lists(struct identity *identity)
{
    sort_from(&identity->emails, 1);
    sort_from(&identity->organizations, 0);
    sort_from(&identity->teams, 0);
}

enum provider_outcome provider_identify(struct provider_asking *asking, struct text token,
                                        struct identity *identity)
{
    static const enum identity_kind lists[] = {IDENTITY_EMAILS, IDENTITY_ORGANIZATIONS,
                                               IDENTITY_TEAMS};
    const struct provider_client *client = asking->client;
    const struct identity_provider *row = row_of(client);
    /* Both, so that a module may list teams in place of organizations. */
    unsigned above = client->wants & TEAM_KINDS ? TEAM_KINDS : 0;
    unsigned asked = row->emails == PROVIDER_EMAILS_LIST ? IDENTITY_EMAILS : 0;
    enum provider_outcome outcome;

    asking->why = NULL;
    outcome = ask_user(asking, token, identity);
    /* A provider without such lists has told all that it knows. */
    identity->known |= IDENTITY_EMAILS | (row->has_teams ? above : TEAM_KINDS);
    if (row->has_teams)
        asked |= above;
    for (size_t i = 0; outcome == PROVIDER_ANSWERED && i < sizeof lists / sizeof lists[0]; i++) {
        if (asked & lists[i])
            outcome = ask_list(asking, token, lists[i], identity);
    }
    if (outcome == PROVIDER_ANSWERED)
        sort_lists(identity);
    return outcome;
}
