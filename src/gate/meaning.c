/* SPDX-License-Identifier: MIT */
/* The table of providers' answers, as their documentation and RFC 6749 and 6750 say. */
#include "gate/meaning.h"

#include <string.h>

#define RESOURCE (MEANING_USER | MEANING_LIST)
#define EVERYWHERE (MEANING_TOKEN | RESOURCE)

/* A status of a row: 0 stands for any but 200, and for these classes. */
enum { NOT_200 = 0, ANY = -1, CLASS_3XX = 3, CLASS_4XX = 4, CLASS_5XX = 5 };

struct row {
    int provider;       /* 0: every one */
    unsigned endpoints; /* bits */
    int status;
    const char *member; /* of the JSON: "a" or "a.b"; NULL: whatever it is */
    const char *value;  /* a text or a number; NULL: any; with '*' at its end: any that begins so */
    enum provider_outcome outcome;
    const char *reason; /* NULL: the value */
};

#define AWAY PROVIDER_AWAY
#define REFUSED PROVIDER_REFUSED
#define NOT_SET_UP PROVIDER_NOT_SET_UP
#define NOT_GIVEN PROVIDER_NOT_GIVEN

#define RATE "it limits the rate of requests"
#define BAD_TOKEN "the token is not good"
#define BAD_CODE "it refuses the code or the client"
#define BAD_SECRET "it refuses the client's secret"
#define BAD_REDIRECT "it does not know the redirect URI"
#define FORBIDDEN "it does not permit the application to ask this"

