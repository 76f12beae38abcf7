/* SPDX-License-Identifier: MIT */
/* Whom an OAuth module lets in. */
#include "model/oauth_admission.h"

#include "json/write.h"

/* What a list needs to be told of a visitor, and where it is in the module. */
static const struct {
    const char *name;
    enum identity_provider_part part;
    size_t offset;
} list_table[OAUTH_N_LISTS] = {
    [OAUTH_LIST_EMAIL_ADDRESSES] = {"email_addresses", IDENTITY_PROVIDER_EMAILS,
                                    offsetof(struct oauth_provider, email_addresses)},
    [OAUTH_LIST_EMAIL_DOMAINS] = {"email_domains", IDENTITY_PROVIDER_EMAILS,
                                  offsetof(struct oauth_provider, email_domains)},
    [OAUTH_LIST_TEAMS] = {"teams", IDENTITY_PROVIDER_TEAMS, offsetof(struct oauth_provider, teams)},
    [OAUTH_LIST_ORGANIZATIONS] = {"organizations", IDENTITY_PROVIDER_ORGANIZATIONS,
                                  offsetof(struct oauth_provider, organizations)},
};

static const char *const flaw_words[] = {
    [OAUTH_FLAW_NONE] = "",
    [OAUTH_FLAW_NO_PROVIDER] = "no_provider",
    [OAUTH_FLAW_NO_APPLICATION] = "no_application",
    [OAUTH_FLAW_UNVERIFIED] = "unverified",
    [OAUTH_FLAW_NO_TEAMS] = "no_teams",
    [OAUTH_FLAW_SCOPE] = "scope",
};

static const struct text_list *list_of(const struct oauth_provider *config, size_t i)
{
    return (const struct text_list *)(const void *)((const char *)config + list_table[i].offset);
}

bool oauth_lists_are_empty(const struct oauth_provider *config)
{
    for (size_t i = 0; i < OAUTH_N_LISTS; i++) {
        if (list_of(config, i)->n > 0)
            return false;
    }
    return true;
}

/* ---- judging ---- */

static enum oauth_flaw flaw_of_module(const struct oauth_module *module,
                                      enum oauth_application application)
{
    if (module->provider == 0)
        return OAUTH_FLAW_NO_PROVIDER;
    if (!module->config.client_id.s && application == OAUTH_APPLICATION_MISSING)
        return OAUTH_FLAW_NO_APPLICATION;
    if (!identity_provider_tells(module->provider, IDENTITY_PROVIDER_USER, &module->config.scopes))
        return OAUTH_FLAW_SCOPE;
    return OAUTH_FLAW_NONE;
}

static enum oauth_flaw flaw_of_list(const struct oauth_module *module,
                                    enum identity_provider_part part)
{
    if (identity_provider_tells(module->provider, part, &module->config.scopes))
        return OAUTH_FLAW_NONE;
    if (identity_provider_at(module->provider)->needed[part])
        return OAUTH_FLAW_SCOPE;
    return part == IDENTITY_PROVIDER_EMAILS ? OAUTH_FLAW_UNVERIFIED : OAUTH_FLAW_NO_TEAMS;
}

void oauth_admission_find(const struct oauth_module *module, enum oauth_application application,
                          struct oauth_admission *admission)
{
    bool is_listed = false;

    *admission =
        (struct oauth_admission){.whom = OAUTH_ADMITS_EVERYBODY, .provider = module->provider};
    if (!module->enabled)
        return;
    admission->whom = OAUTH_ADMITS_NOBODY;
    admission->flaw = flaw_of_module(module, application);
    for (size_t i = 0; module->provider > 0 && i < OAUTH_N_LISTS; i++) {
        if (list_of(&module->config, i)->n == 0)
            continue;
        admission->lists[i].is_given = true;
        admission->lists[i].flaw = flaw_of_list(module, list_table[i].part);
        is_listed = is_listed || admission->lists[i].flaw == OAUTH_FLAW_NONE;
    }
    if (admission->flaw != OAUTH_FLAW_NONE)
        return;
    if (oauth_lists_are_empty(&module->config))
        admission->whom = OAUTH_ADMITS_ANYONE;
    else if (is_listed)
        admission->whom = OAUTH_ADMITS_LISTED;
}

bool oauth_admission_has_flaw(const struct oauth_admission *admission)
{
    bool has_one = admission->flaw != OAUTH_FLAW_NONE;

    for (size_t i = 0; i < OAUTH_N_LISTS; i++)
        has_one = has_one || admission->lists[i].flaw != OAUTH_FLAW_NONE;
    return has_one;
}

const char *oauth_admitted_word(enum oauth_admitted whom)
{
    static const char *const words[] = {
        [OAUTH_ADMITS_NOBODY] = "nobody",
        [OAUTH_ADMITS_LISTED] = "listed",
        [OAUTH_ADMITS_ANYONE] = "anyone",
        [OAUTH_ADMITS_EVERYBODY] = "everybody",
    };

    return words[whom];
}

/* ---- in words ---- */

static void say_flaw(struct buf *out, const struct oauth_admission *admission, enum oauth_flaw flaw,
                     enum identity_provider_part part)
{
    /* Without a provider, no flaw names one. */
    const struct identity_provider *provider =
        identity_provider_at(admission->provider > 0 ? admission->provider : 1);
    struct text words;
    struct text word;
    const char *comma = "";

