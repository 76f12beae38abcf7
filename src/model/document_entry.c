/* SPDX-License-Identifier: MIT */
/* The members of each kind of entry. */
#include "model/document_entry.h"

#include "base/ascii.h"
#include "base/ident.h"
#include "base/invisible.h"
#include "base/time.h"
#include "base/utf8.h"

#define N_ROWS(table) (sizeof(table) / sizeof(table)[0])

/* ---- checks of texts ---- */

static bool account_id_valid(struct text value, const char **why)
{
    *why = "the id of an account is ac_ and 27 letters or digits";
    return ident_assigned(value, IDENT_ACCOUNT);
}

static bool principal_id_valid(struct text value, const char **why)
{
    *why = "the id of a User is usr_, that of a Bot bot_, and 27 letters or digits";
    return ident_assigned(value, IDENT_USER) || ident_assigned(value, IDENT_BOT);
}

static bool credential_id_valid(struct text value, const char **why)
{
    *why = "the id of a credential is sshcr_ and 27 letters or digits";
    return ident_assigned(value, IDENT_CREDENTIAL);
}

/* As "aditctl user create", but the tables may have empty names. */
static bool owner_name_valid(struct text value, const char **why)
{
    *why = "a name has at most 255 bytes";
    if (value.len > DOCUMENT_NAME_MAX)
        return false;
    *why = "a name has no control characters, such as a line feed";
    if (utf8_find_control(value.s, value.len))
        return false;
    *why = "a name has a character that shows";
    return value.len == 0 || invisible_shows(value);
}

static bool time_valid(struct text value, const char **why)
{
    char again[TIME_SIZE];
    int64_t us;

    *why = "a time is in UTC and in whole seconds, such as 2026-01-31T23:59:59Z";
    return time_read(value, &us) && time_write(again, us / TIME_SECOND_US) &&
           text_eq(value, text_of(again));
}

static bool standing_valid(struct text value, const char **why)
{
    *why = "the standing is given, own or superseded";
    return text_eq(value, text_of(STANDING_GIVEN)) || text_eq(value, text_of(STANDING_OWN)) ||
           text_eq(value, text_of(STANDING_SUPERSEDED));
}

static bool variable_valid(struct text value, const char **why)
{
    *why = "the name of a variable has letters, digits and '_', and no digit first";
    for (size_t i = 0; i < value.len; i++) {
        if (!ascii_is_alnum(value.s[i]) && value.s[i] != '_')
            return false;
    }
    return value.len > 0 && !ascii_is_digit(value.s[0]);
}

static bool path_valid(struct text value, const char **why)
{
    *why = "the path of a file has 1 to 4095 bytes";
    return value.len >= 1 && value.len <= 4095;
}

static bool digest_valid(struct text value, const char **why)
{
    const char *colon = memchr(value.s, ':', value.len);

    *why = "a digest is what 'aditctl export' printed";
    if (!colon || colon == value.s || value.s + value.len - colon != 33)
        return false;
    for (const char *at = value.s; at < value.s + value.len; at++) {
        if (at < colon ? !ascii_is_alnum(*at) && !strchr("._-", *at)
                       : at > colon && ascii_hex_value(*at) < 0)
            return false;
    }
    return colon - value.s <= 64;
}

static bool missing(const char *name, const char *advice, struct error *err)
{
    return error_field(err, ERR_WRONG_VALUE, name, "%s is missing. %s", name, advice);
}

/* ---- accounts and principals ---- */

#define AT_ACCOUNT(member) .offset = offsetof(struct document_account, member)
#define AT_PRINCIPAL(member) .offset = offsetof(struct document_principal, member)

