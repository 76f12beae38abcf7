/* SPDX-License-Identifier: MIT */
/* Signing in at the provider, and out. */
#include "gate/login.h"

#include <string.h>
#include <strings.h>

#include "base/clock.h"
#include "base/percent.h"
#include "gate/application.h"
#include "gate/begun.h"
#include "gate/form.h"
#include "gate/meaning.h"
#include "gate/rules.h"
#include "gate/visit.h"
#include "gate/waiting.h"

static const struct text no_text = {.s = NULL, .len = 0};

/* ---- the provider ---- */

static bool was_asked_for(const struct text_list *list, struct text word)
{
    for (size_t i = 0; i < list->n; i++) {
        if (text_eq(list->items[i], word))
            return true;
    }
    return false;
}

bool login_may_let_in(struct gate_call *call, const struct visitor_session *session)
{
    struct provider_client client;
    struct text_list scopes;

    if (rules_admit(&call->stored.module.config, &session->identity))
        return true;
    if (!application_fill(call, &client) || !provider_scopes(&client, &call->lane->arena, &scopes))
        return false;
    for (size_t i = 0; i < scopes.n; i++) {
        if (!was_asked_for(&session->asked, scopes.items[i]))
            return true;
    }
    return client.wants & ~session->identity.known;
}

/* Returns whether the public URL is an origin: what the provider has on record begins so. */
static bool has_url(const struct gate_call *call)
{
    struct text url = gate_call_variable(call, GATE_ADIT_URL);
    size_t scheme_len = text_begins(url, "https://") ? 8 : 7;

    if ((!text_begins(url, "https://") && !text_begins(url, "http://")) || url.len == scheme_len)
        return false;
    for (size_t i = scheme_len; i < url.len; i++) {
        if (url.s[i] <= ' ' || url.s[i] > '~' || strchr("/\\?#@\"<>", url.s[i]))
            return false;
    }
    return true;
}

static void cannot_sign_in(struct gate_call *call, enum html_page page, const char *cause)
{
    gate_call_log(call, page == HTML_PAGE_LOGIN_FAILED ? LOG_LEVEL_INFO : LOG_LEVEL_ERROR,
                  "cannot sign in", cause, NULL);
    gate_call_refuse(call, page, NULL);
}

/* Returns whether the route can sign visitors in.  If not, makes the answer. */
static bool can_begin(struct gate_call *call, struct provider_client *client)
{
    if (!has_url(call)) {
        cannot_sign_in(call, HTML_PAGE_NOT_SET_UP,
                       "ADIT_URL is not the public URL of the route's host, such as "
                       "https://app.example.com; correct the web server's configuration");
        return false;
    }
    if (!cookie_prefix_works(call->cookie_prefix, gate_call_is_secure(call))) {
        cannot_sign_in(call, HTML_PAGE_NOT_SET_UP,
                       "browsers take cookies with this cookie_prefix under https only, and "
                       "ADIT_URL begins with http://; change the module's cookie_prefix");
        return false;
    }
    if (!application_fill(call, client)) {
        cannot_sign_in(call, HTML_PAGE_NOT_SET_UP,
                       "the module names no OAuth application, and [provider.NAME] of the "
                       "settings none either");
        return false;
    }
    return true;
}

/* ---- to the provider ---- */

/* Returns whether a client takes HTML.  Browsers name it when they go to a page, and do not for
 * images, styles and streams of events.  Scripts and simple clients take anything. */
static bool takes_html(struct text accept)
{
    return !text_present(accept) || text_eq(accept, text_of("*/*")) ||
           memmem(accept.s, accept.len, "text/html", strlen("text/html"));
}

/* Returns whether a browser would show the provider's page: it is not the request of a script, for
 * an image or for a WebSocket.  Browsers say so in Sec-Fetch-Mode, but not under http. */
static bool is_navigation(const struct gate_call *call)
{
    struct text mode = gate_call_variable(call, GATE_FETCH_MODE);

    if (!gate_call_is_read(call))
        return false;
    if (text_present(mode))
        return text_eq(mode, text_of("navigate"));
    return takes_html(gate_call_variable(call, GATE_ACCEPT)) &&
           !text_present(gate_call_variable(call, GATE_WEBSOCKET_KEY));
}

