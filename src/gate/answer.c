/* SPDX-License-Identifier: MIT */
/* Providers' JSON.  Members that the gate does not know are ignored. */
#include "gate/answer.h"

#include <strings.h>

#include "base/ascii.h"
#include "base/utf8.h"
#include "json/tree.h"

/* A page of 100 teams has some 7,000 values. */
#define VALUES_MAX 50000

/* Bytes of the largest token, subject, name and slug. */
#define TOKEN_MAX 16384
#define SUBJECT_MAX 255
#define USER_NAME_MAX 255
#define SLUG_MAX 255

static const char out_of_memory[] = "out of memory";

/* ---- JSON ---- */

static bool is_json(struct text content_type)
{
    static const char json[] = "application/json";
    const size_t len = sizeof json - 1;

    return content_type.len >= len && strncasecmp(content_type.s, json, len) == 0 &&
           (content_type.len == len || strchr("; \t", content_type.s[len]));
}

/* Parses the answer.  Returns true with *top, for json_free(), or false with the reason. */
static bool parse(const struct fetch_answer *answer, struct json_node *top, const char **why)
{
    struct error err = {.code = ERR_NONE};

    *top = (struct json_node){0};
    if (!is_json(answer->content_type)) {
        *why = "the answer's content type is not application/json";
        return false;
    }
    if (json_parse_large(answer->body.s, answer->body.len, VALUES_MAX, top, &err))
        return true;
    *why = err.code == ERR_OUT_OF_MEMORY ? out_of_memory : "the answer is not JSON";
    return false;
}

/* Returns the member's text, a part of the tree.  Absent: there is none. */
static struct text text_member(const struct json_node *object, const char *name)
{
    struct json_node member = json_member(object, name);
    struct error ignored;
    struct text value = {0};

    return json_get_text(&member, &value, &ignored) ? value : (struct text){0};
}

static bool holds_true(const struct json_node *object, const char *name)
{
    struct json_node member = json_member(object, name);
    struct error ignored;
    bool value = false;

    return json_get_bool(&member, &value, &ignored) && value;
}

static bool is_visible(struct text value, size_t max)
{
    for (size_t i = 0; i < value.len; i++) {
        if (!ascii_is_visible(value.s[i]))
            return false;
    }
    return text_present(value) && value.len <= max;
}

static bool hold_text(struct arena *arena, struct text from, struct text *to)
{
    *to = (struct text){.s = arena_copy(arena, from.s, from.len), .len = from.len};
    return to->s;
}

/* ---- the token ---- */

/* What token endpoints call their refusals (RFC 6749, 5.2, and GitHub's page of errors).  Others
 * are not repeated in a log: they may hold anything. */
static const char *const known_errors[] = {
    "invalid_request",
    "invalid_client",
    "invalid_grant",
    "unauthorized_client",
    "unsupported_grant_type",
    "invalid_scope",
    "incorrect_client_credentials",
    "redirect_uri_mismatch",
    "bad_verification_code",
    "unverified_user_email",
};

/* Returns whether the answer says that the request is refused.  Facebook's "error" is an object,
 * and Twitch has "message" alone. */
static bool is_refusal(const struct json_node *top, const char **why)
{
    struct json_node error = json_member(top, "error");
    struct text code = text_member(top, "error");

    if (!json_given(&error) && !text_member(top, "message").s)
        return false;
    *why = "it refuses the code or the client";
    for (size_t i = 0; i < sizeof known_errors / sizeof known_errors[0]; i++) {
        if (text_eq(code, text_of(known_errors[i])))
            *why = known_errors[i];
    }
    return true;
}

static enum provider_outcome read_token(const struct json_node *top, struct arena *arena,
                                        struct text *token, const char **why)
{
    struct json_node type_member = json_member(top, "token_type");
    struct json_node error = json_member(top, "error");
    struct text type = text_member(top, "token_type");
    struct text value = text_member(top, "access_token");

    /* GitHub refuses with status 200. */
    if (json_given(&error) && is_refusal(top, why))
        return PROVIDER_REFUSED;
    *why = "the answer has no bearer token";
    /* LinkedIn leaves the type out. */
    if (json_given(&type_member) &&
        !(type.s && type.len == 6 && strncasecmp(type.s, "bearer", 6) == 0))
        return PROVIDER_AWAY;
    if (!is_visible(value, TOKEN_MAX))
        return PROVIDER_AWAY;
    *why = out_of_memory;
    return hold_text(arena, value, token) ? PROVIDER_ANSWERED : PROVIDER_AWAY;
}

