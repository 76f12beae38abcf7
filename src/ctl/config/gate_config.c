/* SPDX-License-Identifier: MIT */
/* The configuration of web servers that ask adit-gate. */
#include "ctl/config/gate_config.h"

#include <stdio.h>
#include <string.h>

#include "base/ascii.h"
#include "base/ident.h"
#include "base/number.h"
#include "ctl/config/fill_in.h"
#include "ctl/gate_ask.h"

/* Bytes of a URL and of a host. */
#define URL_MAX 300

static int misuse(const char *option, const char *value, const char *wanted)
{
    return ctl_misuse("--%s '%s' is not accepted; expected %s", option, value, wanted);
}

/* Splits EDGE/ROUTE.  *edge is in the buffer. */
static bool split_route(const char *value, struct buf *edge, const char **route)
{
    const char *slash = strchr(value, '/');

    if (!slash)
        return false;
    buf_add(edge, value, (size_t)(slash - value));
    *route = slash + 1;
    return !edge->failed && ident_valid(buf_text(edge)) && ident_valid(text_of(*route));
}

/* Returns whether the text is a host and perhaps a port, without characters that a configuration
 * file knows. */
static bool host_name_valid(const char *host, bool needs_port)
{
    const char *colon = strrchr(host, ':');
    size_t len = colon ? (size_t)(colon - host) : strlen(host);
    uint64_t port;

    if (colon && (!number_read(text_of(colon + 1), 10, UINT16_MAX, &port) || port == 0))
        return false;
    for (size_t i = 0; i < len; i++) {
        if (!ascii_is_alnum(host[i]) && !(i > 0 && strchr("-.", host[i])))
            return false;
    }
    return len > 0 && strlen(host) <= URL_MAX && (colon || !needs_port);
}

static bool url_valid(const char *url)
{
    const char *host = strstr(url, "://");
    size_t len = host ? (size_t)(host - url) : 0;

    return host && (strncmp(url, "https", len) == 0 || strncmp(url, "http", len) == 0) &&
           len >= 4 && host_name_valid(host + strlen("://"), false);
}

/* Returns the port of a URL that url_valid() accepts. */
static const char *url_port(const char *url)
{
    const char *colon = strrchr(url, ':');

    if (strncmp(colon, "://", 3) != 0)
        return colon + 1;
    return strncmp(url, "https:", 6) == 0 ? "443" : "80";
}

/* Sets the options that are absent to their defaults and checks all. */
static int check(struct ctl_options *options)
{
    if (!options->route || !options->url)
        return ctl_misuse("'%s' needs the route and the address of its host: --route EDGE/ROUTE "
                          "--url https://HOST",
                          options->argument);
    if (!url_valid(options->url))
        return misuse("url", options->url,
                      "https:// and a host, such as https://app.example.com, and no path");
    if (!options->application)
        options->application = "127.0.0.1:3000";
    if (!host_name_valid(options->application, true))
        return misuse("application", options->application, "HOST:PORT");
    if (options->account && !ident_assigned(text_of(options->account), IDENT_ACCOUNT))
        return misuse("account", options->account, "the id of an account");
    if (!options->socket)
        options->socket = ADIT_GATE_SOCKET_PATH;
    if (!fill_in_path_valid(options->socket, FILL_IN_PATH_MAX))
        return ctl_misuse("--socket '%s' is not accepted; expected the absolute path of a "
                          "socket: " FILL_IN_PATH_WANTED,
                          options->socket, (size_t)FILL_IN_PATH_MAX);
    return CTL_OK;
}

int gate_config_fill(struct ctl *ctl, const char *template, struct buf *out)
{
    struct ctl_options *options = &ctl->options;
    int status = check(options);
    const char *account = options->account ? options->account : ctl->conf.gate.account;
    char set_account[64] = ""; /* Apache takes an empty value for "1" */
    struct buf edge = {0};
    const char *route;

    if (status != CTL_OK)
        return status;
    if (account[0])
        snprintf(set_account, sizeof set_account, " \"ADIT_ACCOUNT=%s\"", account);
    if (split_route(options->route, &edge, &route)) {
        const struct value values[] = {
            {"EDGE", edge.data},
            {"ROUTE", route},
            {"ACCOUNT", account},
            {"SET_ACCOUNT", set_account},
            {"URL", options->url},
            {"HOST", strstr(options->url, "://") + strlen("://")},
            {"SCHEME", strncmp(options->url, "https:", 6) == 0 ? "https" : "http"},
            {"PORT", url_port(options->url)},
            {"APPLICATION", options->application},
            {"SOCKET", options->socket},
            {"GATE_PORT", GATE_ASK_PORT},
            {NULL, NULL},
        };

        fill_in(out, text_of(template), values);
    } else {
        status = misuse("route", options->route,
                        "the ids of an edge and of its route with '/' between them");
    }
    buf_free(&edge);
    return status;
}