static const struct field account_fields[] = {{.name = "id",
                                               .kind = FIELD_TEXT,
                                               AT_ACCOUNT(id),
                                               .valid = account_id_valid,
                                               .invalid = ERR_WRONG_VALUE},
                                              {.name = "name",
                                               .kind = FIELD_TEXT,
                                               AT_ACCOUNT(name),
                                               .valid = owner_name_valid,
                                               .invalid = ERR_WRONG_VALUE},
                                              {.name = "owners",
                                               .kind = FIELD_TEXTS,
                                               AT_ACCOUNT(owners),
                                               .too_many = ERR_WRONG_VALUE,
                                               .repeated = ERR_WRONG_VALUE,
                                               .valid = principal_id_valid,
                                               .invalid = ERR_WRONG_VALUE},
                                              /* The reader takes these away. */
                                              {.name = "principals", .kind = FIELD_OBJECT},
                                              {.name = "ssh_credentials", .kind = FIELD_OBJECT},
#define LIST_OF_MODULES(with, NAME, name_, ...) {.name = #name_ "s", .kind = FIELD_OBJECT},
                                              MODULES(LIST_OF_MODULES, _)};

static const struct field principal_fields[] = {
    {.name = "id",
     .kind = FIELD_TEXT,
     AT_PRINCIPAL(id),
     .valid = principal_id_valid,
     .invalid = ERR_WRONG_VALUE},
    {.name = "name",
     .kind = FIELD_TEXT,
     AT_PRINCIPAL(name),
     .valid = owner_name_valid,
     .invalid = ERR_WRONG_VALUE},
    {.name = "is_admin", .kind = FIELD_BOOL, AT_PRINCIPAL(is_admin)},
    {.name = "is_disabled", .kind = FIELD_BOOL, AT_PRINCIPAL(is_disabled)},
};

static bool read_table(const struct json_node *top, const struct field *fields, size_t n_fields,
                       void *target, struct arena *arena, struct error *err)
{
    const struct field_reader reader = {.arena = arena};

    return fields_known(top, fields, n_fields, err) &&
           fields_read(top, fields, n_fields, target, &reader, err);
}

static bool read_principal_entry(const struct json_node *top, struct arena *arena,
                                 struct document_principal *principal, struct error *err)
{
    struct json_node admin;
    struct json_node disabled;

    *principal = (struct document_principal){.name = text_of(NULL)};
    if (!json_is_object(top, err))
        return false;
    admin = json_member(top, "is_admin");
    principal->has_admin = json_given(&admin);
    disabled = json_member(top, "is_disabled");
    principal->has_disabled = json_given(&disabled);
    return read_table(top, principal_fields, N_ROWS(principal_fields), principal, arena, err) &&
           (principal->id.s ||
            missing("id", "'aditctl user create' and 'aditctl bot create' print a new one.", err));
}

/* ---- credentials ---- */

/* The members of a POST, and these. */
static const struct field credential_fields[] = {
    {.name = "id",
     .kind = FIELD_TEXT,
     .offset = offsetof(struct document_credential, input.id),
     .valid = credential_id_valid,
     .invalid = ERR_WRONG_VALUE},
    {.name = "created_at",
     .kind = FIELD_TEXT,
     .offset = offsetof(struct document_credential, created_at),
     .valid = time_valid,
     .invalid = ERR_WRONG_VALUE},
    {.name = "standing",
     .kind = FIELD_TEXT,
     .offset = offsetof(struct document_credential, standing),
     .valid = standing_valid,
     .invalid = ERR_WRONG_VALUE},
};

#define MAX_FIELDS 16

/* Joins two tables.  Returns the number of rows, at most MAX_FIELDS. */
static size_t join(struct field rows[MAX_FIELDS], const struct field *first, size_t n_first,
                   const struct field *second, size_t n_second)
{
    size_t n = 0;

    for (size_t i = 0; i < n_first && n < MAX_FIELDS; i++)
        rows[n++] = first[i];
    for (size_t i = 0; i < n_second && n < MAX_FIELDS; i++)
        rows[n++] = second[i];
    return n;
}

/* A stored key goes by the id. */
static bool read_entry_key(const struct field_reader *reader, struct ssh_credential *input,
                           struct error *err)
{
    return ssh_credential_parse_key(input, reader->arena, err) ||
           (input->id.s && input->public_key.s && field_note_fault(reader, "public_key", err));
}

static bool read_credential_entry(const struct json_node *top, const struct field_reader *reader,
                                  struct document_credential *credential, struct error *err)
{
    const struct field_reader strict = {.arena = reader->arena};
    struct field rows[MAX_FIELDS];
    size_t n = join(rows, credential_fields, N_ROWS(credential_fields),
                    ssh_credential_create_fields, ssh_credential_n_create_fields);

