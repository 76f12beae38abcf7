/* SPDX-License-Identifier: MIT */
/* HTTPS requests.  libcurl watches its sockets in an epoll descriptor of the fetcher, and the lane
 * waits for that descriptor. */
#include "gate/fetch.h"

#include <curl/curl.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/epoll.h>
#include <unistd.h>

#include "base/ascii.h"
#include "base/buf.h"
#include "base/clock.h"
#include "gate/authorities.h"
#include "gate/link.h"

/* Connections that a fetcher keeps for its next request. */
#define KEPT_MAX 4L

struct fetcher {
    struct authorities *authorities;
    struct turns *turns;
    struct turn turn;
    CURLM *multi;
    CURL *easy;
    int epoll_fd;
    int64_t timer_ms;  /* when libcurl wants to be called; INT64_MAX: never */
    bool is_unwatched; /* the kernel has no memory to watch a socket */
    bool is_too_large;
    struct buf body;
};

bool fetch_start(void)
{
    const curl_version_info_data *info;

    if (curl_global_init(CURL_GLOBAL_DEFAULT) != CURLE_OK)
        return false;
    /* Without threads for names, a slow DNS would stop the worker. */
    info = curl_version_info(CURLVERSION_NOW);
    return info->features & CURL_VERSION_SSL && info->features & CURL_VERSION_ASYNCHDNS &&
           authorities_fit(info->ssl_version);
}

struct authorities *fetch_authorities(const char *ca_file)
{
    const curl_version_info_data *info = curl_version_info(CURLVERSION_NOW);

    return ca_file[0] ? authorities_new(ca_file, NULL)
                      : authorities_new(info->cainfo, info->capath);
}

/* ---- callbacks of libcurl ---- */

static int on_socket(CURL *easy, curl_socket_t fd, int what, void *context, void *socket_context)
{
    struct fetcher *fetcher = context;
    struct epoll_event event = {.data.fd = fd};

    (void)easy, (void)socket_context;
    if (what == CURL_POLL_REMOVE) {
        (void)epoll_ctl(fetcher->epoll_fd, EPOLL_CTL_DEL, fd, NULL);
        return 0;
    }
    if (what & CURL_POLL_IN)
        event.events |= EPOLLIN;
    if (what & CURL_POLL_OUT)
        event.events |= EPOLLOUT;
    if (epoll_ctl(fetcher->epoll_fd, EPOLL_CTL_MOD, fd, &event) != 0 &&
        epoll_ctl(fetcher->epoll_fd, EPOLL_CTL_ADD, fd, &event) != 0)
        fetcher->is_unwatched = true;
    return 0;
}

static int on_timer(CURLM *multi, long timeout_ms, void *context)
{
    struct fetcher *fetcher = context;

    (void)multi;
    fetcher->timer_ms = timeout_ms < 0 ? INT64_MAX : clock_steady_ms() + timeout_ms;
    return 0;
}

static size_t on_body(char *data, size_t size, size_t n, void *context)
{
    struct fetcher *fetcher = context;
    size_t len = size * n;

    fetcher->is_too_large = len > FETCH_ANSWER_MAX - fetcher->body.len;
    if (fetcher->is_too_large)
        return CURL_WRITEFUNC_ERROR;
    buf_add(&fetcher->body, data, len);
    return fetcher->body.failed ? CURL_WRITEFUNC_ERROR : len;
}

static CURLcode on_tls(CURL *easy, void *tls, void *context)
{
    const struct fetcher *fetcher = context;

    (void)easy;
    /* Another lane may have failed to read a changed file meanwhile. */
    return authorities_use(fetcher->authorities, tls) ? CURLE_OK : CURLE_SSL_CACERT_BADFILE;
}

/* ---- a fetcher ---- */

struct fetcher *fetcher_new(const struct turn *turn, struct turns *turns,
                            struct authorities *authorities)
{
    struct fetcher *fetcher = calloc(1, sizeof *fetcher);