    switch (flaw) {
    case OAUTH_FLAW_NONE:
        break;
    case OAUTH_FLAW_NO_PROVIDER:
        buf_puts(out, "the module is enabled without a provider");
        break;
    case OAUTH_FLAW_NO_APPLICATION:
        buf_puts(out, "the module has no client_id");
        break;
    case OAUTH_FLAW_UNVERIFIED:
        buf_printf(out, "%s verifies no addresses", provider->title);
        break;
    case OAUTH_FLAW_NO_TEAMS:
        buf_printf(out, "%s has no teams and organizations", provider->title);
        break;
    case OAUTH_FLAW_SCOPE:
        words = text_of(provider->needed[part]);
        buf_puts(out, "the module's scopes have none of these: ");
        while ((word = text_next_word(&words)).s) {
            buf_puts(out, comma);
            buf_add(out, word.s, word.len);
            comma = ", ";
        }
        break;
    }
}

/* Appends the names of the lists with that flaw of that part, and returns how many there are. */
static size_t name_lists(struct buf *out, const struct oauth_admission *admission,
                         enum oauth_flaw flaw, enum identity_provider_part part)
{
    size_t n = 0;

    for (size_t i = 0; i < OAUTH_N_LISTS; i++) {
        if (!admission->lists[i].is_given || admission->lists[i].flaw != flaw ||
            (flaw != OAUTH_FLAW_NONE && list_table[i].part != part))
            continue;
        buf_printf(out, "%s%s", n++ ? ", " : "", list_table[i].name);
    }
    return n;
}

/* Lists of one part have one flaw.  n: sentences before. */
static void say_flaws_of_lists(struct buf *out, const struct oauth_admission *admission, size_t n)
{
    for (enum identity_provider_part part = IDENTITY_PROVIDER_EMAILS;
         part < IDENTITY_PROVIDER_N_PARTS; part++) {
        for (enum oauth_flaw flaw = OAUTH_FLAW_UNVERIFIED; flaw <= OAUTH_FLAW_SCOPE; flaw++) {
            struct buf names = {0};

            if (name_lists(&names, admission, flaw, part) > 0) {
                buf_puts(out, n++ ? "; " : "");
                buf_printf(out, "nobody passes by %s: ", buf_text(&names).s);
                say_flaw(out, admission, flaw, part);
            }
            out->failed = out->failed || names.failed;
            buf_free(&names);
        }
    }
}

void oauth_admission_say(struct buf *out, const struct oauth_admission *admission)
{
    switch (admission->whom) {
    case OAUTH_ADMITS_EVERYBODY:
        buf_puts(out, "everybody passes: the module is disabled");
        break;
    case OAUTH_ADMITS_ANYONE:
        buf_printf(out, "anyone with an account at %s passes",
                   identity_provider_at(admission->provider)->title);
        break;
    case OAUTH_ADMITS_LISTED:
        buf_puts(out, "visitors pass by ");
        name_lists(out, admission, OAUTH_FLAW_NONE, IDENTITY_PROVIDER_USER);
        say_flaws_of_lists(out, admission, 1);
        break;
    case OAUTH_ADMITS_NOBODY:
        if (admission->flaw == OAUTH_FLAW_NONE) {
            say_flaws_of_lists(out, admission, 0);
            break;
        }
        buf_puts(out, admission->flaw == OAUTH_FLAW_NO_PROVIDER ? "nobody passes: "
                                                                : "nobody can sign in: ");
        say_flaw(out, admission, admission->flaw, IDENTITY_PROVIDER_USER);
        break;
    }
}

/* ---- as JSON ---- */

static void write_flaw(struct buf *out, const char *list, enum oauth_flaw flaw)
{
    if (flaw == OAUTH_FLAW_NONE)
        return;
    json_open(out, '{');
    json_put_member(out, "list", text_of(list));
    json_put_member(out, "why", text_of(flaw_words[flaw]));
    json_close(out, '}');
}

void oauth_admission_write(struct buf *out, const struct oauth_admission *admission)
{
    struct buf text = {0};

    oauth_admission_say(&text, admission);
    out->failed = out->failed || text.failed;
    json_open(out, '{');
    json_put_member(out, "whom", text_of(oauth_admitted_word(admission->whom)));
    json_put_name(out, "lists");
    json_open(out, '[');
    for (size_t i = 0; admission->whom == OAUTH_ADMITS_LISTED && i < OAUTH_N_LISTS; i++) {
        if (admission->lists[i].is_given && admission->lists[i].flaw == OAUTH_FLAW_NONE)
            json_put_text(out, text_of(list_table[i].name));
    }
    json_close(out, ']');
    json_put_name(out, "flaws");
    json_open(out, '[');
    write_flaw(out, NULL, admission->flaw);
    for (size_t i = 0; i < OAUTH_N_LISTS; i++)
        write_flaw(out, list_table[i].name, admission->lists[i].flaw);
    json_close(out, ']');
    json_put_member(out, "text", buf_text(&text));
    json_close(out, '}');
    buf_free(&text);
}
