/* SPDX-License-Identifier: MIT */
/* The table of identity providers. */
#include "model/identity_provider.h"

#include "base/ascii.h"

#define HAS_TEAMS(scopes_, organizations, teams)                                                   \
    .has_teams = true, .team_scopes = (scopes_),                                                   \
    .needed[IDENTITY_PROVIDER_ORGANIZATIONS] = (organizations),                                    \
    .needed[IDENTITY_PROVIDER_TEAMS] = (teams)
#define HAS_NO_TEAMS .has_teams = false
#define SCOPES(scopes_, users) .scopes = (scopes_), .needed[IDENTITY_PROVIDER_USER] = (users)
#define VERIFIES(how, emails_) .emails = (how), .needed[IDENTITY_PROVIDER_EMAILS] = (emails_)

#define IDENTITY_PROVIDER(symbol, name_, title_, ...)                                              \
    [PROVIDER_##symbol - 1] = {.name = (name_), .title = (title_), __VA_ARGS__},
static const struct identity_provider table[OAUTH_N_PROVIDERS] = {
#include "model/provider_table.h"
};
#undef IDENTITY_PROVIDER

int identity_provider_stored(int64_t position)
{
    return position > 0 && position <= OAUTH_N_PROVIDERS ? (int)position : 0;
}

const struct identity_provider *identity_provider_at(int position)
{
    return &table[position - 1];
}

static bool is_called(const char *title, struct text word)
{
    size_t len = strlen(title);

    if (!word.s || word.len != len)
        return false;
    for (size_t i = 0; i < len; i++) {
        if (ascii_lower(word.s[i]) != ascii_lower(title[i]))
            return false;
    }
    return true;
}

int identity_provider_called(struct text title)
{
    for (int position = 1; position <= OAUTH_N_PROVIDERS; position++) {
        if (is_called(table[position - 1].title, title))
            return position;
    }
    return 0;
}

bool identity_provider_verifies(int position)
{
    return table[position - 1].emails != PROVIDER_EMAILS_NONE;
}

static bool is_one_of(struct text words, struct text wanted)
{
    struct text word;

    while ((word = text_next_word(&words)).s) {
        if (text_eq(word, wanted))
            return true;
    }
    return false;
}

bool identity_provider_tells(int position, enum identity_provider_part part,
                             const struct text_list *scopes)
{
    const char *needed = table[position - 1].needed[part];

    if (!needed || !needed[0] || scopes->n == 0)
        return needed != NULL;
    for (size_t i = 0; i < scopes->n; i++) {
        struct text rest = scopes->items[i];
        struct text scope;

        while ((scope = text_next_word(&rest)).s) {
            if (is_one_of(text_of(needed), scope))
                return true;
        }
    }
    return false;
}

void identity_provider_write(struct buf *out, const char *name, int position)
{
    const char *title = table[position - 1].title;

    buf_puts(out, name);
    if (!is_called(title, text_of(name)))
        buf_printf(out, " (%s)", title);
}