    if (!fetcher)
        return NULL;
    *fetcher = (struct fetcher){
        .turns = turns, .turn = *turn, .authorities = authorities, .timer_ms = INT64_MAX};
    fetcher->epoll_fd = epoll_create1(EPOLL_CLOEXEC);
    fetcher->multi = curl_multi_init();
    fetcher->easy = curl_easy_init();
    if (fetcher->epoll_fd < 0 || !fetcher->multi || !fetcher->easy ||
        curl_multi_setopt(fetcher->multi, CURLMOPT_SOCKETFUNCTION, on_socket) != CURLM_OK ||
        curl_multi_setopt(fetcher->multi, CURLMOPT_SOCKETDATA, fetcher) != CURLM_OK ||
        curl_multi_setopt(fetcher->multi, CURLMOPT_TIMERFUNCTION, on_timer) != CURLM_OK ||
        curl_multi_setopt(fetcher->multi, CURLMOPT_TIMERDATA, fetcher) != CURLM_OK ||
        curl_multi_setopt(fetcher->multi, CURLMOPT_MAXCONNECTS, KEPT_MAX) != CURLM_OK) {
        fetcher_free(fetcher);
        return NULL;
    }
    return fetcher;
}

void fetcher_free(struct fetcher *fetcher)
{
    if (!fetcher)
        return;
    curl_easy_cleanup(fetcher->easy);
    curl_multi_cleanup(fetcher->multi);
    if (fetcher->epoll_fd >= 0)
        close(fetcher->epoll_fd);
    buf_free(&fetcher->body);
    free(fetcher);
}

/* ---- a request ---- */

/* Appends a header to the list.  Returns false if memory runs out. */
static bool add_line(struct curl_slist **headers, const char *name, struct text value)
{
    struct buf line = {0};
    struct curl_slist *longer = NULL;

    buf_puts(&line, name);
    buf_add(&line, value.s, value.len);
    if (!line.failed)
        longer = curl_slist_append(*headers, line.data);
    buf_free(&line);
    if (longer)
        *headers = longer;
    return longer != NULL;
}

/* libcurl frees the lines unwiped, and one of them has the token. */
static void free_headers(struct curl_slist *headers)
{
    for (struct curl_slist *header = headers; header; header = header->next)
        explicit_bzero(header->data, strlen(header->data));
    curl_slist_free_all(headers);
}

static bool make_headers(const struct fetch_request *request, struct curl_slist **headers)
{
    return add_line(headers, "Accept: ", text_of(request->accept)) &&
           add_line(headers, "Expect:", text_of("")) &&
           (!request->bearer.s || add_line(headers, "Authorization: Bearer ", request->bearer));
}

/* Returns false if an option is not accepted: libcurl is too old, or memory is short. */
static bool set_options(struct fetcher *fetcher, const struct fetch_request *request,
                        struct curl_slist *headers)
{
    CURL *easy = fetcher->easy;
    bool ok;

    curl_easy_reset(easy);
    ok = curl_easy_setopt(easy, CURLOPT_URL, request->url) == CURLE_OK &&
         curl_easy_setopt(easy, CURLOPT_PROTOCOLS_STR, "https") == CURLE_OK &&
         curl_easy_setopt(easy, CURLOPT_HTTP_VERSION, (long)CURL_HTTP_VERSION_1_1) == CURLE_OK &&
         curl_easy_setopt(easy, CURLOPT_FOLLOWLOCATION, 0L) == CURLE_OK &&
         curl_easy_setopt(easy, CURLOPT_SSL_VERIFYPEER, 1L) == CURLE_OK &&
         curl_easy_setopt(easy, CURLOPT_SSL_VERIFYHOST, 2L) == CURLE_OK &&
         curl_easy_setopt(easy, CURLOPT_CAINFO, NULL) == CURLE_OK &&
         curl_easy_setopt(easy, CURLOPT_CAPATH, NULL) == CURLE_OK &&
         curl_easy_setopt(easy, CURLOPT_SSL_CTX_FUNCTION, on_tls) == CURLE_OK &&
         curl_easy_setopt(easy, CURLOPT_SSL_CTX_DATA, fetcher) == CURLE_OK &&
         curl_easy_setopt(easy, CURLOPT_SSLVERSION, (long)CURL_SSLVERSION_TLSv1_2) == CURLE_OK &&
         curl_easy_setopt(easy, CURLOPT_NETRC, (long)CURL_NETRC_IGNORED) == CURLE_OK &&
         curl_easy_setopt(easy, CURLOPT_NOSIGNAL, 1L) == CURLE_OK &&
         /* Leave a late thread that asks for a name alone.  Otherwise libcurl waits for it. */
         curl_easy_setopt(easy, CURLOPT_QUICK_EXIT, 1L) == CURLE_OK &&
         curl_easy_setopt(easy, CURLOPT_USERAGENT, "adit-gate") == CURLE_OK &&
         curl_easy_setopt(easy, CURLOPT_HTTPHEADER, headers) == CURLE_OK &&
         curl_easy_setopt(easy, CURLOPT_WRITEFUNCTION, on_body) == CURLE_OK &&
         curl_easy_setopt(easy, CURLOPT_WRITEDATA, fetcher) == CURLE_OK;
    if (ok && request->form.s)
        ok = curl_easy_setopt(easy, CURLOPT_POSTFIELDSIZE_LARGE, (curl_off_t)request->form.len) ==
                 CURLE_OK &&
             curl_easy_setopt(easy, CURLOPT_POSTFIELDS, request->form.s) == CURLE_OK;
    return ok;
}

