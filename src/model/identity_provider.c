/* SPDX-License-Identifier: MIT */
/* The table of identity providers. */
#include "model/identity_provider.h"

#include "base/ascii.h"

#define NEVER '-'
#define OR_NULL(words) ((words)[0] == NEVER ? NULL : (words))

#define IDENTITY_PROVIDER(position, title_, scopes_, team, user, email, organization, group)       \
    [(position) -                                                                                  \
        1] = {.title = (title_),                                                                   \
              .scopes = (scopes_),                                                                 \
              .team_scopes = OR_NULL(team),                                                        \
              .needed = {OR_NULL(user), OR_NULL(email), OR_NULL(organization), OR_NULL(group)}},
static const struct identity_provider table[OAUTH_N_PROVIDERS] = {
#include "model/identity_provider_table.h"
};
#undef IDENTITY_PROVIDER

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
    return table[position - 1].needed[IDENTITY_PROVIDER_EMAILS] != NULL;
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