enum provider_outcome answer_token(const struct fetch_answer *answer, struct arena *arena,
                                   struct text *token, const char **why)
{
    enum provider_outcome outcome = PROVIDER_AWAY;
    struct json_node top;

    *why = "an unexpected status";
    if (answer->status != 200 && answer->status != 400 && answer->status != 401)
        return PROVIDER_AWAY;
    if (!parse(answer, &top, why))
        return PROVIDER_AWAY;
    if (answer->status == 200)
        outcome = read_token(&top, arena, token, why);
    else if (is_refusal(&top, why))
        outcome = PROVIDER_REFUSED;
    else
        *why = "an unexpected answer";
    json_free(&top);
    return outcome;
}

/* ---- answers to a token ---- */

/* Facebook's code for a token that is not good any more. */
#define FACEBOOK_BAD_TOKEN 190

/* Returns whether an answer with status 400 refuses the token: Amazon and Facebook do so. */
static bool refuses_token(const struct fetch_answer *answer)
{
    struct json_node top, error, code;
    struct error ignored;
    const char *no_matter;
    uint32_t number = 0;
    bool ok = false;

    if (parse(answer, &top, &no_matter)) {
        error = json_member(&top, "error");
        code = json_member(&error, "code");
        ok = text_eq(text_member(&top, "error"), text_of("invalid_token")) ||
             (json_get_uint32(&code, &number, &ignored) && number == FACEBOOK_BAD_TOKEN);
        json_free(&top);
    }
    return ok;
}

/* Parses the answer to a request with a token.  *top is for json_free() if it was answered. */
static enum provider_outcome open_answer(const struct fetch_answer *answer, struct json_node *top,
                                         const char **why)
{
    *top = (struct json_node){0};
    *why = "the token is not good";
    if (answer->status == 401 || (answer->status == 400 && refuses_token(answer)))
        return PROVIDER_REFUSED;
    *why = "an unexpected status";
    if (answer->status != 200)
        return PROVIDER_AWAY;
    return parse(answer, top, why) ? PROVIDER_ANSWERED : PROVIDER_AWAY;
}

/* ---- lists ---- */

/* Makes room for one more.  Returns false if memory runs out. */
static bool make_list_room(struct answer_texts *texts)
{
    size_t room = texts->room ? texts->room * 2 : 16;
    struct text *items;

    if (texts->list.n < texts->room)
        return true;
    items = arena_array(texts->arena, room, sizeof *items);
    if (!items)
        return false;
    if (texts->list.n > 0)
        memcpy(items, texts->list.items, texts->list.n * sizeof *items);
    texts->list.items = items;
    texts->list.given = true;
    texts->room = room;
    return true;
}

/* Adds a text of the tree, at the front if it is the first one.  Returns false if memory runs out.
 */
static bool add_text(struct answer_texts *texts, struct text value, bool is_first)
{
    struct text copy;

    if (!make_list_room(texts) || !hold_text(texts->arena, value, &copy))
        return false;
    texts->list.items[texts->list.n++] = copy;
    if (is_first) {
        memmove(texts->list.items + 1, texts->list.items,
                (texts->list.n - 1) * sizeof *texts->list.items);
        texts->list.items[0] = copy;
    }
    return true;
}

static bool add_email(struct answer_texts *texts, const struct json_node *entry)
{
    struct text email = text_member(entry, "email");
    const char *no_matter;

    if (!text_present(email) || !holds_true(entry, "verified") ||
        !oauth_email_address_valid(email, &no_matter))
        return true;
    return add_text(texts, email, holds_true(entry, "primary"));
}

static bool is_slug(struct text value)
{
    return text_present(value) && is_visible(value, SLUG_MAX) && !memchr(value.s, '/', value.len);
}

static bool add_organization(struct answer_texts *texts, const struct json_node *entry)
{
    struct text slug = text_member(entry, "login");

    return !is_slug(slug) || add_text(texts, slug, false);
}

static bool add_team(struct answer_texts *texts, const struct json_node *entry)
{
    struct json_node organization = json_member(entry, "organization");
    struct text owner = text_member(&organization, "login");
    struct text slug = text_member(entry, "slug");
    char team[2 * SLUG_MAX + 1];

    if (!is_slug(owner) || !is_slug(slug))
        return true;
    memcpy(team, owner.s, owner.len);
    team[owner.len] = '/';
    memcpy(team + owner.len + 1, slug.s, slug.len);
    return add_text(texts, (struct text){.s = team, .len = owner.len + 1 + slug.len}, false);
}