/* Tells libcurl what is ready and what is due. */
static bool act(struct fetcher *fetcher)
{
    struct epoll_event events[8];
    int n_events = epoll_wait(fetcher->epoll_fd, events, sizeof events / sizeof events[0], 0);
    int n_running;
    bool ok = true;

    for (int i = 0; i < n_events; i++) {
        uint32_t ready = events[i].events;
        int what = (ready & EPOLLIN ? CURL_CSELECT_IN : 0) |
                   (ready & EPOLLOUT ? CURL_CSELECT_OUT : 0) |
                   (ready & (EPOLLERR | EPOLLHUP) ? CURL_CSELECT_ERR : 0);

        ok = curl_multi_socket_action(fetcher->multi, events[i].data.fd, what, &n_running) ==
                 CURLM_OK &&
             ok;
    }
    if (clock_steady_ms() >= fetcher->timer_ms) {
        fetcher->timer_ms = INT64_MAX;
        ok = curl_multi_socket_action(fetcher->multi, CURL_SOCKET_TIMEOUT, 0, &n_running) ==
                 CURLM_OK &&
             ok;
    }
    return ok && !fetcher->is_unwatched;
}

/* Returns why a transfer failed, static. */
static const char *reason_of(const struct fetcher *fetcher, CURLcode code)
{
    if (fetcher->is_too_large)
        return "the answer is too large";
    if (fetcher->body.failed)
        return "out of memory";
    switch (code) {
    case CURLE_COULDNT_RESOLVE_HOST:
        return "the host name has no address";
    case CURLE_COULDNT_CONNECT:
        return "no connection";
    case CURLE_PEER_FAILED_VERIFICATION:
        return "the certificate is for another name, has expired, or no trusted authority signed "
               "it";
    case CURLE_UNSUPPORTED_PROTOCOL:
        return "the URL does not begin with https://";
    default:
        return curl_easy_strerror(code);
    }
}

/* A part of a handshake, or of a long answer, may take a millisecond.  Many lanes at once would
 * stop all checks meanwhile, so the lanes of a worker take turns.
 *
 * Returns NULL if the answer is there, or the reason, static. */
static const char *transfer(struct fetcher *fetcher, int64_t deadline_ms)
{
    const struct wait *wait = fetcher->turn.wait;
    const CURLMsg *message;
    int n_left;

    while (!(message = curl_multi_info_read(fetcher->multi, &n_left))) {
        if (clock_steady_ms() >= deadline_ms)
            return "no whole answer in time";
        /* It may end early, when the lane is woken: then nothing is ready. */
        (void)wait->until(wait->context, fetcher->epoll_fd, POLLIN,
                          clock_earlier(deadline_ms, fetcher->timer_ms));
        if (turn_await(fetcher->turns, &fetcher->turn, deadline_ms) && !act(fetcher))
            return "out of memory";
    }
    return message->data.result == CURLE_OK ? NULL : reason_of(fetcher, message->data.result);
}