static struct text way_back(const struct gate_call *call)
{
    struct text uri = gate_call_variable(call, GATE_REQUEST_URI);

    if (!login_way_back_valid(uri) || text_begins(call->path, GATE_PATH))
        return text_of("/");
    return uri;
}

/* ---- the route's host ---- */

/* The parameter of the callback with which a login begins there. */
#define BEGIN "begin"

static struct text host_without_port(struct text authority)
{
    const char *bracket;
    size_t len;

    if (!authority.s)
        return authority;
    bracket = memrchr(authority.s, ']', authority.len);
    len = bracket ? (size_t)(bracket - authority.s) : 0;
    while (len < authority.len && authority.s[len] != ':')
        len++;
    return text_part(authority, 0, len);
}

/* Returns whether the browser has asked for a host whose cookies the provider's way back does not
 * have.  Cookies do not tell ports apart. */
static bool is_other_host(const struct gate_call *call, struct text *asked, struct text *own)
{
    struct text url = gate_call_variable(call, GATE_ADIT_URL);

    *asked = host_without_port(gate_call_variable(call, GATE_HOST));
    *own = host_without_port(text_part(url, text_begins(url, "https://") ? 8 : 7, url.len));
    return text_present(*asked) &&
           (asked->len != own->len || strncasecmp(asked->s, own->s, own->len) != 0);
}

/* Bytes of the longest URL that leads there.  Web servers accept 8 KiB of a request line, unless
 * they are set up otherwise. */
#define OWN_URL_MAX 8000

/* Appends a way back as the value of a parameter.  Few bytes are encoded, so that it stays short.
 */
static void add_way_back(struct buf *url, struct text back)
{
    for (size_t i = 0; i < back.len; i++) {
        struct text c = text_part(back, i, i + 1);

        if (strchr("%&+#\"<>", *c.s))
            percent_encode(url, c);
        else
            buf_add(url, c.s, c.len);
    }
}

/* Sends the browser to the route's host, and to no page there: a proxy that names another host
 * would send it in circles. */
static void send_to_own_host(struct gate_call *call)
{
    struct buf url = {0};
    struct text location = gate_call_variable(call, GATE_ADIT_URL);
    size_t len;

    buf_add(&url, location.s, location.len);
    buf_puts(&url, GATE_CALLBACK "?" BEGIN "=");
    len = url.len;
    add_way_back(&url, way_back(call));
    if (url.len > OWN_URL_MAX) {
        buf_cut(&url, len);
        buf_puts(&url, "/");
    }
    gate_call_send_to(call, gate_call_keep(call, &url), no_text);
}

/* Returns whether the login has to begin at the route's own callback, and logs why. */
static bool begins_elsewhere(struct gate_call *call)
{
    struct text site = gate_call_variable(call, GATE_FETCH_SITE);
    struct text asked, own;
    struct buf why = {0};

    if (is_other_host(call, &asked, &own)) {
        buf_add(&why, asked.s, asked.len);
        buf_puts(&why, " is not the host of ADIT_URL, ");
        buf_add(&why, own.s, own.len);
        gate_call_log(call, LOG_LEVEL_WARNING, "sent to the route's host",
                      gate_call_keep(call, &why).s, NULL);
        return true;
    }
    /* Under http, no browser takes the login's cookie.  If https ends at another server, this costs
     * one redirect. */
    if (gate_call_is_secure(call) &&
        text_eq(gate_call_variable(call, GATE_SCHEME), text_of("http"))) {
        gate_call_log(call, LOG_LEVEL_INFO, "sent to the route's host",
                      "http is not the scheme of ADIT_URL", NULL);
        return true;
    }
    /* Only there does the browser send the cookies of logins, and these are counted: another site
     * may begin as many as it likes. */
    return text_eq(site, text_of("cross-site")) || text_eq(site, text_of("same-site"));
}

/* Sends the browser to the provider, to come back to a page. */
static void begin_back_at(struct gate_call *call, const struct provider_client *client,
                          struct text back)
{
    struct login_state state;
    struct text set_cookie = no_text;
    struct error err = {.code = ERR_NONE};
    struct buf url = {0};

