/* SPDX-License-Identifier: MIT */
/* OAuth modules. */
#include "model/oauth_module.h"

#include <string.h>

#include "base/ascii.h"
#include "json/write.h"
#include "model/domain.h"

#define COOKIE_PREFIX_MAX 100
#define EMAIL_LOCAL_MAX 64

/* ---- fields ---- */

static bool all_visible(struct text value)
{
    for (size_t i = 0; i < value.len; i++) {
        if (!ascii_is_visible(value.s[i]))
            return false;
    }
    return true;
}

bool oauth_email_address_valid(struct text value, const char **why)
{
    const char *at = memchr(value.s, '@', value.len);
    size_t local_len = at ? (size_t)(at - value.s) : 0;

    *why = "an address is <local part>@<domain>, with one '@' and without spaces";
    if (!at || memchr(at + 1, '@', value.len - local_len - 1) || !all_visible(value))
        return false;
    if (local_len < 1 || local_len > EMAIL_LOCAL_MAX) {
        *why = "the part before '@' must have 1 to 64 bytes; a whole domain is an entry of "
               "email_domains";
        return false;
    }
    return domain_valid((struct text){.s = at + 1, .len = value.len - local_len - 1}, why);
}

static bool email_domain_valid(struct text value, const char **why)
{
    if (domain_valid(value, why))
        return true;
    if (text_begins(value, "@"))
        *why = "an e-mail domain is written example.org, without '@'";
    else if (memchr(value.s, '@', value.len))
        *why = "an e-mail domain is written example.org; an address is an entry of email_addresses";
    else if (text_begins(value, "*"))
        *why = "an e-mail domain is written example.org, without '*'; give each subdomain too";
    return false;
}

static bool team_valid(struct text value, const char **why)
{
    const char *slash = memchr(value.s, '/', value.len);

    *why = "a team is <org>/<team>, two slugs without spaces";
    if (text_begins(value, "@")) {
        *why = "a team is <org>/<team>, without the '@' of a mention";
        return false;
    }
    if (!slash || slash == value.s || slash == value.s + value.len - 1 || !all_visible(value))
        return false;
    return !memchr(slash + 1, '/', value.len - (size_t)(slash + 1 - value.s));
}

static bool organization_valid(struct text value, const char **why)
{
    *why = "an organization is its slug, without the '@' of a mention";
    return !text_begins(value, "@");
}

/* A token of RFC 9110, 5.6.2: RFC 6265 requires one as the name of a cookie. */
static bool cookie_prefix_valid(struct text value, const char **why)
{
    *why = "the name of a cookie may contain letters, digits and !#$%&'*+-.^_`|~";
    for (size_t i = 0; i < value.len; i++) {
        if (!ascii_is_visible(value.s[i]) || strchr("\"(),/:;<=>?@[\\]{}", value.s[i]))
            return false;
    }
    return true;
}

/* clang-format off */

/* A row of the provider, counted from the module. */
#define MEMBER_OF_CONFIG(type, name, kind, use, fixed, shown, filter, ...)                         \
    MEMBER_ROW_AT(type, config.name, name, kind, use, shown, __VA_ARGS__)

const struct field oauth_module_members[] = {
    OAUTH_MODULE_MEMBERS(MEMBER_READ, MEMBER_OF_CONFIG, oauth_module)
};

const struct field oauth_module_fields[] = {
    MODULE_WRAPPER_ROWS,
    OAUTH_MODULE_MEMBERS(MEMBER_IN_POST, MEMBER_NOT, oauth_module)
};

const struct field oauth_provider_fields[] = {
    OAUTH_MODULE_MEMBERS(MEMBER_NOT, MEMBER_IN_POST, oauth_provider)
};

/* clang-format on */

#define N_ROWS(table) (sizeof(table) / sizeof(table)[0])

const size_t oauth_module_n_members = N_ROWS(oauth_module_members);
const size_t oauth_module_n_fields = N_ROWS(oauth_module_fields);
const size_t oauth_provider_n_fields = N_ROWS(oauth_provider_fields);

size_t oauth_provider_n_fields_of(int position)
{
    return oauth_provider_n_fields -
           (identity_provider_at(position)->has_teams ? 0 : OAUTH_N_HOSTING_FIELDS);
}

bool oauth_provider_name_valid(struct text name)
{
    if (!name.s || name.len < 1 || name.len > 32 || !ascii_is_lower(name.s[0]))
        return false;
    for (size_t i = 1; i < name.len; i++) {
        char c = name.s[i];

        if (!ascii_is_lower(c) && !ascii_is_digit(c) && c != '_')
            return false;
    }
    return true;
}

/* ---- reading ---- */