static bool copy_answer(struct arena *arena, struct text from, struct text *to)
{
    *to = (struct text){.s = arena_copy(arena, from.s, from.len), .len = from.len};
    return to->s;
}

/* ---- headers of an answer ---- */

/* Bytes of a provider's words that go into the log. */
#define WORDS_MAX 200

/* Returns a header's value, which lasts until the next request; NULL: there is none. */
static const char *find_header(const struct fetcher *fetcher, const char *name, size_t index)
{
    struct curl_header *header;

    return curl_easy_header(fetcher->easy, name, index, CURLH_HEADER, -1, &header) == CURLHE_OK
               ? header->value
               : NULL;
}

/* Copies a header that lists scopes or permissions.  One with anything else says nothing. */
static bool copy_words(const struct fetcher *fetcher, const char *name, struct arena *arena,
                       struct text *to)
{
    const char *value = find_header(fetcher, name, 0);
    size_t len = value ? strlen(value) : 0;

    for (size_t i = 0; i < len; i++) {
        if (!ascii_is_alnum(value[i]) && !strchr("_:=.,;- ", value[i]))
            return true;
    }
    return !value || len > WORDS_MAX || copy_answer(arena, text_of(value), to);
}

static bool is_limited(const struct fetcher *fetcher)
{
    const char *left = find_header(fetcher, "X-RateLimit-Remaining", 0);

    return find_header(fetcher, "Retry-After", 0) || (left && strcmp(left, "0") == 0);
}

/* Resolves a reference against the URL of the request (RFC 3986, 5).  One that is no URL is
 * absent. */
static bool resolve(const struct fetcher *fetcher, struct text reference, struct arena *arena,
                    struct text *to)
{
    const char *base = NULL;
    char *relative = arena_copy(arena, reference.s, reference.len);
    CURLU *url = curl_url();
    char *whole = NULL;
    bool ok = relative && url;

    curl_easy_getinfo(fetcher->easy, CURLINFO_EFFECTIVE_URL, &base);
    if (ok && base && curl_url_set(url, CURLUPART_URL, base, 0) == CURLUE_OK &&
        curl_url_set(url, CURLUPART_URL, relative, 0) == CURLUE_OK &&
        curl_url_set(url, CURLUPART_FRAGMENT, NULL, 0) == CURLUE_OK &&
        curl_url_get(url, CURLUPART_URL, &whole, 0) == CURLUE_OK)
        ok = copy_answer(arena, text_of(whole), to);
    curl_free(whole);
    curl_url_cleanup(url);
    return ok;
}

/* Finds the next page in the headers Link.  One that cannot be resolved is kept as it is: it is of
 * another origin, and no end of the list. */
static bool copy_next(const struct fetcher *fetcher, struct arena *arena, struct text *to)
{
    const char *value;

    for (size_t i = 0; !to->s && (value = find_header(fetcher, "Link", i)); i++) {
        struct text next = link_next(text_of(value));

        if (next.s &&
            (!resolve(fetcher, next, arena, to) || (!to->s && !copy_answer(arena, next, to))))
            return false;
    }
    return true;
}

/* Copies what the answer has into the arena.  Returns false if memory runs out. */
static bool copy_out(struct fetcher *fetcher, struct arena *arena, struct fetch_answer *answer)
{
    const char *type = NULL;
    long status = 0;

    *answer = (struct fetch_answer){0};
    curl_easy_getinfo(fetcher->easy, CURLINFO_RESPONSE_CODE, &status);
    curl_easy_getinfo(fetcher->easy, CURLINFO_CONTENT_TYPE, &type);
    answer->status = (int)status;
    answer->is_limited = is_limited(fetcher);
    return copy_next(fetcher, arena, &answer->next) &&
           copy_words(fetcher, "X-Accepted-OAuth-Scopes", arena, &answer->scopes_taken) &&
           (answer->scopes_taken.len > 0 ||
            copy_words(fetcher, "X-Accepted-GitHub-Permissions", arena, &answer->scopes_taken)) &&
           copy_words(fetcher, "X-OAuth-Scopes", arena, &answer->scopes_given) &&
           copy_answer(arena, text_of(type ? type : ""), &answer->content_type) &&
           copy_answer(arena, buf_text(&fetcher->body), &answer->body);
}