    if (!begun_make(call, back, &state, &set_cookie, &err)) {
        cannot_sign_in(call, HTML_PAGE_NOT_READY, error_reason(&err));
        return;
    }
    provider_authorize_url(&url, client, text_of(state.id), text_of(state.code_verifier));
    if (url.failed) {
        cannot_sign_in(call, HTML_PAGE_NOT_READY, "out of memory");
    } else {
        gate_call_send_to(call, buf_text(&url), set_cookie);
        /* nginx passes one cookie on from a check. */
        if (call->voice == CALL_BROWSER)
            begun_make_room(call, set_cookie);
    }
    buf_free(&url);
}

void login_begin(struct gate_call *call)
{
    struct provider_client client;

    if (!is_navigation(call))
        gate_call_send_to(call, no_text, no_text);
    else if (!can_begin(call, &client))
        return;
    else if (begins_elsewhere(call))
        send_to_own_host(call);
    else
        begin_back_at(call, &client, way_back(call));
}

/* ---- back from the provider ---- */

/* What the browser has come back with. */
struct arrival {
    struct text code;
    const struct login_state *state;
};

/* Asks the provider who the visitor is. */
static enum provider_outcome identify(struct provider_asking *asking, const struct arrival *arrival,
                                      struct visitor_session *session)
{
    struct provider_tokens tokens;
    enum provider_outcome outcome =
        provider_exchange(asking, arrival->code, text_of(arrival->state->code_verifier), &tokens);

    if (outcome == PROVIDER_ANSWERED)
        outcome = provider_identify(asking, tokens.access, &session->identity);
    if (outcome == PROVIDER_ANSWERED && asking->client->keeps_token) {
        session->token = tokens.access;
        session->refresh = tokens.refresh;
    }
    return outcome;
}

/* Gives the visitor a session, and sends the browser to the page that was asked for. */
static void welcome(struct gate_call *call, const struct provider_client *client,
                    const struct login_state *state, struct visitor_session *session)
{
    struct error err = {.code = ERR_NONE};
    struct text set_cookie = no_text;
    bool is_let_in;

    /* The provider may have taken longer than the module lets a session last. */
    session->issued = session->seen = session->checked = clock_wall_ms() / 1000;
    visit_bind(call, session);
    rules_narrow(&call->stored.module.config, &session->identity);
    is_let_in = rules_admit(&call->stored.module.config, &session->identity);
    session->is_stranger = !is_let_in;
    if (!visitor_session_new_id(session->id) ||
        !provider_scopes(client, &call->lane->arena, &session->asked)) {
        cannot_sign_in(call, HTML_PAGE_NOT_READY, "memory or random numbers are short");
        return;
    }
    if (!visit_keep(call, session, is_let_in ? VISIT_ALLOWED : VISIT_REFUSED, &set_cookie, &err)) {
        cannot_sign_in(call, HTML_PAGE_NOT_READY, error_reason(&err));
        return;
    }
    gate_call_log(call, LOG_LEVEL_INFO, "signed in", NULL, &session->identity);
    if (set_cookie.s) {
        gate_call_send_to(call, state->way_back, set_cookie);
        call->outcome = COUNTS_SIGNED_IN;
    } else {
        /* Else the browser would go on as whoever signed in before. */
        gate_call_refuse(call, HTML_PAGE_NOT_ALLOWED, &session->identity);
        gate_call_set_cookie(call, visit_removal(call));
    }
    gate_call_set_cookie(call, begun_removal(call, state));
}

/* Somebody who is signed in has only gone back to the address. */
static void answer_unknown_state(struct gate_call *call, const char *why)
{
    struct visits visits;
    struct error err = {.code = ERR_NONE};

    if (visit_find(call, &visits, &err) == VISIT_FOUND)
        gate_call_send_to(call, text_of("/"), no_text);
    else
        cannot_sign_in(call, HTML_PAGE_LOGIN_FAILED, why);
}

