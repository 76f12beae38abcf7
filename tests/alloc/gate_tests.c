/* SPDX-License-Identifier: MIT */
/* Lets each allocation of each kind of request to adit-gate fail.  The answer must be the right
 * one, or 503: nobody passes without a name or with one of fewer lists, and nobody who is signed in
 * is sent to the provider.  The database and the provider are functions of this file. */
#include <fcntl.h>
#include <openssl/crypto.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "crypt/crypt.h"
#include "gate/fetch.h"
#include "gate/gate.h"
#include "gate/worker.h"
#include "hook.h"
#include "store/gate.h"
#include "store/oauth_secret.h"

#define KEY "k 0000000000000000000000000000000000000000000000000000000000000000\n"
#define CLIENT_SECRET "the secret of the application"
#define NOW_S 1800000000
#define INTERVAL_S 60
#define N_TEAMS 300

/* Faults to print for each scenario. */
#define MAX_PRINTED 8

static void stop(const char *what)
{
    printf("FAIL %s\n", what);
    exit(EXIT_FAILURE);
}

/* ---- the world ---- */

static struct gate gate;
static struct gate_worker worker = {.gate = &gate};
static struct gate_lane lane = {.worker = &worker};

static int64_t now_s = NOW_S;
static struct oauth_module module;
static struct arena secret_arena;
static struct gate_secret sealed_secret;
static bool is_large;

/* The row of a session, as the database keeps it. */
static struct {
    char id[VISITOR_SESSION_ID_SIZE];
    char key_id[KEYRING_ID_MAX + 1];
    char sealed[65536];
    size_t len;
} row;

__typeof__(clock_wall_ms) __wrap_clock_wall_ms;
int64_t __wrap_clock_wall_ms(void)
{
    return now_s * 1000;
}

/* Which use of the database fails, and how many there were; 0: none. */
static size_t failing_use, n_uses;

__typeof__(database_take) __wrap_database_take;
struct pg *__wrap_database_take(struct database *database, const struct wait *wait,
                                struct text account_id, struct error *err)
{
    (void)database, (void)wait, (void)account_id;
    if (++n_uses == failing_use) {
        error_set(err, ERR_DATABASE_UNAVAILABLE);
        return NULL;
    }
    return (struct pg *)&row; /* nothing looks into it */
}

__typeof__(database_give) __wrap_database_give;
void __wrap_database_give(struct database *database, struct pg *pg, bool ok,
                          const struct error *err)
{
    (void)database, (void)pg, (void)ok, (void)err;
}

static bool keep(struct arena *arena, const char *s, size_t len, struct text *out)
{
    *out = (struct text){arena_copy(arena, s, len), len};
    return out->s;
}

static bool answer_rows(const struct gate_question *question, struct arena *arena,
                        struct gate_answer *answer)
{
    for (size_t i = 0; i < question->session_ids.n; i++) {
        struct gate_row *found;

        if (row.len == 0 || !text_eq(question->session_ids.items[i], text_of(row.id)))
            continue;
        answer->rows = found = arena_alloc(arena, sizeof *found);
        answer->n_rows = 1;
        return found && keep(arena, row.id, strlen(row.id), &found->id) &&
               keep(arena, row.key_id, strlen(row.key_id), &found->key_id) &&
               keep(arena, row.sealed, row.len, &found->sealed);
    }
    return true;
}

__typeof__(store_gate_ask) __wrap_store_gate_ask;
bool __wrap_store_gate_ask(struct pg *pg, const struct gate_question *question, struct arena *arena,
                           struct gate_answer *answer, struct error *err)
{
    (void)pg;
    *answer = (struct gate_answer){.n_accounts = 1, .has_module = true, .module = module};
    return (keep(arena, "ac_1", 4, &answer->account_id) && answer_rows(question, arena, answer)) ||
           error_set(err, ERR_OUT_OF_MEMORY);
}

__typeof__(store_gate_secret) __wrap_store_gate_secret;
bool __wrap_store_gate_secret(struct pg *pg, struct text account_id,
                              const struct module_place *route, const struct oauth_module *of,
                              struct arena *arena, struct gate_secret *secret, struct error *err)
{
    (void)pg, (void)account_id, (void)route, (void)of, (void)arena, (void)err;
    *secret = sealed_secret;
    return true;
}