    _Static_assert(offsetof(struct document_credential, input) == 0,
                   "the rows of a POST count from here");
    *credential = (struct document_credential){.input.fingerprint = text_of("")};
    fields_fill(ssh_credential_create_fields, ssh_credential_n_create_fields, credential);
    if (!fields_known(top, rows, n, err) ||
        !fields_read(top, credential_fields, N_ROWS(credential_fields), credential, &strict, err))
        return false;
    if (!credential->standing.s)
        credential->standing = text_of(STANDING_GIVEN);
    return fields_read(top, ssh_credential_create_fields, ssh_credential_n_create_fields,
                       credential, reader, err) &&
           read_entry_key(reader, &credential->input, err);
}

/* ---- client secrets ---- */

struct secret_members {
    struct text env;
    struct text file;
    struct text digest;
};

#define AT_SECRET(member) .offset = offsetof(struct secret_members, member)

static const struct field secret_fields[] = {
    {.name = "env",
     .kind = FIELD_TEXT,
     AT_SECRET(env),
     .valid = variable_valid,
     .invalid = ERR_WRONG_VALUE},
    {.name = "file",
     .kind = FIELD_TEXT,
     AT_SECRET(file),
     .valid = path_valid,
     .invalid = ERR_WRONG_VALUE},
    {.name = "digest",
     .kind = FIELD_TEXT,
     AT_SECRET(digest),
     .valid = digest_valid,
     .invalid = ERR_WRONG_VALUE},
};

/* The tree that the text belongs to is about to lose it. */
static bool keep_secret_text(struct text *text, struct arena *arena, struct error *err)
{
    if (text->s)
        text->s = arena_copy(arena, text->s, text->len);
    return text->s || text->len == 0 || error_set(err, ERR_OUT_OF_MEMORY);
}

static bool read_secret(const struct json_node *node, struct arena *arena,
                        struct document_secret *secret, struct error *err)
{
    struct secret_members members = {.env = {0}};
    struct text plain = {0};
    struct error not_text;
    char path[JSON_PATH_SIZE];

    json_path(path, node, -1);
    if (json_get_text(node, &plain, &not_text))
        return error_field(err, ERR_WRONG_VALUE, path,
                           "%s is text. Secrets do not belong into this file. Give {\"env\": "
                           "\"NAME\"} or {\"file\": \"PATH\"}.",
                           path);
    if (!read_table(node, secret_fields, N_ROWS(secret_fields), &members, arena, err))
        return false;
    if (members.env.s && members.file.s)
        return error_field(err, ERR_WRONG_VALUE, path, "%s has both env and file. Give one.", path);
    *secret = (struct document_secret){.name = members.env.s ? members.env : members.file,
                                       .digest = members.digest};
    if (members.env.s)
        secret->source = DOCUMENT_SECRET_ENV;
    else if (members.file.s)
        secret->source = DOCUMENT_SECRET_FILE;
    else if (members.digest.s)
        secret->source = DOCUMENT_SECRET_DIGEST;
    return keep_secret_text(&secret->name, arena, err) &&
           keep_secret_text(&secret->digest, arena, err);
}

/* Reads the client secret of a provider, and puts a text in its place: for the model, a secret is
 * given if it will be known later. */
static bool take_secret(const struct json_node *provider, struct arena *arena,
                        struct document_secret *secret, struct error *err)
{
    struct document_secret found = {.source = DOCUMENT_SECRET_NONE};
    struct json_node node = json_member(provider, "client_secret");
    struct json_node id_node = json_member(provider, "client_id");
    struct text client_id = {0};
    struct error ignored;

    if (json_given(&node) && !read_secret(&node, arena, &found, err))
        return false;
    if (found.source == DOCUMENT_SECRET_NONE && json_get_text(&id_node, &client_id, &ignored) &&
        text_present(client_id))
        found.source = DOCUMENT_SECRET_KEPT;
    if (found.source != DOCUMENT_SECRET_NONE)
        *secret = found;
    if (found.source == DOCUMENT_SECRET_NONE && !json_given(&node))
        return true;
    return json_set_text(provider, "client_secret",
                         found.source == DOCUMENT_SECRET_NONE ? "" : "elsewhere") ||
           error_set(err, ERR_OUT_OF_MEMORY);
}