/* The first row that fits holds.  The last ones hold for every provider. */
static const struct row rows[] = {
    {0, EVERYWHERE, 429, NULL, NULL, AWAY, RATE},

    /* https://docs.github.com/rest/using-the-rest-api/troubleshooting-the-rest-api: limits are 403
     * or 429.  GET /user/emails is 404 without the scope, and 403 for a GitHub App without the
     * permission.  The token endpoint refuses with 200, and is 404 for an unknown client. */
    {PROVIDER_GITHUB, RESOURCE, 403, "message", "API rate limit exceeded*", AWAY, RATE},
    {PROVIDER_GITHUB, RESOURCE, 403, "message", "You have exceeded a secondary rate limit*", AWAY,
     RATE},
    {PROVIDER_GITHUB, RESOURCE, 403, "message", "Sorry. Your account was suspended*", REFUSED,
     "the visitor's account is suspended"},
    {PROVIDER_GITHUB, MEANING_TOKEN, ANY, "error", "bad_verification_code", REFUSED, NULL},
    {PROVIDER_GITHUB, MEANING_TOKEN, ANY, "error", "bad_refresh_token", REFUSED, NULL},
    {PROVIDER_GITHUB, MEANING_TOKEN, ANY, "error", "unverified_user_email", REFUSED, NULL},
    {PROVIDER_GITHUB, MEANING_TOKEN, ANY, "error", "incorrect_client_credentials", NOT_SET_UP,
     NULL},
    {PROVIDER_GITHUB, MEANING_TOKEN, ANY, "error", "application_suspended", NOT_SET_UP, NULL},
    {PROVIDER_GITHUB, MEANING_TOKEN, 404, NULL, NULL, NOT_SET_UP, "it does not know the client"},

    /* https://developers.facebook.com/docs/graph-api/guides/error-handling: the code counts, with
     * whatever status. */
    {PROVIDER_FACEBOOK, MEANING_TOKEN, NOT_200, "error.message", "Error validating client secret*",
     NOT_SET_UP, BAD_SECRET},
    {PROVIDER_FACEBOOK, MEANING_TOKEN, NOT_200, "error.code", "101", NOT_SET_UP,
     "it does not know the client"},
    {PROVIDER_FACEBOOK, MEANING_TOKEN, NOT_200, "error.code", "191", NOT_SET_UP, BAD_REDIRECT},
    {PROVIDER_FACEBOOK, MEANING_TOKEN, NOT_200, "error.error_subcode", "36008", NOT_SET_UP,
     BAD_REDIRECT},
    {PROVIDER_FACEBOOK, EVERYWHERE, NOT_200, "error.code", "1", AWAY,
     "an unknown error of its own"},
    {PROVIDER_FACEBOOK, EVERYWHERE, NOT_200, "error.code", "2", AWAY, "it is down for a while"},
    {PROVIDER_FACEBOOK, EVERYWHERE, NOT_200, "error.code", "4", AWAY, RATE},
    {PROVIDER_FACEBOOK, EVERYWHERE, NOT_200, "error.code", "17", AWAY, RATE},
    {PROVIDER_FACEBOOK, EVERYWHERE, NOT_200, "error.code", "32", AWAY, RATE},
    {PROVIDER_FACEBOOK, EVERYWHERE, NOT_200, "error.code", "341", AWAY, RATE},
    {PROVIDER_FACEBOOK, EVERYWHERE, NOT_200, "error.code", "613", AWAY, RATE},
    {PROVIDER_FACEBOOK, EVERYWHERE, NOT_200, "error.code", "190", REFUSED, BAD_TOKEN},
    {PROVIDER_FACEBOOK, RESOURCE, NOT_200, "error.code", "102", REFUSED, BAD_TOKEN},

    /* https://learn.microsoft.com/entra/identity-platform/v2-oauth2-auth-code-flow and
     * reference-error-codes: the visitor has to come back to the sign-in page. */
    {PROVIDER_MICROSOFT, MEANING_TOKEN, NOT_200, "error", "interaction_required", REFUSED, NULL},
    {PROVIDER_MICROSOFT, MEANING_TOKEN, NOT_200, "error", "login_required", REFUSED, NULL},
    {PROVIDER_MICROSOFT, MEANING_TOKEN, NOT_200, "error", "consent_required", REFUSED, NULL},
    {PROVIDER_MICROSOFT, MEANING_TOKEN, NOT_200, "error", "invalid_resource", NOT_SET_UP, NULL},

    /* https://developers.google.com/identity/protocols/oauth2/web-server */
    {PROVIDER_GOOGLE, MEANING_TOKEN, NOT_200, "error", "org_internal", NOT_SET_UP, NULL},
    {PROVIDER_GOOGLE, MEANING_TOKEN, NOT_200, "error", "deleted_client", NOT_SET_UP, NULL},
    {PROVIDER_GOOGLE, MEANING_TOKEN, NOT_200, "error", "admin_policy_enforced", REFUSED, NULL},
    {PROVIDER_GOOGLE, EVERYWHERE, NOT_200, "error", "rate_limit_exceeded", AWAY, RATE},

    /* https://learn.microsoft.com/linkedin/shared/authentication/authorization-code-flow: both
     * stand for a code that is over, too. */
    {PROVIDER_LINKEDIN, MEANING_TOKEN, NOT_200, "error", "invalid_request", REFUSED, NULL},
    {PROVIDER_LINKEDIN, MEANING_TOKEN, NOT_200, "error", "invalid_redirect_uri", REFUSED, NULL},

    /* https://dev.twitch.tv/docs/authentication/: a status and a message. */
    {PROVIDER_TWITCH, MEANING_TOKEN, CLASS_4XX, "message", "invalid client secret", NOT_SET_UP,
     BAD_SECRET},
    {PROVIDER_TWITCH, MEANING_TOKEN, CLASS_4XX, "message", "invalid client*", NOT_SET_UP,
     "it does not know the client"},
    {PROVIDER_TWITCH, MEANING_TOKEN, CLASS_4XX, "message", "Parameter redirect_uri does not match*",
     NOT_SET_UP, BAD_REDIRECT},
    {PROVIDER_TWITCH, MEANING_TOKEN, CLASS_4XX, "message", NULL, REFUSED, BAD_CODE},

    /* These say more than a body that their server may add. */
    {0, EVERYWHERE, 408, NULL, NULL, AWAY, "it had to wait for the request"},
    {0, EVERYWHERE, 421, NULL, NULL, AWAY, "the server is not the endpoint's"},
    {0, EVERYWHERE, 425, NULL, NULL, AWAY, "it had to wait for the request"},
    {0, MEANING_TOKEN, CLASS_3XX, NULL, NULL, AWAY, "an unexpected status"},

    /* RFC 6749, 5.2. */
    {0, MEANING_TOKEN, CLASS_5XX, NULL, NULL, AWAY, "it reports a fault of its own"},
    {0, MEANING_TOKEN, ANY, "error", "invalid_grant", REFUSED, NULL},
    {0, MEANING_TOKEN, ANY, "error", "access_denied", REFUSED, NULL},
    {0, MEANING_TOKEN, ANY, "error", "invalid_client", NOT_SET_UP, NULL},
    {0, MEANING_TOKEN, ANY, "error", "unauthorized_client", NOT_SET_UP, NULL},
    {0, MEANING_TOKEN, ANY, "error", "unsupported_grant_type", NOT_SET_UP, NULL},
    {0, MEANING_TOKEN, ANY, "error", "invalid_scope", NOT_SET_UP, NULL},
    {0, MEANING_TOKEN, ANY, "error", "invalid_request", NOT_SET_UP, NULL},
    {0, MEANING_TOKEN, ANY, "error", "redirect_uri_mismatch", NOT_SET_UP, NULL},
    {0, MEANING_TOKEN, ANY, "error", "server_error", AWAY, NULL},
    {0, MEANING_TOKEN, ANY, "error", "temporarily_unavailable", AWAY, NULL},
    {0, MEANING_TOKEN, ANY, "error", "slow_down", AWAY, NULL},
    {0, MEANING_TOKEN, 404, NULL, NULL, NOT_SET_UP, "the URL is not that of the endpoint"},
    {0, MEANING_TOKEN, ANY, "error", NULL, REFUSED, BAD_CODE},

    /* RFC 6750, 3.1, and RFC 9110, 15. */
    {0, RESOURCE, CLASS_5XX, NULL, NULL, AWAY, "it reports a fault of its own"},
    {0, RESOURCE, 400, "error", "invalid_token", REFUSED, BAD_TOKEN},
    {0, RESOURCE, 401, NULL, NULL, REFUSED, BAD_TOKEN},
    {0, MEANING_LIST, CLASS_4XX, NULL, NULL, NOT_GIVEN, FORBIDDEN},
    {0, MEANING_USER, 403, NULL, NULL, NOT_SET_UP, FORBIDDEN},
    {0, MEANING_USER, 404, NULL, NULL, NOT_SET_UP, "the URL is not that of the endpoint"},
    {0, MEANING_USER, CLASS_4XX, NULL, NULL, NOT_SET_UP, "it refuses the request"},
    {0, MEANING_TOKEN, CLASS_4XX, NULL, NULL, NOT_SET_UP, "it refuses the request"},
    {0, EVERYWHERE, NOT_200, NULL, NULL, AWAY, "an unexpected status"},
};