__typeof__(store_gate_keep) __wrap_store_gate_keep;
bool __wrap_store_gate_keep(struct pg *pg, struct text account_id, const struct gate_write *write,
                            bool *is_kept, struct error *err)
{
    const struct gate_row *kept = &write->row;

    (void)pg, (void)account_id, (void)err;
    if (kept->sealed.len > sizeof row.sealed)
        stop("the session is too large");
    memcpy(row.id, kept->id.s, kept->id.len + 1);
    memcpy(row.key_id, kept->key_id.s, kept->key_id.len + 1);
    memcpy(row.sealed, kept->sealed.s, kept->sealed.len);
    row.len = kept->sealed.len;
    *is_kept = true;
    return true;
}

__typeof__(store_gate_end) __wrap_store_gate_end;
bool __wrap_store_gate_end(struct pg *pg, struct text account_id, struct text session_id,
                           int64_t ends_at, struct error *err)
{
    (void)pg, (void)account_id, (void)session_id, (void)ends_at, (void)err;
    return true;
}

__typeof__(store_gate_use) __wrap_store_gate_use;
bool __wrap_store_gate_use(struct pg *pg, struct text account_id, struct text state_id,
                           int64_t ends_at, bool *is_first, struct error *err)
{
    (void)pg, (void)account_id, (void)state_id, (void)ends_at, (void)err;
    *is_first = true;
    return true;
}

/* ---- the provider ---- */

static char teams[64 * N_TEAMS];

static void make_teams(void)
{
    size_t len = (size_t)snprintf(teams, sizeof teams, "[");

    for (int i = 0; i < N_TEAMS; i++)
        len += (size_t)snprintf(teams + len, sizeof teams - len,
                                "%s{\"slug\":\"team-%d\",\"organization\":{\"login\":\"acme\"}}",
                                i > 0 ? "," : "", i);
    snprintf(teams + len, sizeof teams - len, "]");
}

/* Its session is too large for a cookie. */
static char long_token[5000];

static void make_large_answers(void)
{
    int before =
        snprintf(long_token, sizeof long_token, "{\"token_type\":\"bearer\",\"access_token\":\"");

    memset(long_token + before, 't', sizeof long_token - 3 - (size_t)before);
    memcpy(long_token + sizeof long_token - 3, "\"}", 3);
    make_teams();
}

static const char *body_of(const char *url)
{
    if (strstr(url, "/access_token") && is_large)
        return long_token;
    if (strstr(url, "/access_token"))
        return "{\"access_token\":\"a-token\",\"token_type\":\"bearer\"}";
    if (strstr(url, "/emails"))
        return "[{\"email\":\"ann@example.com\",\"verified\":true,\"primary\":true},"
               "{\"email\":\"ann@example.org\",\"verified\":true,\"primary\":false}]";
    if (strstr(url, "/orgs"))
        return "[{\"login\":\"acme\"}]";
    if (strstr(url, "/teams"))
        return is_large ? teams : "[{\"slug\":\"ops\",\"organization\":{\"login\":\"acme\"}}]";
    return "{\"id\":583231,\"login\":\"ann\"}";
}

__typeof__(fetch) __wrap_fetch;
bool __wrap_fetch(struct fetcher *fetcher, const struct fetch_request *request, struct arena *arena,
                  struct fetch_answer *answer, const char **why)
{
    const char *body = body_of(request->url);

    (void)fetcher;
    *answer = (struct fetch_answer){.status = 200};
    *why = "out of memory";
    return keep(arena, "application/json", 16, &answer->content_type) &&
           keep(arena, body, strlen(body), &answer->body);
}

/* ---- requests ---- */

struct visit_to {
    const char *uri, *method;
    char query[256];
    char cookie[8192];
};

static void forget(void)
{
    arena_free(&lane.arena);
    buf_free(&lane.response.headers);
    buf_free(&lane.response.body);
    rechecks_free(&worker.rechecks);
    worker.rechecks = (struct rechecks){0};
}

static void ask_gate(const struct visit_to *visit, bool is_check)
{
    struct request request = {.method = visit->method,
                              .path = "",
                              .query = visit->query,
                              .remote_addr = "192.0.2.1",
                              .origin = ""};

    for (size_t i = 0; i < REQUEST_MAX_OTHERS; i++)
        request.others[i] = "";
    request.others[GATE_ADIT_EDGE] = "edge-1";
    request.others[GATE_ADIT_ROUTE] = "route-1";
    request.others[GATE_ADIT_URL] = "https://app.test";
    request.others[GATE_ADIT_CHECK] = is_check ? "1" : "";
    request.others[GATE_REQUEST_URI] = visit->uri;
    request.others[GATE_COOKIE] = visit->cookie;
    forget();
    worker_answer(&lane, &request);
    if (worker.n_waiting != 0)
        stop("a lane still asks");
}