static enum provider_outcome
take_page(const struct fetch_answer *answer, struct answer_texts *texts,
          bool (*add)(struct answer_texts *texts, const struct json_node *entry), const char **why)
{
    struct json_node top;
    enum provider_outcome outcome = open_answer(answer, &top, why);

    if (outcome == PROVIDER_ANSWERED && !json_is_list(&top)) {
        outcome = PROVIDER_AWAY;
        *why = "the answer is not a list";
    }
    for (size_t i = 0; outcome == PROVIDER_ANSWERED && i < json_count(&top); i++) {
        struct json_node entry = json_element(&top, i);

        if (!add(texts, &entry)) {
            outcome = PROVIDER_AWAY;
            *why = out_of_memory;
        }
    }
    json_free(&top);
    return outcome;
}

enum provider_outcome answer_emails(const struct fetch_answer *answer, struct answer_texts *texts,
                                    const char **why)
{
    /* GitHub answers so if the token was not given the scope: no address is known then. */
    if (answer->status == 404)
        return PROVIDER_ANSWERED;
    return take_page(answer, texts, add_email, why);
}

enum provider_outcome answer_organizations(const struct fetch_answer *answer,
                                           struct answer_texts *texts, const char **why)
{
    return take_page(answer, texts, add_organization, why);
}

enum provider_outcome answer_teams(const struct fetch_answer *answer, struct answer_texts *texts,
                                   const char **why)
{
    return take_page(answer, texts, add_team, why);
}

/* ---- the user ---- */

/* Returns an id: a text, or a number's digits.  Absent: there is none. */
static struct text id_member(const struct json_node *object, const char *name)
{
    struct json_node member = json_member(object, name);
    struct error ignored;
    struct text value = {0};

    if (!json_get_text(&member, &value, &ignored) && !json_get_digits(&member, &value, &ignored))
        return (struct text){0};
    return value;
}

static bool is_user_name(struct text name)
{
    size_t len;

    for (size_t at = 0; at < name.len; at += len) {
        if (utf8_is_control(utf8_decode((const unsigned char *)name.s + at, &len)))
            return false;
    }
    return text_present(name) && name.len <= USER_NAME_MAX;
}

static bool is_email_verified(const struct json_node *top, enum provider_emails emails,
                              bool has_own_tenant)
{
    switch (emails) {
    case PROVIDER_EMAILS_VERIFIED:
        return holds_true(top, "email_verified");
    case PROVIDER_EMAILS_TENANT:
        return has_own_tenant || holds_true(top, "xms_edov");
    case PROVIDER_EMAILS_NONE:
    case PROVIDER_EMAILS_LIST:
        break;
    }
    return false;
}

/* Returns false if memory runs out. */
static bool read_email(const struct json_node *top, struct arena *arena, struct text_list *emails)
{
    struct answer_texts texts = {.arena = arena};
    struct text email = text_member(top, "email");
    const char *no_matter;

    if (!text_present(email) || !oauth_email_address_valid(email, &no_matter))
        return true;
    if (!add_text(&texts, email, true))
        return false;
    *emails = texts.list;
    return true;
}

static enum provider_outcome read_user(const struct json_node *top, const struct provider *provider,
                                       struct arena *arena, struct identity *identity,
                                       const char **why)
{
    struct text subject = id_member(top, provider->subject);
    struct text name = text_member(top, provider->name);

    *why = "the answer names no user";
    if (!is_visible(subject, SUBJECT_MAX))
        return PROVIDER_AWAY;
    *why = out_of_memory;
    if (!hold_text(arena, subject, &identity->subject) ||
        (is_user_name(name) && !hold_text(arena, name, &identity->name)))
        return PROVIDER_AWAY;
    return PROVIDER_ANSWERED;
}

enum provider_outcome answer_user(const struct fetch_answer *answer,
                                  const struct provider *provider, bool has_own_tenant,
                                  struct arena *arena, struct identity *identity, const char **why)
{
    struct json_node top;
    enum provider_outcome outcome = open_answer(answer, &top, why);

    *identity = (struct identity){0};
    if (outcome == PROVIDER_ANSWERED)
        outcome = read_user(&top, provider, arena, identity, why);
    if (outcome == PROVIDER_ANSWERED && is_email_verified(&top, provider->emails, has_own_tenant) &&
        !read_email(&top, arena, &identity->emails)) {
        *why = out_of_memory;
        outcome = PROVIDER_AWAY;
    }
    json_free(&top);
    return outcome;
}
