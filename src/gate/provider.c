/* SPDX-License-Identifier: MIT */
/* Signing a visitor in at a provider. */
#include "gate/provider.h"

#include <strings.h>

#include "base/clock.h"
#include "base/percent.h"
#include "crypt/crypt.h"
#include "crypt/key.h"
#include "gate/answer.h"
#include "gate/provider_table.h"
#include "http/query.h"

/* Time for one request, and for all that tell who holds a token.  A login takes one request before
 * those, so it lasts at most 15 s. */
#define REQUEST_MS 5000
#define IDENTIFY_MS 10000

/* GitHub's lists: elements of a page, and pages that are read. */
#define PAGE_QUERY "?per_page=100"
#define PAGES_MAX 50

static const struct provider *row_of(const struct provider_client *client)
{
    return &provider_table[client->provider - 1];
}

const char *provider_title(int provider)
{
    return provider_table[provider - 1].title;
}

static const char *url_of(const char *override, const char *url)
{
    return override && override[0] ? override : url;
}

/* Appends an URL, and '?' or '&' and the query unless it is "". */
static void add_url(struct buf *out, const char *url, const char *query)
{
    buf_puts(out, url);
    if (query[0])
        buf_printf(out, "%c%s", strchr(url, '?') ? '&' : '?', query);
}

static void add_form_field(struct buf *out, const char *name, struct text value)
{
    buf_printf(out, "%s%s=", out->len > 0 ? "&" : "", name);
    percent_encode(out, value);
}

/* ---- to the provider ---- */

