/* SPDX-License-Identifier: MIT */
/* Fuzz target: headers.  The input is a byte of flags, and the values of Authorization, version,
 * Content-Type and Host, the server's name and port, and the mount point.  A NUL ends each.
 */
#include "http/header.h"

#include <strings.h>

#include "base/ascii.h"
#include "base/ident.h"
#include "base/utf8.h"
#include "fuzz.h"
#include "json/check.h"

enum flag { FLAG_HTTPS = 1, FLAG_AUTHORIZATION_REPEATED = 2, FLAG_VERSION_REPEATED = 4 };

enum part {
    PART_AUTHORIZATION,
    PART_VERSION,
    PART_CONTENT_TYPE,
    PART_HOST,
    PART_SERVER_NAME,
    PART_SERVER_PORT,
    PART_SCRIPT_NAME,
    N_PARTS
};

static int status_of(const struct error *err)
{
    MUST(err->code > ERR_NONE && err->code < ERR_N_CODES);
    MUST(utf8_valid(err->msg, strlen(err->msg)));
    return error_row(err->code)->status;
}

static bool try_bearer(const struct request *request)
{
    const char *header = request->authorization;
    struct text key = {0};
    char account_id[IDENT_SIZE];
    struct error err;

    if (!header_bearer(request, &key, &err)) {
        MUST(status_of(&err) == 401);
        /* Any part of the header may be a secret. */
        MUST(!err.msg[0] && !err.cause[0]);
        return false;
    }
    MUST(!request->authorization_repeated && api_key_valid(key));
    /* Only a key that is longer by the account's digits names one, and it is the one in the key. */
    MUST(api_key_account(key, account_id) == (key.len == API_KEY_SIZE - 1));
    MUST(account_id[0] ? ident_assigned(text_of(account_id), IDENT_ACCOUNT) &&
                             memcmp(account_id + 3, key.s + 5, 27) == 0
                       : key.len == API_KEY_BARE_SIZE - 1);
    MUST(key.s > header && key.s + key.len <= header + strlen(header));
    MUST(strncasecmp(header + strspn(header, " \t"), "Bearer", 6) == 0);
    MUST(strspn(key.s + key.len, " \t") == strlen(key.s + key.len));
    return true;
}

static bool try_version(const struct request *request)
{
    struct error err;
    bool ok = header_version(request, "Service-Version", &err);

    MUST(ok == (strcmp(request->version, "2") == 0 && !request->version_repeated));
    MUST(ok || status_of(&err) == 400);
    return ok;
}

/* The type is compared without case, and parameters may follow it. */
static bool try_content_type(struct request *request)
{
    static const char parameter[] = "; charset=utf-8";
    size_t len = strlen(request->content_type);
    char *longer = malloc(len + sizeof parameter);
    struct error err;
    bool ok = header_content_type(request, &err);

    MUST(longer);
    MUST(ok || status_of(&err) == 415);
    memcpy(longer, request->content_type, len);
    memcpy(longer + len, parameter, sizeof parameter);
    for (size_t i = 0; i < len; i++)
        longer[i] = (char)(longer[i] >= 'a' && longer[i] <= 'z' ? longer[i] - 0x20 : longer[i]);
    request->content_type = longer;
    MUST(header_content_type(request, &err) == ok);
    if (ok)
        MUST(strncasecmp(longer, "application/json", 16) == 0);
    free(longer);
    return ok;
}

/* The URL has no characters that JSON or a URL escapes. */
static void look_at_url(const struct request *request, struct text url)
{
    size_t scheme_len = strlen(request->scheme);
    struct buf body = {0};
    struct error err;

    MUST(strncmp(url.s, request->scheme, scheme_len) == 0);
    MUST(strncmp(url.s + scheme_len, "://", 3) == 0);
    MUST(url.len > scheme_len + 3 && url.s[scheme_len + 3] != '/');
    for (size_t i = 0; i < url.len; i++)
        MUST(ascii_is_alnum(url.s[i]) || strchr("-._~:/[]%", url.s[i]));
    MUST(url.s[url.len - 1] != '/');
    buf_printf(&body, "{\"uri\":\"%s\"}", url.s);
    MUST(!body.failed && json_check(body.data, body.len, &err));
    buf_free(&body);
}

static bool try_base_url(const struct request *request)
{
    struct buf url = {0};
    struct error err;
    bool ok = header_base_url(request, &url, &err);

    if (ok) {
        look_at_url(request, buf_text(&url));
    } else {
        MUST(url.len == 0);
        MUST(err.code == ERR_HOST_MALFORMED && status_of(&err) == 400);
    }
    buf_free(&url);
    return ok;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct input input = input_of(data, size);
    char *parts[N_PARTS];
    struct request request;
    int flags = 0;
    bool ok;

    if (input.left > 0) {
        flags = (unsigned char)*input.at++;
        input.left--;
    }
    for (size_t i = 0; i < N_PARTS; i++)
        parts[i] = take_string(&input);
    request = (struct request){
        .scheme = flags & FLAG_HTTPS ? "https" : "http",
        .authorization = parts[PART_AUTHORIZATION],
        .authorization_repeated = (flags & FLAG_AUTHORIZATION_REPEATED) != 0,
        .version = parts[PART_VERSION],
        .version_repeated = (flags & FLAG_VERSION_REPEATED) != 0,
        .content_type = parts[PART_CONTENT_TYPE],
        .host = parts[PART_HOST],
        .server_name = parts[PART_SERVER_NAME],
        .server_port = parts[PART_SERVER_PORT],
        .script_name = parts[PART_SCRIPT_NAME],
    };
    ok = try_bearer(&request);
    ok = try_version(&request) && ok;
    ok = try_base_url(&request) && ok;
    ok = try_content_type(&request) && ok;
    if (ok)
        accepted();
    for (size_t i = 0; i < N_PARTS; i++)
        free(parts[i]);
    return 0;
}