static void drop_empty(struct text *value)
{
    if (value->len == 0)
        *value = (struct text){0};
}

static bool has_content(const struct oauth_provider *config)
{
    return fields_any(oauth_provider_fields, oauth_provider_n_fields, config);
}

static bool read_config(const struct json_node *node, int provider,
                        const struct field_reader *reader, struct oauth_provider *config,
                        struct error *err)
{
    size_t n_fields = oauth_provider_n_fields_of(provider);

    if (!fields_known(node, oauth_provider_fields, n_fields, err) ||
        !fields_read(node, oauth_provider_fields, n_fields, config, reader, err))
        return false;
    drop_empty(&config->client_id);
    drop_empty(&config->client_secret.plain);
    return true;
}

/* An app needs both of its credentials or neither, and scopes need both. */
static bool check_credentials(const struct json_node *node, const struct oauth_provider *config,
                              struct error *err)
{
    enum error_code code = ERR_NONE;
    struct json_node missing;
    char path[JSON_PATH_SIZE];

    if (config->client_id.s && !config->client_secret.plain.s) {
        code = ERR_CLIENT_SECRET_MISSING;
        missing = json_member(node, "client_secret");
    } else if (config->client_secret.plain.s && !config->client_id.s) {
        code = ERR_CLIENT_ID_MISSING;
        missing = json_member(node, "client_id");
    } else if (config->scopes.n > 0 && !config->client_id.s) {
        code = ERR_SCOPES_MANAGED;
        missing = json_member(node, "scopes");
    } else {
        return true;
    }
    return error_field(err, code, json_path(path, &missing, -1), "%s", error_row(code)->text);
}

/* Else a caller could store what nobody reads back. */
static bool check_entries(const struct json_node *node, const struct oauth_provider *config,
                          struct error *err)
{
    size_t n = 0;

    for (size_t i = 0; i < oauth_provider_n_fields; i++) {
        const struct field *field = &oauth_provider_fields[i];
        struct json_node list = json_member(node, field->name);
        char path[JSON_PATH_SIZE];

        if (field->kind != FIELD_TEXTS)
            continue;
        n += ((const struct text_list *)(const void *)((const char *)config + field->offset))->n;
        if (n > OAUTH_MAX_ENTRIES)
            return error_field(err, field->too_many, json_path(path, &list, -1),
                               "%s ends beyond the %d entries that the lists of a provider may "
                               "have together.",
                               path, OAUTH_MAX_ENTRIES);
    }
    return true;
}

/* The providers in a body, and their configurations. */
struct candidates {
    struct json_node nodes[OAUTH_N_PROVIDERS];
    struct oauth_provider configs[OAUTH_N_PROVIDERS];
    int n_given;
    int n_with_content;
    int given; /* position of the last one; so is with_content */
    int with_content;
};

static bool several(const struct candidates *candidates, const struct json_node *provider,
                    const struct oauth_names *names, struct error *err)
{
    char path[JSON_PATH_SIZE];
    struct buf list = {0};

    for (int i = 0; i < OAUTH_N_PROVIDERS; i++) {
        if (!has_content(&candidates->configs[i]))
            continue;
        buf_puts(&list, list.len > 0 ? ", " : "");
        identity_provider_write(&list, names->providers[i], i + 1);
    }
    if (list.failed)
        error_set(err, ERR_OUT_OF_MEMORY);
    else
        error_field(err, ERR_PROVIDERS_SEVERAL, json_path(path, provider, -1),
                    "More than one identity provider is given: %s. Give one.", list.data);
    buf_free(&list);
    return false;
}

/* A single member selects its provider even if it is empty.  Of several members, clients send all
 * but one empty. */
static bool select_provider(const struct candidates *candidates, const struct json_node *provider,
                            const struct oauth_names *names, struct oauth_module *module,
                            struct error *err)
{
    int chosen = candidates->n_given == 1 ? candidates->given : candidates->with_content;

    if (candidates->n_with_content > 1)
        return several(candidates, provider, names, err);
    if (chosen == 0)
        return true;
    module->provider = chosen;
    module->config = candidates->configs[chosen - 1];
    return check_credentials(&candidates->nodes[chosen - 1], &module->config, err) &&
           check_entries(&candidates->nodes[chosen - 1], &module->config, err);
}

int oauth_names_find(const struct oauth_names *names, struct text word)
{
    for (int position = 1; position <= OAUTH_N_PROVIDERS; position++) {
        if (text_eq(word, text_of(names->providers[position - 1])))
            return position;
    }
    return 0;
}

