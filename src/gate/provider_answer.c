/* SPDX-License-Identifier: MIT */
/* Providers' JSON.  Members that the gate does not know are ignored. */
#include "gate/provider_answer.h"

#include <strings.h>

#include "base/ascii.h"
#include "base/utf8.h"
#include "gate/meaning.h"
#include "json/tree.h"
#include "model/domain.h"

/* A page of 100 teams has some 7,000 values. */
#define VALUES_MAX 50000

/* Bytes of the largest token, subject, name and slug. */
#define TOKEN_MAX 16384
#define REFRESH_MAX 4096
#define SUBJECT_MAX 255
#define USER_NAME_MAX 255
#define SLUG_MAX 255
#define EMAIL_LOCAL_MAX 64

/* Levels above a team that are followed. */
#define TEAM_LEVELS_MAX 16

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

/* Parses an answer if its meaning is that it is to be read.  *top is for json_free(), whatever is
 * returned. */
static enum provider_outcome open_answer(const struct fetch_answer *answer, int provider,
                                         enum meaning_endpoint endpoint, struct json_node *top,
                                         const char **why)
{
    const char *unreadable = NULL;
    bool is_parsed = parse(answer, top, &unreadable);
    enum provider_outcome outcome = meaning_of(provider, endpoint, answer, top, why);

    if (outcome != PROVIDER_ANSWERED || is_parsed)
        return outcome;
    *why = unreadable;
    return PROVIDER_AWAY;
}

/* ---- the token ---- */

static enum provider_outcome read_token(const struct json_node *top, struct arena *arena,
                                        struct provider_tokens *tokens, const char **why)
{
    struct json_node type_member = json_member(top, "token_type");
    struct text type = text_member(top, "token_type");
    struct text access = text_member(top, "access_token");
    struct text refresh = text_member(top, "refresh_token");

    *why = "the answer has no bearer token";
    /* LinkedIn leaves the type out. */
    if (json_given(&type_member) &&
        !(type.s && type.len == 6 && strncasecmp(type.s, "bearer", 6) == 0))
        return PROVIDER_AWAY;
    if (!is_visible(access, TOKEN_MAX))
        return PROVIDER_AWAY;
    *why = out_of_memory;
    *tokens = (struct provider_tokens){.access = {.s = NULL}};
    if (!hold_text(arena, access, &tokens->access) ||
        (is_visible(refresh, REFRESH_MAX) && !hold_text(arena, refresh, &tokens->refresh)))
        return PROVIDER_AWAY;
    return PROVIDER_ANSWERED;
}

enum provider_outcome provider_answer_token(const struct fetch_answer *answer, int provider,
                                            struct arena *arena, struct provider_tokens *tokens,
                                            const char **why)
{
    struct json_node top;
    enum provider_outcome outcome = open_answer(answer, provider, MEANING_TOKEN, &top, why);

    if (outcome == PROVIDER_ANSWERED)
        outcome = read_token(&top, arena, tokens, why);
    json_free(&top);
    return outcome;
}

/* ---- lists ---- */

/* Makes room for one more.  Returns false if memory runs out. */
static bool make_list_room(struct provider_answer_texts *texts)
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
static bool add_text(struct provider_answer_texts *texts, struct text value, bool is_first)
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

/* Returns whether a text is an address.  Its local part may have any letters (RFC 6531), but no
 * controls and no blanks: it goes into a header. */
static bool is_address(struct text email)
{
    const char *at = email.s ? memchr(email.s, '@', email.len) : NULL;
    size_t local_len = at ? (size_t)(at - email.s) : 0;
    const char *no_matter;
    size_t len;

    if (local_len < 1 || local_len > EMAIL_LOCAL_MAX)
        return false;
    for (size_t i = 0; i < local_len; i += len) {
        uint32_t point = utf8_decode((const unsigned char *)email.s + i, &len);

        if (utf8_is_control(point) || point == ' ' || point == 0xA0)
            return false;
    }
    return domain_valid(text_part(email, local_len + 1, email.len), &no_matter);
}

static bool add_email(struct provider_answer_texts *texts, const struct json_node *entry)
{
    struct text email = text_member(entry, "email");

    if (!holds_true(entry, "verified") || !is_address(email))
        return true;
    return add_text(texts, email, holds_true(entry, "primary"));
}

static bool is_slug(struct text value)
{
    return text_present(value) && is_visible(value, SLUG_MAX) && !memchr(value.s, '/', value.len);
}

static bool add_organization(struct provider_answer_texts *texts, const struct json_node *entry)
{
    struct text slug = text_member(entry, "login");

    return !is_slug(slug) || add_text(texts, slug, false);
}

static bool holds_slug(const struct text_list *list, struct text value)
{
    for (size_t i = 0; i < list->n; i++) {
        if (text_eq(list->items[i], value))
            return true;
    }
    return false;
}

/* Many teams may have the same one above them. */
static bool add_slug(struct provider_answer_texts *texts, struct text owner, struct text slug,
                     bool is_above)
{
    char team[2 * SLUG_MAX + 1];
    struct text whole = {.s = team, .len = owner.len + 1 + slug.len};

    memcpy(team, owner.s, owner.len);
    team[owner.len] = '/';
    memcpy(team + owner.len + 1, slug.s, slug.len);
    return (is_above && holds_slug(&texts->list, whole)) || add_text(texts, whole, false);
}