/* Copies what follows the words in the headers, up to one of the stops. */
static void copy_header(const char *words, const char *stops, char *out, size_t size)
{
    const char *at = strstr(buf_text(&lane.response.headers).s, words);
    size_t len = at ? strcspn(at + strlen(words), stops) : 0;

    if (!at || len >= size)
        stop(words);
    memcpy(out, at + strlen(words), len);
    out[len] = '\0';
}

/* ---- judging ---- */

/* Copies the headers without what is random.  The names of Set-Cookie stay. */
static void take_headers(char *out, size_t size)
{
    const char *at = buf_text(&lane.response.headers).s;
    size_t len = 0;

    for (const char *end; *at; at = end) {
        size_t whole = strcspn(at, "\n");
        size_t kept = whole;

        end = at + whole + (at[whole] == '\n');
        if (strncmp(at, "Set-Cookie:", 11) == 0)
            kept = strcspn(at, "=");
        if (strncmp(at, "X-Adit-Location:", 16) == 0)
            kept = strcspn(at, "?");
        if (strncmp(at, "Set-Cookie: app.state.", 22) == 0)
            kept = 22;
        if (len + kept + 2 > size)
            stop("the headers are too large");
        memcpy(out + len, at, kept);
        len += kept;
        out[len++] = '\n';
    }
    out[len] = '\0';
}

struct scenario {
    const char *name;
    struct visit_to visit;
    bool is_check;
    int status;
    const char *has; /* in the headers */
};

struct judgement {
    char headers[4096];
    char found[4096];
    size_t body_len;
    size_t n, n_allocations, n_refused, n_faults;
    bool for_good;
};

static void fault(const struct scenario *scenario, struct judgement *judgement, const char *what)
{
    if (judgement->n_faults++ < MAX_PRINTED)
        printf("FAIL %s: %s, failing %s %zu of %zu: %d %.300s\n", scenario->name, what,
               judgement->for_good ? "from" : "at", judgement->n, judgement->n_allocations,
               lane.response.status, judgement->found);
}

static void judge(const struct scenario *scenario, struct judgement *judgement)
{
    take_headers(judgement->found, sizeof judgement->found);
    if (lane.response.status == 503) {
        judgement->n_refused++;
        if (strstr(judgement->found, "X-Adit-") || strstr(judgement->found, "Set-Cookie"))
            fault(scenario, judgement, "a refusal gives something away");
    } else if (lane.response.status != scenario->status) {
        fault(scenario, judgement, "the status is neither right nor 503");
    } else if (strcmp(judgement->found, judgement->headers) != 0 ||
               lane.response.body.len != judgement->body_len) {
        fault(scenario, judgement, "the answer is not whole");
    }
}

static void fail_at(const struct scenario *scenario, struct judgement *judgement, size_t n,
                    bool for_good)
{
    judgement->n = n;
    judgement->for_good = for_good;
    hook_arm(n, for_good);
    ask_gate(&scenario->visit, scenario->is_check);
    hook_disarm();
    judge(scenario, judgement);
}

static long live_blocks(void)
{
    forget();
    OPENSSL_thread_stop();
    return hook_live();
}

/* Returns whether the scenario has no fault. */
static bool play(const struct scenario *scenario)
{
    static struct judgement judgement;
    long live;

    judgement = (struct judgement){.n_faults = 0};
    ask_gate(&scenario->visit, scenario->is_check);
    live = live_blocks();
    hook_arm(0, false);
    n_uses = 0;
    ask_gate(&scenario->visit, scenario->is_check);
    judgement.n_allocations = hook_disarm();
    take_headers(judgement.headers, sizeof judgement.headers);
    judgement.body_len = lane.response.body.len;
    if (lane.response.status != scenario->status || !strstr(judgement.headers, scenario->has))
        fault(scenario, &judgement, judgement.headers);
    /* While the database is away, nobody passes, and nobody is told that a session has ended. */
    for (failing_use = n_uses; failing_use > 0; failing_use--) {
        n_uses = 0;
        ask_gate(&scenario->visit, scenario->is_check);
        if (lane.response.status != 503)
            fault(scenario, &judgement, "the database was away");
    }
    for (int for_good = 0; for_good < 2; for_good++) {
        for (size_t n = 1; n <= judgement.n_allocations; n++)
            fail_at(scenario, &judgement, n, for_good);
    }
    if (judgement.n_refused == 0)
        fault(scenario, &judgement, "nothing was refused");
    live = live_blocks() - live;
    if (live != 0) {
        printf("FAIL %s: %ld blocks leak\n", scenario->name, live);
        judgement.n_faults++;
    }
    printf("%-28s %4zu allocations, %4zu refused, %zu faults\n", scenario->name,
           judgement.n_allocations, judgement.n_refused, judgement.n_faults);
    return judgement.n_faults == 0;
}