/* A name in place of the object is told where it goes. */
static bool refuse_text(const struct json_node *provider, const struct oauth_names *names,
                        struct text word, struct error *err)
{
    int named = oauth_names_find(names, word);
    int position = named > 0 ? named : identity_provider_called(word);
    char path[JSON_PATH_SIZE];
    struct buf name = {0};

    if (position == 0)
        return json_is_object(provider, err);
    json_path(path, provider, -1);
    identity_provider_write(&name, names->providers[position - 1], position);
    if (name.failed)
        error_set(err, ERR_OUT_OF_MEMORY);
    else
        error_field(err, ERR_WRONG_VALUE, path,
                    "%s must be an object, with the member %s: {\"%s\": {}}.", path, name.data,
                    names->providers[position - 1]);
    buf_free(&name);
    return false;
}

static bool check_provider_names(const struct json_node *provider, const struct oauth_names *names,
                                 struct error *err)
{
    struct field rows[OAUTH_N_PROVIDERS];
    struct text word = {0};
    struct error ignored;

    if (json_get_text(provider, &word, &ignored) && word.s)
        return refuse_text(provider, names, word, err);

    for (int i = 0; i < OAUTH_N_PROVIDERS; i++)
        rows[i] =
            (struct field){.name = names->providers[i], .provider = i + 1, .kind = FIELD_OBJECT};
    return fields_known(provider, rows, OAUTH_N_PROVIDERS, err);
}

static bool read_provider(const struct json_node *provider, const struct oauth_names *names,
                          const struct field_reader *reader, struct oauth_module *module,
                          struct error *err)
{
    struct candidates candidates = {.n_given = 0};

    if (!json_given(provider))
        return true;
    if (!check_provider_names(provider, names, err))
        return false;
    for (int i = 0; i < OAUTH_N_PROVIDERS; i++) {
        struct json_node *node = &candidates.nodes[i];

        *node = json_member(provider, names->providers[i]);
        if (!json_given(node))
            continue;
        if (!read_config(node, i + 1, reader, &candidates.configs[i], err))
            return false;
        candidates.n_given++;
        candidates.given = i + 1;
        if (has_content(&candidates.configs[i])) {
            candidates.n_with_content++;
            candidates.with_content = i + 1;
        }
    }
    return select_provider(&candidates, provider, names, module, err);
}

bool oauth_module_read(const struct json_node *body, const struct module_place *place,
                       const struct oauth_names *names, const struct field_reader *reader,
                       struct oauth_module *module, struct error *err)
{
    struct json_node inner;
    struct json_node provider;

    *module = (struct oauth_module){.provider = 0};
    fields_fill(oauth_module_fields, oauth_module_n_fields, module);
    if (!module_find(body, place, oauth_module_fields, oauth_module_n_fields, &inner, err) ||
        !fields_read(&inner, oauth_module_fields + MODULE_N_WRAPPER_ROWS,
                     oauth_module_n_fields - MODULE_N_WRAPPER_ROWS, module, reader, err))
        return false;
    provider = json_member(&inner, "provider");
    if (!read_provider(&provider, names, reader, module, err))
        return false;
    if (text_eq(module->cookie_prefix, text_of(names->cookie_prefix)))
        module->cookie_prefix = (struct text){0};
    drop_empty(&module->cookie_prefix);
    return true;
}

/* ---- writing ---- */

static void write_config(struct buf *out, const struct oauth_provider *config, int provider)
{
    json_open(out, '{');
    for (size_t i = 0; i < oauth_provider_n_fields_of(provider); i++)
        field_write(out, &oauth_provider_fields[i],
                    (const char *)config + oauth_provider_fields[i].offset);
    json_close(out, '}');
}

static void write_provider(struct buf *out, const struct oauth_module *module,
                           const struct oauth_names *names)
{
    json_put_name(out, "provider");
    json_open(out, '{');
    for (int i = 0; i < OAUTH_N_PROVIDERS; i++) {
        json_put_name(out, names->providers[i]);
        if (module->provider == i + 1)
            write_config(out, &module->config, i + 1);
        else
            json_put_null(out);
    }
    json_close(out, '}');
}

void oauth_module_write_members(struct buf *out, const struct oauth_module *module,
                                const struct oauth_names *names)
{
    struct oauth_module shown = *module;

    if (!shown.cookie_prefix.s)
        shown.cookie_prefix = text_of(names->cookie_prefix);
    for (size_t i = MODULE_N_WRAPPER_ROWS; i < oauth_module_n_fields; i++) {
        const struct field *field = &oauth_module_fields[i];

        if (field->kind == FIELD_PROVIDER)
            write_provider(out, &shown, names);
        else
            field_write(out, field, (const char *)&shown + field->offset);
    }
}