/* Returns whether a list that the provider did not give could let the visitor in. */
static bool lacks_a_list(const struct gate_call *call, const struct provider_client *client,
                         const struct identity *identity)
{
    return client->wants & ~identity->known && !rules_admit(&call->stored.module.config, identity);
}

/* Answers a visitor whom the provider does not sign in. */
static void answer_outcome(struct gate_call *call, enum provider_outcome outcome, const char *why)
{
    switch (outcome) {
    case PROVIDER_AWAY:
        gate_call_log(call, LOG_LEVEL_WARNING, "the provider does not answer", why, NULL);
        gate_call_refuse(call, HTML_PAGE_PROVIDER_AWAY, NULL);
        break;
    case PROVIDER_REFUSED:
        cannot_sign_in(call, HTML_PAGE_LOGIN_FAILED, why);
        break;
    case PROVIDER_NOT_SET_UP:
    case PROVIDER_NOT_GIVEN:
    case PROVIDER_ANSWERED:
        cannot_sign_in(call, HTML_PAGE_NOT_SET_UP, why);
        break;
    }
}

/* Returns whether the provider may be asked, which uses the state up.  If not, answers. */
static bool can_ask(struct gate_call *call, struct provider_client *client,
                    const struct login_state *state)
{
    struct error err = {.code = ERR_NONE};

    if (application_open_secret(call, client, &err) && begun_use(call, state, &err))
        return true;
    if (err.code == ERR_NONE)
        answer_unknown_state(call, "the state was used before");
    else
        cannot_sign_in(call, HTML_PAGE_NOT_READY, error_reason(&err));
    return false;
}

/* Signs the visitor in with the code of the provider.  A lane that may not wait for it leaves the
 * state and the code as they are. */
static void sign_in(struct gate_call *call, struct text code, const struct login_state *state)
{
    const struct arrival arrival = {.code = code, .state = state};
    struct provider_client client;
    struct visitor_session session = {.issued = 0};
    struct provider_asking asking = {
        .client = &client, .arena = &call->lane->arena, .why = waiting_fault};
    enum provider_outcome outcome = PROVIDER_AWAY;
    bool asks = true;

    if (!can_begin(call, &client))
        return;
    asking.fetcher = waiting_begin_fetch(call, NULL);
    if (asking.fetcher) {
        asks = can_ask(call, &client, state);
        if (asks) {
            int64_t begun_us = clock_steady_us();

            outcome = identify(&asking, &arrival, &session);
            counts_question(call->lane->worker->counts, outcome, begun_us);
        }
        waiting_end_fetch(call, asking.fetcher);
    }
    if (!asks)
        return;
    if (outcome == PROVIDER_ANSWERED && !lacks_a_list(call, &client, &session.identity))
        welcome(call, &client, state, &session);
    else
        answer_outcome(call, outcome, asking.why);
}

/* The visitor comes back with an error in place of a code. */
static void answer_refusal(struct gate_call *call, struct text wrong)
{
    const char *name;
    enum provider_outcome outcome = meaning_of_error(wrong, &name);
    struct buf why = {0};
    struct text cause;

    buf_printf(&why, "%s, authorize endpoint: %s",
               identity_provider_at(call->place.provider)->title, name);
    cause = gate_call_keep(call, &why);
    answer_outcome(call, outcome, cause.s ? cause.s : name);
}

/* Begins a login at the route's host, where another one has sent the browser.  It looks at no
 * session and at no host: sent back to the page, the browser could come again and again. */
static void begin_here(struct gate_call *call, struct text back)
{
    struct provider_client client;

    if (!login_way_back_valid(back) || text_begins(back, GATE_PATH))
        back = text_of("/");
    call->again = back;
    if (!is_navigation(call))
        gate_call_send_to(call, no_text, no_text);
    else if (can_begin(call, &client))
        begin_back_at(call, &client, back);
}