/* What else is true of an answer with status 200 is for its reader. */

static bool fits_status(const struct row *row, int status)
{
    if (row->status == ANY)
        return true;
    if (row->status == NOT_200)
        return status != 200;
    return row->status < 10 ? status / 100 == row->status : status == row->status;
}

/* Returns a text or a number's digits; absent: it is neither. */
static struct text word_of(const struct json_node *node)
{
    struct error ignored;
    struct text word = {0};

    if (!json_get_text(node, &word, &ignored) && !json_get_digits(node, &word, &ignored))
        return (struct text){0};
    return word;
}

static bool fits_value(struct text word, const char *value)
{
    size_t len = strlen(value);

    if (len > 0 && value[len - 1] == '*')
        return word.s && word.len >= len - 1 && memcmp(word.s, value, len - 1) == 0;
    return text_eq(word, text_of(value));
}

/* Returns whether the member is as the row says.  Facebook's "error" is an object. */
static bool fits_member(const struct row *row, const struct json_node *top)
{
    const char *dot = strchr(row->member, '.');
    struct json_node outer = json_member(top, dot ? "error" : row->member);
    struct json_node inner = dot ? json_member(&outer, dot + 1) : outer;

    return json_given(&inner) && (!row->value || fits_value(word_of(&inner), row->value));
}

/* A limit may come as 403 with nothing but a header.  An outage may come with any. */
static bool is_limit(const struct fetch_answer *answer)
{
    return answer->status / 100 == 4 && answer->status != 401 && answer->is_limited;
}

enum provider_outcome meaning_of(int provider, enum meaning_endpoint endpoint,
                                 const struct fetch_answer *answer, const struct json_node *top,
                                 const char **why)
{
    if (is_limit(answer)) {
        *why = RATE;
        return PROVIDER_AWAY;
    }
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        const struct row *row = &rows[i];

        if ((row->provider == 0 || row->provider == provider) && row->endpoints & endpoint &&
            fits_status(row, answer->status) && (!row->member || fits_member(row, top))) {
            *why = row->reason ? row->reason : row->value;
            return row->outcome;
        }
    }
    return PROVIDER_ANSWERED;
}

/* ---- back from the authorize endpoint ---- */

enum provider_outcome meaning_of_error(struct text error, const char **why)
{
    static const struct {
        const char *name;
        enum provider_outcome outcome;
    } known[] = {
        /* RFC 6749, 4.1.2.1. */
        {"access_denied", REFUSED},
        {"invalid_request", NOT_SET_UP},
        {"invalid_scope", NOT_SET_UP},
        {"server_error", AWAY},
        {"temporarily_unavailable", AWAY},
        {"unauthorized_client", NOT_SET_UP},
        {"unsupported_response_type", NOT_SET_UP},
        /* OpenID Connect Core, 3.1.2.6. */
        {"account_selection_required", REFUSED},
        {"consent_required", REFUSED},
        {"interaction_required", REFUSED},
        {"login_required", REFUSED},
        {"request_not_supported", NOT_SET_UP},
        /* GitHub. */
        {"application_suspended", NOT_SET_UP},
        {"redirect_uri_mismatch", NOT_SET_UP},
        /* Google. */
        {"admin_policy_enforced", REFUSED},
        {"deleted_client", NOT_SET_UP},
        {"disallowed_useragent", REFUSED},
        {"invalid_client", NOT_SET_UP},
        {"org_internal", NOT_SET_UP},
        /* LinkedIn. */
        {"unauthorized_scope_error", NOT_SET_UP},
        {"user_cancelled_authorize", REFUSED},
        {"user_cancelled_login", REFUSED},
        /* Microsoft. */
        {"invalid_resource", NOT_SET_UP},
    };

    for (size_t i = 0; i < sizeof known / sizeof known[0]; i++) {
        if (text_eq(error, text_of(known[i].name))) {
            *why = known[i].name;
            return known[i].outcome;
        }
    }
    *why = "an error that the gate does not know";
    return PROVIDER_REFUSED;
}