/* Of several providers, the model accepts one that has anything in it. */
static bool take_secrets(const struct json_node *top, const struct oauth_names *names,
                         struct arena *arena, struct document_secret *secret, struct error *err)
{
    struct json_node provider = json_member(top, "provider");

    if (!json_given(&provider))
        return true;
    if (!json_is_object(&provider, err))
        return false;
    for (int i = 0; i < OAUTH_N_PROVIDERS; i++) {
        struct json_node node = json_member(&provider, names->providers[i]);

        if (json_given(&node) &&
            (!json_is_object(&node, err) || !take_secret(&node, arena, secret, err)))
            return false;
    }
    return true;
}

/* ---- modules ---- */

#define IDENTIFIER(name_, member)                                                                  \
    {.name = (name_),                                                                              \
     .kind = FIELD_TEXT,                                                                           \
     .offset = offsetof(struct document_module, member),                                           \
     .valid = field_ident_valid,                                                                   \
     .invalid = ERR_WRONG_VALUE}

static const struct field route_id_fields[] = {IDENTIFIER("edge_id", place.edge_id),
                                               IDENTIFIER("id", place.route_id)};
static const struct field edge_id_fields[] = {IDENTIFIER("id", place.edge_id)};

/* Unlike a PUT, an entry is flat. */
static bool check_members(const struct json_node *top, const struct field *ids, size_t n_ids,
                          const struct field *fields, size_t n_fields, struct error *err)
{
    struct field rows[MAX_FIELDS];
    size_t n =
        join(rows, ids, n_ids, fields + MODULE_N_WRAPPER_ROWS, n_fields - MODULE_N_WRAPPER_ROWS);

    return fields_known(top, rows, n, err);
}

static bool check_place(const struct resource_row *row, const struct module_place *place,
                        struct error *err)
{
    if (!row->of_route)
        return place->edge_id.s || missing("id", "Give the identifier of the edge.", err);
    return (place->edge_id.s && place->route_id.s) ||
           missing(place->edge_id.s ? "id" : "edge_id",
                   "Give the identifiers of the edge and the route.", err);
}

static bool read_module_entry(const struct json_node *top, const struct oauth_names *names,
                              const struct field_reader *fields, enum resource_kind kind,
                              struct document_module *module, struct error *err)
{
    const struct resource_reader reader = {
        .fields = fields, .place = &module->place, .names = names};
    const struct field_reader strict = {.arena = fields->arena};
    const struct resource_row *row = resource_row(kind);
    const struct field *ids = row->of_route ? route_id_fields : edge_id_fields;
    size_t n_ids = row->of_route ? N_ROWS(route_id_fields) : N_ROWS(edge_id_fields);

    *module = (struct document_module){.place = {.edge_id = {0}}};
    if (!check_members(top, ids, n_ids, row->fields, *row->n_fields, err) ||
        !fields_read(top, ids, n_ids, module, &strict, err) ||
        !check_place(row, &module->place, err))
        return false;
    if ((row->has_provider && !take_secrets(top, names, fields->arena, &module->secret, err)) ||
        !resource_read(kind, top, &reader, &module->value, err))
        return false;
    if (row->has_provider)
        module->value.oauth_module.config.client_secret = (struct field_secret){.plain = {0}};
    return true;
}

bool document_entry_read(const struct json_node *top, const struct oauth_names *names,
                         struct arena *arena, struct document_entry *entry, struct error *err)
{
    const struct field_reader reader = {.arena = arena, .faults = &entry->faults};

    switch (entry->kind) {
    case DOCUMENT_ACCOUNT:
        return read_table(top, account_fields, N_ROWS(account_fields), &entry->of.account_entry,
                          arena, err);
    case DOCUMENT_PRINCIPAL:
        return read_principal_entry(top, arena, &entry->of.principal, err);
    case DOCUMENT_CREDENTIAL:
        return read_credential_entry(top, &reader, &entry->of.credential, err);
    default:
        return read_module_entry(top, names, &reader, document_module_kind(entry->kind),
                                 &entry->of.module, err);
    }
}