static void add_scopes(struct buf *out, const struct provider_client *client)
{
    const struct provider *row = row_of(client);

    buf_puts(out, "&scope=");
    if (client->scopes.n == 0) {
        percent_encode(out, text_of(row->scopes));
        if (client->wants_teams && row->team_scopes) {
            buf_puts(out, "%20");
            percent_encode(out, text_of(row->team_scopes));
        }
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
    const struct provider *row = row_of(client);

    add_url(out, url_of(client->conf->authorize_url, row->authorize_url), "response_type=code");
    add_form_field(out, "client_id", client->client_id);
    add_form_field(out, "redirect_uri", client->redirect_uri);
    add_form_field(out, "state", state);
    add_scopes(out, client);
    if (row->takes_pkce)
        add_challenge(out, code_verifier);
    if (row->authorize_query[0])
        buf_printf(out, "&%s", row->authorize_query);
}

/* ---- asking it ---- */

/* What all requests for one visitor share. */
struct asking {
    struct fetcher *fetcher;
    const struct provider_client *client;
    struct text token; /* absent: none yet */
    struct arena *arena;
    int64_t deadline_ms;
    const char **why;
};

/* Sets *why: the provider, the endpoint, the reason and the status, if there is one. */
static void say_why(const struct asking *asking, const char *endpoint, const char *reason,
                    int status)
{
    struct buf why = {0};
    const char *copy = NULL;

    buf_printf(&why, "%s, %s endpoint: %s", row_of(asking->client)->title, endpoint, reason);
    if (status)
        buf_printf(&why, " (status %d)", status);
    if (!why.failed)
        copy = arena_copy(asking->arena, why.data, why.len);
    buf_free(&why);
    *asking->why = copy ? copy : "out of memory"; /* the reason may be in an arena that ends */
}

/* Sends a request.  The answer is in the scratch arena.  Returns false with *why. */
static bool send_request(const struct asking *asking, const char *endpoint, const char *url,
                         struct text form, struct arena *scratch, struct fetch_answer *answer)
{
    struct fetch_request request = {
        .url = url,
        .form = form,
        .bearer = asking->token,
        .accept = "application/json",
        .deadline_ms = clock_earlier(asking->deadline_ms, clock_steady_ms() + REQUEST_MS),
    };
    const char *reason;

    if (fetch(asking->fetcher, &request, scratch, answer, &reason))
        return true;
    say_why(asking, endpoint, reason, 0);
    return false;
}

enum provider_outcome provider_exchange(struct fetcher *fetcher,
                                        const struct provider_client *client, struct text code,
                                        struct text code_verifier, struct arena *arena,
                                        struct text *token, const char **why)
{
    const struct provider *row = row_of(client);
    const struct asking asking = {
        .fetcher = fetcher,
        .client = client,
        .arena = arena,
        .deadline_ms = clock_steady_ms() + REQUEST_MS,
        .why = why,
    };
    enum provider_outcome outcome = PROVIDER_AWAY;
    struct arena scratch = {0};
    struct fetch_answer answer;
    struct buf form = {0};
    const char *reason;

    add_form_field(&form, "grant_type", text_of("authorization_code"));
    add_form_field(&form, "code", code);
    add_form_field(&form, "redirect_uri", client->redirect_uri);
    add_form_field(&form, "client_id", client->client_id);
    add_form_field(&form, "client_secret", client->client_secret);
    if (row->takes_pkce)
        add_form_field(&form, "code_verifier", code_verifier);
    if (form.failed) {
        *why = "out of memory";
    } else if (send_request(&asking, "token", url_of(client->conf->token_url, row->token_url),
                            buf_text(&form), &scratch, &answer)) {
        outcome = answer_token(&answer, arena, token, &reason);
        if (outcome != PROVIDER_ANSWERED)
            say_why(&asking, "token", reason, answer.status);
    }
    arena_free(&scratch);
    buf_free(&form);
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
    const struct provider *row = row_of(client);
    struct text at_token = first_segment(url_of(client->conf->token_url, row->token_url));
    struct text at_authorize =
        first_segment(url_of(client->conf->authorize_url, row->authorize_url));

    return is_tenant(at_token) && text_eq(at_token, at_authorize);
}

static enum provider_outcome ask_user(const struct asking *asking, struct identity *identity)
{
    const struct provider_client *client = asking->client;
    const struct provider *row = row_of(client);
    enum provider_outcome outcome = PROVIDER_AWAY;
    struct arena scratch = {0};
    struct fetch_answer answer;
    struct buf url = {0};
    const char *reason;

    add_url(&url, url_of(client->conf->user_url, row->user_url), row->user_query);
    if (url.failed) {
        *asking->why = "out of memory";
    } else if (send_request(asking, "user", url.data, (struct text){0}, &scratch, &answer)) {
        outcome =
            answer_user(&answer, row, has_own_tenant(client), asking->arena, identity, &reason);
        if (outcome != PROVIDER_ANSWERED)
            say_why(asking, "user", reason, answer.status);
    }
    arena_free(&scratch);
    buf_free(&url);
    return outcome;
}

/* Returns whether an URL is at the same scheme, host and port as the one that the settings say.
 * The token goes nowhere else. */
static bool is_same_origin(const char *url, struct text next)
{
    const char *host = strstr(url, "://");
    size_t len = host ? (size_t)(host + 3 - url) + strcspn(host + 3, "/?#") : 0;

    return len > 0 && next.len > len && next.s[len] == '/' && memcmp(next.s, url, len) == 0;
}

/* A list of the user, page by page. */
struct pages {
    const char *path; /* behind the user endpoint */
    answer_page *read;
    struct answer_texts texts;
};

/* Asks for one page.  Makes *url that of the next one, or empty. */
static enum provider_outcome ask_page(const struct asking *asking, struct pages *pages,
                                      struct buf *url)
{
    enum provider_outcome outcome = PROVIDER_AWAY;
    struct arena scratch = {0};
    struct fetch_answer answer;
    const char *reason = NULL;

    if (send_request(asking, pages->path, url->data, (struct text){0}, &scratch, &answer)) {
        outcome = pages->read(&answer, &pages->texts, &reason);
        if (outcome == PROVIDER_ANSWERED && answer.next.s &&
            !is_same_origin(url->data, answer.next)) {
            outcome = PROVIDER_AWAY;
            reason = "the next page is at another host";
        }
        if (outcome != PROVIDER_ANSWERED)
            say_why(asking, pages->path, reason, answer.status);
        buf_clear(url);
        if (answer.next.s)
            buf_add(url, answer.next.s, answer.next.len);
    }
    arena_free(&scratch);
    return outcome;
}

static enum provider_outcome ask_pages(const struct asking *asking, struct pages *pages,
                                       struct text_list *list)
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
            say_why(asking, pages->path, "the list has too many pages", 0);
        } else if (!url.failed) {
            outcome = ask_page(asking, pages, &url);
        }
        if (url.failed) {
            outcome = PROVIDER_AWAY;
            *asking->why = "out of memory";
        }
    }
    buf_free(&url);
    *list = pages->texts.list;
    return outcome;
}

enum provider_outcome provider_identify(struct fetcher *fetcher,
                                        const struct provider_client *client, struct text token,
                                        struct arena *arena, struct identity *identity,
                                        const char **why)
{
    const struct provider *row = row_of(client);
    const struct asking asking = {
        .fetcher = fetcher,
        .client = client,
        .token = token,
        .arena = arena,
        .deadline_ms = clock_steady_ms() + IDENTIFY_MS,
        .why = why,
    };
    struct pages emails = {.path = "emails", .read = answer_emails};
    struct pages organizations = {.path = "orgs", .read = answer_organizations};
    struct pages teams = {.path = "teams", .read = answer_teams};
    enum provider_outcome outcome = ask_user(&asking, identity);

    if (outcome == PROVIDER_ANSWERED && row->emails == PROVIDER_EMAILS_LIST)
        outcome = ask_pages(&asking, &emails, &identity->emails);
    if (outcome == PROVIDER_ANSWERED && client->wants_teams && row->team_scopes)
        outcome = ask_pages(&asking, &organizations, &identity->organizations);
    if (outcome == PROVIDER_ANSWERED && client->wants_teams && row->team_scopes)
        outcome = ask_pages(&asking, &teams, &identity->teams);
    return outcome;
}
