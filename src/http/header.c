/* SPDX-License-Identifier: MIT */
/* Reading headers. */
#include "http/header.h"

#include <arpa/inet.h>
#include <string.h>
#include <strings.h>

#include "base/ascii.h"
#include "base/ident.h"
#include "base/number.h"
#include "base/percent.h"
#include "http/query.h"

#define HOST_MAX 255
#define IDEMPOTENCY_KEY_MAX 255

/* Returns the text without blanks at both ends. */
static struct text without_blanks(struct text text)
{
    while (text.len > 0 && ascii_is_blank(text.s[0])) {
        text.s++;
        text.len--;
    }
    while (text.len > 0 && ascii_is_blank(text.s[text.len - 1]))
        text.len--;
    return text;
}

bool header_key(struct text authorization, struct text *key, struct error *err)
{
    static const char scheme[] = "Bearer";
    const size_t scheme_len = sizeof scheme - 1;
    struct text value = without_blanks(authorization);

    if (value.len == 0)
        return error_set(err, ERR_AUTH_MISSING);
    if (value.len < scheme_len || strncasecmp(value.s, scheme, scheme_len) != 0 ||
        (value.len > scheme_len && !ascii_is_blank(value.s[scheme_len])))
        return error_set(err, ERR_AUTH_NOT_BEARER);
    *key = without_blanks((struct text){value.s + scheme_len, value.len - scheme_len});
    return api_key_valid(*key) || error_set(err, ERR_KEY_MALFORMED);
}

bool header_bearer(const struct request *request, struct text *key, struct error *err)
{
    return header_key(text_of(request->authorization), key, err) &&
           (!request->authorization_repeated || error_set(err, ERR_KEY_MALFORMED));
}

bool header_version(const struct request *request, const char *header, struct error *err)
{
    if (!request->version[0] && !request->version_repeated)
        return error_say(err, ERR_VERSION_MISSING,
                         "The header %s is missing. Send it with the value 2.", header);
    if (strcmp(request->version, "2") != 0 || request->version_repeated)
        return error_say(err, ERR_VERSION_UNSUPPORTED,
                         "The version in the header %s is not supported. Send the header once, "
                         "with the value 2.",
                         header);
    return true;
}

bool header_content_type(const struct request *request, struct error *err)
{
    static const char json[] = "application/json";
    const char *at = request->content_type;
    const char *encoding = request->content_encoding;

    if (encoding && *encoding && strcasecmp(encoding, "identity") != 0)
        return error_set(err, ERR_CONTENT_ENCODING);
    if (!*at)
        return error_set(err, ERR_CONTENT_TYPE_MISSING);
    if (strncasecmp(at, json, sizeof json - 1) == 0) {
        at += sizeof json - 1;
        while (ascii_is_blank(*at))
            at++;
        if (*at == '\0' || *at == ';')
            return true;
    }
    return error_set(err, ERR_CONTENT_TYPE_UNSUPPORTED);
}

bool header_idempotency_key(const struct request *request, struct text *key, struct error *err)
{
    *key = text_of(request->idempotency_key);
    if (key->len < 1 || key->len > IDEMPOTENCY_KEY_MAX || request->idempotency_key_repeated)
        return error_set(err, ERR_IDEMPOTENCY_KEY_MALFORMED);
    for (size_t i = 0; i < key->len; i++) {
        if (key->s[i] < ' ' || key->s[i] > '~' || key->s[i] == ',')
            return error_set(err, ERR_IDEMPOTENCY_KEY_MALFORMED);
    }
    return true;
}

static bool is_ipv6(const char *s, size_t len)
{
    char copy[INET6_ADDRSTRLEN];
    unsigned char bytes[sizeof(struct in6_addr)];

    if (len >= sizeof copy)
        return false;
    memcpy(copy, s, len);
    copy[len] = '\0';
    return inet_pton(AF_INET6, copy, bytes) == 1;
}

/* Returns the bytes of the host at the start of a text (RFC 3986, 3.2.2), or 0.  A name has
 * letters, digits, '.' and '-' only. */
static size_t host_part(const char *s)
{
    size_t len = 0;

    if (s[0] == '[') {
        len = strcspn(s, "]");
        return s[len] && is_ipv6(s + 1, len - 1) ? len + 1 : 0;
    }
    while (ascii_is_alnum(s[len]) || s[len] == '.' || s[len] == '-')
        len++;
    return len;
}

static bool port_number_valid(const char *port)
{
    uint64_t number;

    return number_read(text_of(port), 10, 65535, &number) && number > 0;
}

/* Takes a host, and a port if a colon follows (RFC 9110, 7.2).  The port may be empty there, but a
 * URL has no such colon (RFC 9110, 4.2.3). */
static bool take_host(const char *host, struct text *taken)
{
    const char *port = host + host_part(host);

    *taken = text_of(host);
    if (port == host || taken->len > HOST_MAX)
        return false;
    if (strcmp(port, ":") == 0)
        taken->len--;
    else if (*port)
        return *port == ':' && port_number_valid(port + 1);
    return true;
}

static bool is_default_port(const struct request *request)
{
    return strcmp(request->server_port, strcmp(request->scheme, "https") == 0 ? "443" : "80") == 0;
}

/* A web server that listens on a Unix socket sends no address. */
const char *header_client_address(const struct request *request)
{
    const char *address = request->remote_addr;
    unsigned char bytes[sizeof(struct in6_addr)];

    return address && (inet_pton(AF_INET, address, bytes) == 1 ||
                       inet_pton(AF_INET6, address, bytes) == 1)
               ? address
               : NULL;
}

/* The web server has decoded the path of the mount point.  At the root some servers send "/", but a
 * base URL has no trailing slash. */
void header_base_path(const struct request *request, struct buf *url)
{
    const char *path = request->script_name;
    size_t len = strlen(path);

    while (len > 0 && path[len - 1] == '/')
        len--;
    for (size_t i = 0; i < len; i++) {
        if (path[i] == '/')
            buf_add(url, "/", 1);
        else
            percent_encode(url, (struct text){.s = path + i, .len = 1});
    }
}

/* HTTP/1.0 needs no Host header.  Without one, use the server's own name. */
bool header_base_url(const struct request *request, struct buf *url, struct error *err)
{
    bool has_host = request->host[0] != '\0';
    struct text host;

    if (!take_host(has_host ? request->host : request->server_name, &host) ||
        (!has_host && !port_number_valid(request->server_port)))
        return error_set(err, ERR_HOST_MALFORMED);
    buf_puts(url, request->scheme);
    buf_puts(url, "://");
    buf_add(url, host.s, host.len);
    if (!has_host && !is_default_port(request)) {
        buf_puts(url, ":");
        buf_puts(url, request->server_port);
    }
    header_base_path(request, url);
    return true;
}