/* Returns the host and the port of an URL, without a user and a password. */
static struct text host_of(const char *url)
{
    const char *scheme = strstr(url, "://");
    const char *host = scheme ? scheme + 3 : url;
    size_t len = strcspn(host, "/?#");
    const char *at = memrchr(host, '@', len);

    return at ? (struct text){.s = at + 1, .len = (size_t)(host + len - (at + 1))}
              : (struct text){.s = host, .len = len};
}

/* Puts the host in front of the reason. */
static const char *say_where(struct arena *arena, const char *url, const char *reason)
{
    struct text host = host_of(url);
    struct buf why = {0};
    const char *copy = NULL;

    buf_add(&why, host.s, host.len);
    buf_printf(&why, ": %s", reason);
    if (!why.failed)
        copy = arena_copy(arena, why.data, why.len);
    buf_free(&why);
    return copy ? copy : reason;
}

/* Returns NULL if the answer is there, or the reason, static. */
static const char *ask_server(struct fetcher *fetcher, const struct fetch_request *request,
                              struct arena *arena, struct fetch_answer *answer)
{
    static const char out_of_memory[] = "out of memory";
    struct curl_slist *headers = NULL;
    const char *reason = out_of_memory;

    if (make_headers(request, &headers) && set_options(fetcher, request, headers) &&
        curl_multi_add_handle(fetcher->multi, fetcher->easy) == CURLM_OK) {
        reason = transfer(fetcher, request->deadline_ms);
        if (!reason && !copy_out(fetcher, arena, answer))
            reason = out_of_memory;
        (void)curl_multi_remove_handle(fetcher->multi, fetcher->easy);
    }
    curl_easy_reset(fetcher->easy);
    free_headers(headers);
    return reason;
}

bool fetch(struct fetcher *fetcher, const struct fetch_request *request, struct arena *arena,
           struct fetch_answer *answer, const char **why)
{
    const char *reason = authorities_read(fetcher->authorities);

    fetcher->is_unwatched = fetcher->is_too_large = false;
    if (!reason)
        reason = ask_server(fetcher, request, arena, answer);
    buf_free(&fetcher->body);
    if (reason)
        *why = say_where(arena, request->url, reason);
    return !reason;
}

/* ---- origins ---- */

/* Returns whether a part of two URLs is the same.  Neither may lack it. */
static bool share_part(CURLU *a, CURLU *b, CURLUPart part)
{
    char *of_a = NULL;
    char *of_b = NULL;
    bool ok = curl_url_get(a, part, &of_a, CURLU_DEFAULT_PORT) == CURLUE_OK &&
              curl_url_get(b, part, &of_b, CURLU_DEFAULT_PORT) == CURLUE_OK &&
              strcasecmp(of_a, of_b) == 0;

    curl_free(of_a);
    curl_free(of_b);
    return ok;
}

static bool has_user(CURLU *url)
{
    char *user = NULL;
    bool has = curl_url_get(url, CURLUPART_USER, &user, 0) == CURLUE_OK;

    curl_free(user);
    return has;
}

bool fetch_is_same_origin(const char *a, const char *b)
{
    CURLU *of_a = curl_url();
    CURLU *of_b = curl_url();
    bool ok = of_a && of_b && curl_url_set(of_a, CURLUPART_URL, a, 0) == CURLUE_OK &&
              curl_url_set(of_b, CURLUPART_URL, b, 0) == CURLUE_OK && !has_user(of_b) &&
              share_part(of_a, of_b, CURLUPART_SCHEME) && share_part(of_a, of_b, CURLUPART_HOST) &&
              share_part(of_a, of_b, CURLUPART_PORT);

    curl_url_cleanup(of_a);
    curl_url_cleanup(of_b);
    return ok;
}