/* ---- scenarios ---- */

/* Signs somebody in, without a failure: fills in the way back from the provider with its cookie,
 * and a page with the session's cookie. */
static void sign_in(struct visit_to *back, struct visit_to *visit)
{
    static const char theme[] = "theme=dark; ";
    char state[64];

    *visit = (struct visit_to){.uri = "/page?a=1", .query = "a=1", .method = "GET"};
    *back = (struct visit_to){.uri = "/_adit/callback", .method = "GET"};
    ask_gate(visit, true);
    copy_header("&state=", "&\r\n", state, sizeof state);
    snprintf(back->query, sizeof back->query, "code=a-code&state=%s", state);
    copy_header("Set-Cookie: ", ";", back->cookie, sizeof back->cookie);
    ask_gate(back, false);
    if (lane.response.status != 302)
        stop("nobody can sign in");
    memcpy(visit->cookie, theme, sizeof theme);
    copy_header("Set-Cookie: ", ";", visit->cookie + strlen(theme),
                sizeof visit->cookie - strlen(theme));
}

static size_t play_all(size_t *n_scenarios)
{
    static struct visit_to back, back_to_row, visit, visit_of_row, leave;
    const struct visit_to nobody = {.uri = "/page?a=1", .query = "a=1", .method = "GET"};
    size_t n_failed = 0;

    sign_in(&back, &visit);
    is_large = true;
    sign_in(&back_to_row, &visit_of_row);
    if (row.len == 0)
        stop("the session is in no row");
    leave = visit;
    leave.uri = "/_adit/logout";
    leave.method = "POST";
    for (int i = 0; i < 9; i++) {
        static const char user[] = "X-Adit-User: ann@example.com\r";
        const struct scenario all[] = {
            {"nobody", nobody, true, 401, "X-Adit-Location: https://"},
            {"back from the provider", back, false, 302, "Set-Cookie: app.session"},
            {"a session in a cookie", visit, true, 200, user},
            {"a session in a row", visit_of_row, true, 200, user},
            {"not listed", visit, true, 403, "Cache-Control"},
            {"the page for that", visit, false, 403, "Content-Type: text/html"},
            {"asked again", visit, true, 200, "Set-Cookie: app.session"},
            {"asked again about a row", visit_of_row, true, 200, "Set-Cookie: app.session"},
            {"signing out", leave, false, 200, "Set-Cookie: app.session"},
        };
        struct text wanted = text_of(i == 4 || i == 5 ? "globex" : "acme");

        is_large = i == 3 || i == 7;
        module.config.organizations = (struct text_list){.items = &wanted, .n = 1};
        now_s = i == 6 || i == 7 ? NOW_S + INTERVAL_S : NOW_S;
        n_failed += !play(&all[i]);
        ++*n_scenarios;
    }
    return n_failed;
}

/* ---- libcurl ---- */

__typeof__(fetch) __real_fetch;

/* Read once: a system's authorities are thousands of allocations. */
static struct authorities *authorities;

static bool fetch_fails(void)
{
    const struct fetch_request request = {.url = "https://127.0.0.1:1/token?secret",
                                          .form = text_of("code=secret"),
                                          .bearer = text_of("secret"),
                                          .accept = "application/json",
                                          .deadline_ms = clock_steady_ms() + 5000};
    const struct turn turn = {.wait = &wait_alone};
    struct turns turns = {0};
    struct fetcher *fetcher = fetcher_new(&turn, &turns, authorities);
    struct arena arena = {0};
    struct fetch_answer answer;
    const char *why = "out of memory";
    bool ok = !fetcher || (!__real_fetch(fetcher, &request, &arena, &answer, &why) && why &&
                           !strstr(why, "secret"));

    fetcher_free(fetcher);
    arena_free(&arena);
    return ok;
}