/* Adds a team, and the teams above it, of which it is a part.  GitHub names the one that is next
 * above; one that names more is followed. */
static bool add_team(struct provider_answer_texts *texts, const struct json_node *entry)
{
    struct json_node organization = json_member(entry, "organization");
    struct text owner = text_member(&organization, "login");
    struct json_node levels[TEAM_LEVELS_MAX];
    struct text slug = text_member(entry, "slug");

    if (!is_slug(owner))
        return true;
    for (size_t i = 0; is_slug(slug); i++) {
        if (!add_slug(texts, owner, slug, i > 0))
            return false;
        if (i == TEAM_LEVELS_MAX)
            break;
        levels[i] = json_member(i > 0 ? &levels[i - 1] : entry, "parent");
        slug = text_member(&levels[i], "slug");
    }
    return true;
}

static enum provider_outcome
take_page(const struct fetch_answer *answer, int provider, struct provider_answer_texts *texts,
          bool (*add)(struct provider_answer_texts *texts, const struct json_node *entry),
          const char **why)
{
    struct json_node top;
    enum provider_outcome outcome = open_answer(answer, provider, MEANING_LIST, &top, why);

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

enum provider_outcome provider_answer_emails(const struct fetch_answer *answer, int provider,
                                             struct provider_answer_texts *texts, const char **why)
{
    return take_page(answer, provider, texts, add_email, why);
}

enum provider_outcome provider_answer_organizations(const struct fetch_answer *answer, int provider,
                                                    struct provider_answer_texts *texts,
                                                    const char **why)
{
    return take_page(answer, provider, texts, add_organization, why);
}

enum provider_outcome provider_answer_teams(const struct fetch_answer *answer, int provider,
                                            struct provider_answer_texts *texts, const char **why)
{
    return take_page(answer, provider, texts, add_team, why);
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

/* Microsoft writes the claim as a boolean, as a number and as a text. */
static bool holds_edov(const struct json_node *top)
{
    struct text word = id_member(top, "xms_edov");

    return holds_true(top, "xms_edov") || text_eq(word, text_of("1"));
}

static bool is_email_verified(const struct json_node *top, const struct provider_answerer *who)
{
    switch (who->row->emails) {
    case PROVIDER_EMAILS_VERIFIED:
    case PROVIDER_EMAILS_HOSTED:
        return holds_true(top, "email_verified");
    case PROVIDER_EMAILS_TENANT:
        return who->has_own_tenant || holds_edov(top);
    case PROVIDER_EMAILS_NONE:
    case PROVIDER_EMAILS_LIST:
        break;
    }
    return false;
}

static bool equals_domain(struct text address, struct text domain)
{
    const char *at = memchr(address.s, '@', address.len);
    struct text own = text_part(address, (size_t)(at - address.s) + 1, address.len);

    return own.len == domain.len && strncasecmp(own.s, domain.s, own.len) == 0;
}

/* Returns whether the address says to whose people the visitor belongs.  "hd" is the organization
 * that manages a Google account; Google itself answers for gmail.com. */
static bool proves_domain(const struct json_node *top, enum provider_emails emails,
                          struct text address)
{
    struct text hosted = text_member(top, "hd");

    return emails != PROVIDER_EMAILS_HOSTED || equals_domain(address, text_of("gmail.com")) ||
           (text_present(hosted) && equals_domain(address, hosted));
}

/* Returns false if memory runs out. */
static bool read_email(const struct json_node *top, struct arena *arena, struct text_list *emails)
{
    struct provider_answer_texts texts = {.arena = arena};
    struct text email = text_member(top, "email");

    if (!is_address(email))
        return true;
    if (!add_text(&texts, email, true))
        return false;
    *emails = texts.list;
    return true;
}

static enum provider_outcome read_user(const struct json_node *top,
                                       const struct identity_provider *provider,
                                       struct arena *arena, struct identity *identity,
                                       const char **why)
{
    struct text subject = id_member(top, provider->subject_member);
    struct text name = text_member(top, provider->name_member);

    *why = "the answer names no user";
    if (!is_visible(subject, SUBJECT_MAX))
        return PROVIDER_AWAY;
    *why = out_of_memory;
    if (!hold_text(arena, subject, &identity->subject) ||
        (is_user_name(name) && !hold_text(arena, name, &identity->name)))
        return PROVIDER_AWAY;
    return PROVIDER_ANSWERED;
}

enum provider_outcome provider_answer_user(const struct fetch_answer *answer,
                                           const struct provider_answerer *who, struct arena *arena,
                                           struct identity *identity, const char **why)
{
    struct json_node top;
    enum provider_outcome outcome = open_answer(answer, who->provider, MEANING_USER, &top, why);

    *identity = (struct identity){.known = IDENTITY_DOMAINS};
    if (outcome == PROVIDER_ANSWERED)
        outcome = read_user(&top, who->row, arena, identity, why);
    if (outcome == PROVIDER_ANSWERED && is_email_verified(&top, who) &&
        !read_email(&top, arena, &identity->emails)) {
        *why = out_of_memory;
        outcome = PROVIDER_AWAY;
    }
    if (outcome == PROVIDER_ANSWERED && identity->emails.n > 0 &&
        !proves_domain(&top, who->row->emails, identity->emails.items[0]))
        identity->known &= ~(unsigned)IDENTITY_DOMAINS;
    json_free(&top);
    return outcome;
}
