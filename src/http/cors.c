/* SPDX-License-Identifier: MIT */
/* Cross-origin requests.  No answer permits credentials: keys are in Authorization, which a page
 * sets itself. */
#include "http/cors.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "base/ascii.h"
#include "base/number.h"
#include "http/response.h"

/* For this long a browser sends no other preflight for the same request. */
#define MAX_AGE_S "600"

static const char any[] = "*";

/* ---- the setting ---- */

/* Returns the bytes of the scheme, or 0. */
static size_t scheme_len(struct text origin)
{
    size_t len = 0;

    while (len < origin.len && (ascii_is_lower(origin.s[len]) ||
                                (len > 0 && (ascii_is_digit(origin.s[len]) ||
                                             (origin.s[len] && strchr("+-.", origin.s[len]))))))
        len++;
    return origin.len - len > 3 && memcmp(origin.s + len, "://", 3) == 0 ? len : 0;
}

/* Returns the bytes of the host at the start of a text, or 0. */
static size_t host_len(struct text rest)
{
    static const char plain[] = "abcdefghijklmnopqrstuvwxyz0123456789-._";
    static const char ipv6[] = "0123456789abcdef:.";
    bool is_ipv6 = rest.len > 0 && rest.s[0] == '[';
    const char *accepted = is_ipv6 ? ipv6 : plain;
    size_t len = is_ipv6;

    while (len < rest.len && rest.s[len] && strchr(accepted, rest.s[len]))
        len++;
    if (!is_ipv6)
        return len;
    return len > 1 && len < rest.len && rest.s[len] == ']' ? len + 1 : 0;
}

/* Returns what is wrong with the port behind a host; a browser leaves a default port out. */
static const char *port_fault(struct text scheme, struct text rest)
{
    struct text digits = {rest.s + 1, rest.len ? rest.len - 1 : 0};
    uint64_t port;

    if (rest.len == 0)
        return NULL;
    if (rest.s[0] == '/')
        return "it has a path; end it after the host or port";
    if (rest.s[0] != ':')
        return "its host is not lower case, or not a host";
    if (!number_read(digits, 10, 65535, &port) || digits.s[0] == '0')
        return "its port is not 1 to 65535";
    if ((text_eq(scheme, text_of("http")) && port == 80) ||
        (text_eq(scheme, text_of("https")) && port == 443))
        return "browsers leave out its default port; leave it out too";
    return NULL;
}

const char *cors_origin_fault(struct text origin)
{
    struct text scheme = {origin.s, scheme_len(origin)};
    struct text rest;
    size_t len;

    if (origin.len > CORS_ORIGIN_MAX)
        return "it is longer than 300 characters";
    if (scheme.len == 0)
        return "it does not begin with a scheme in lower case, such as https://";
    rest = (struct text){origin.s + scheme.len + 3, origin.len - scheme.len - 3};
    len = host_len(rest);
    if (len == 0)
        return "its host is not lower case, or not a host";
    return port_fault(scheme, (struct text){rest.s + len, rest.len - len});
}

/* ---- answers ---- */

static bool is_on(const char *allowed)
{
    return allowed && allowed[0];
}

static bool is_allowed(const char *allowed, const char *origin)
{
    struct text rest = text_of(allowed);

    if (!origin[0])
        return false;
    if (strcmp(allowed, any) == 0)
        return true;
    for (struct text word; (word = text_next_word(&rest)).s;) {
        if (text_eq(word, text_of(origin)))
            return true;
    }
    return false;
}

/* Vary is in every answer, since the same URL has another answer for another origin. */
void cors_answer(const char *allowed, const struct request *request, const struct http_names *names,
                 struct response *response)
{
    char exposed[sizeof names->operation_header + 48];

    if (!is_on(allowed))
        return;
    response_header(response, "Vary", "Origin");
    if (!is_allowed(allowed, request->origin))
        return;
    snprintf(exposed, sizeof exposed, "ETag, Idempotent-Replayed, Retry-After, %s",
             names->operation_header);
    response_header(response, "Access-Control-Allow-Origin",
                    strcmp(allowed, any) == 0 ? any : request->origin);
    response_header(response, "Access-Control-Expose-Headers", exposed);
}

void cors_preflight(const char *allowed, const struct request *request,
                    const struct http_names *names, const char *methods, struct response *response)
{
    char headers[sizeof names->version_header + 80];

    if (!is_on(allowed) || !request->preflight_method[0] || !is_allowed(allowed, request->origin))
        return;
    snprintf(headers, sizeof headers,
             "Authorization, Content-Type, Idempotency-Key, If-Match, If-None-Match, %s",
             names->version_header);
    response_header(response, "Access-Control-Allow-Methods", methods);
    response_header(response, "Access-Control-Allow-Headers", headers);
    response_header(response, "Access-Control-Max-Age", MAX_AGE_S);
}