static size_t fail_fetches(size_t n_allocations)
{
    size_t n_faults = 0;

    for (int for_good = 0; for_good < 2; for_good++) {
        for (size_t n = 1; n <= n_allocations; n++) {
            hook_arm(n, for_good);
            n_faults += !fetch_fails();
            hook_disarm();
        }
    }
    return n_faults;
}

/* A request that fails anyway: it must say so, whatever fails first, and keep no memory. */
static bool play_fetch(void)
{
    size_t n_faults;
    size_t n_allocations;
    long live;

    authorities = fetch_authorities("");
    if (!authorities || authorities_read(authorities))
        stop("no authorities");
    n_faults = !fetch_fails();
    hook_arm(0, false);
    n_faults += !fetch_fails();
    n_allocations = hook_disarm();
    /* Once for what libraries keep after a failure. */
    n_faults += fail_fetches(n_allocations);
    live = live_blocks();
    n_faults += fail_fetches(n_allocations);
    live = live_blocks() - live;
    printf("%s%-28s %4zu allocations, %zu faults, %ld blocks leak\n",
           n_faults || live ? "FAIL " : "", "a request to a provider", n_allocations, n_faults,
           live);
    authorities_free(authorities);
    return n_faults == 0 && live == 0;
}

/* ---- all ---- */

static char key_path[128];

static void make_keys(void)
{
    const char *tmp = getenv("TMPDIR");
    char reason[256] = "";
    int fd;

    snprintf(key_path, sizeof key_path, "%.64s/adit-alloc.XXXXXX", tmp ? tmp : "/tmp");
    fd = mkstemp(key_path);
    if (fd < 0 || write(fd, KEY, strlen(KEY)) != (ssize_t)strlen(KEY))
        stop("no key file");
    close(fd);
    gate.keyring = keyring_load(key_path, reason, sizeof reason);
    if (!gate.keyring)
        stop(reason);
}

static void make_world(void)
{
    static char empty[] = "";
    const struct module_place route = {.edge_id = text_of("edge-1"),
                                       .route_id = text_of("route-1")};
    const struct keyring_place place = oauth_secret_place(text_of("ac_1"), &route, 1);
    struct error err;

    names_fill(&gate.names, "app");
    gate.conf.gate = (struct conf_gate){.account = empty, .ca_file = empty};
    for (size_t i = 0; i < OAUTH_N_PROVIDERS; i++) {
        gate.conf.provider_names[i] = "provider";
        gate.conf.oauth_providers[i] = (struct conf_provider){empty, empty, empty, empty, empty};
    }
    gate.conf.log = (struct log){.level = LOG_LEVEL_INFO, .target = LOG_TARGET_STDERR};
    lane.wait = wait_alone;
    module = (struct oauth_module){.enabled = true,
                                   .provider = 1,
                                   .auth_check_interval = INTERVAL_S,
                                   .inactivity_timeout = 3 * INTERVAL_S};
    module.config.client_id = text_of("an-application");
    if (!keyring_seal(gate.keyring, &place, text_of(CLIENT_SECRET), &secret_arena,
                      &sealed_secret.key_id, &sealed_secret.sealed, &err))
        stop("the secret cannot be sealed");
    sealed_secret.is_found = true;
    make_large_answers();
}

/* Each refusal logs a line. */
static void hide_log(void)
{
    int null_fd = open("/dev/null", O_WRONLY | O_CLOEXEC);

    if (null_fd >= 0)
        dup2(null_fd, STDERR_FILENO);
}

int main(void)
{
    size_t n_scenarios = 1, n_failed;
    struct text organization = text_of("acme");

    if (!crypt_start() || !fetch_start())
        stop("libcrypto or libcurl does not work");
    hide_log();
    make_keys();
    make_world();
    module.config.organizations = (struct text_list){.items = &organization, .n = 1};
    n_failed = play_all(&n_scenarios);
    n_failed += !play_fetch();
    forget();
    keyring_free(gate.keyring);
    arena_free(&secret_arena);
    unlink(key_path);
    printf("alloc: %zu passed, %zu failed\n", n_scenarios - n_failed, n_failed);
    return n_failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