void login_finish(struct gate_call *call)
{
    const struct oauth_module *module = &call->stored.module;
    struct text query = text_of(call->request->query);
    struct arena *arena = &call->lane->arena;
    struct text code, wrong, id;
    struct login_state state;
    struct error err = {.code = ERR_NONE};
    bool is_known;

    if (!call->stored.has_module || !module->enabled || module->provider == 0) {
        gate_call_send_to(call, text_of("/"), no_text);
        return;
    }
    if (form_find(query, BEGIN, arena, &wrong) && wrong.s) {
        begin_here(call, wrong);
        return;
    }
    call->is_back = true;
    is_known = form_find(query, "state", arena, &id) && text_present(id) &&
               begun_find(call, id, &state, &err);
    if (err.code != ERR_NONE)
        cannot_sign_in(call, HTML_PAGE_NOT_READY, error_reason(&err));
    else if (!is_known)
        answer_unknown_state(
            call, "the state is not of a login that this browser began in the last 10 minutes");
    if (err.code != ERR_NONE || !is_known)
        return;
    call->again = state.way_back;
    if (form_find(query, "error", arena, &wrong) && text_present(wrong))
        answer_refusal(call, wrong);
    else if (!form_find(query, "code", arena, &code) || !text_present(code))
        cannot_sign_in(call, HTML_PAGE_LOGIN_FAILED, "the provider sent no code");
    else
        sign_in(call, code, &state);
}

/* ---- out ---- */

/* Returns the URL of the route's host as browsers write it in Origin: without the scheme's port. */
static struct text own_origin(const struct gate_call *call)
{
    struct text url = gate_call_variable(call, GATE_ADIT_URL);
    struct text port = text_of(gate_call_is_secure(call) ? ":443" : ":80");

    if (url.len > port.len && memcmp(url.s + url.len - port.len, port.s, port.len) == 0)
        url.len -= port.len;
    return url;
}

/* Returns whether the visitor has clicked on "Sign out" here: a link or an image cannot send a
 * POST, and browsers say which site has the form of one.  Under http they say it in Origin only. */
static bool is_sign_out(const struct gate_call *call)
{
    struct text site = gate_call_variable(call, GATE_FETCH_SITE);
    struct text origin = text_of(call->request->origin);
    struct text own = own_origin(call);

    if (!text_eq(text_of(call->request->method), text_of("POST")))
        return false;
    if (text_present(site))
        return text_eq(site, text_of("same-origin"));
    return !text_present(origin) ||
           (origin.len == own.len && strncasecmp(origin.s, own.s, own.len) == 0);
}

/* Returns whether cookies can prove a session. */
static bool has_sessions(const struct gate_call *call)
{
    return call->stored.has_module && call->place.provider > 0;
}

/* Ends what the cookies prove.  Whoever has no session has signed out already. */
static void sign_out(struct gate_call *call)
{
    struct error err = {.code = ERR_NONE};
    enum visit_end end = has_sessions(call) ? visit_end_all(call, &err) : VISIT_END_ALL;

    if (end != VISIT_END_ALL)
        gate_call_log(call, LOG_LEVEL_ERROR, "cannot sign out", error_reason(&err), NULL);
    gate_call_refuse(call, end == VISIT_END_ALL ? HTML_PAGE_SIGNED_OUT : HTML_PAGE_NOT_READY, NULL);
    if (end != VISIT_END_FAILED)
        gate_call_set_cookie(call, visit_removal(call));
}

/* Asks whoever is signed in whether to sign out. */
static void ask_to_sign_out(struct gate_call *call)
{
    struct visits visits;
    enum visit_found found = VISIT_NONE;
    struct error err = {.code = ERR_NONE};

    if (has_sessions(call))
        found = visit_find(call, &visits, &err);
    switch (found) {
    case VISIT_UNKNOWN:
        gate_call_log(call, LOG_LEVEL_ERROR, "cannot sign out", error_reason(&err), NULL);
        gate_call_refuse(call, HTML_PAGE_NOT_READY, NULL);
        break;
    case VISIT_FOUND:
        gate_call_refuse(call, HTML_PAGE_SIGN_OUT, &visits.items[0].identity);
        break;
    case VISIT_NONE:
        gate_call_refuse(call, HTML_PAGE_SIGNED_OUT, NULL);
        break;
    }
}

void login_end(struct gate_call *call)
{
    if (is_sign_out(call))
        sign_out(call);
    else
        ask_to_sign_out(call);
}
