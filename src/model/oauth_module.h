/* SPDX-License-Identifier: MIT */
/* The OAuth module of an HTTPS edge route: its fields, its rules, and JSON in and out. */
#ifndef ADIT_MODEL_OAUTH_MODULE_H
#define ADIT_MODEL_OAUTH_MODULE_H

#include <stdint.h>

#include "base/buf.h"
#include "base/must_check.h"
#include "json/check.h"
#include "model/field.h"
#include "model/identity_provider.h"
#include "model/member.h"
#include "model/module.h"

/* Bytes of the longest client secret, and of other texts of a provider. */
#define OAUTH_TEXT_MAX 1024

/* Entries of all lists together: what a body of JSON_MAX_VALUES has room for beside itself, the
 * provider's two objects and four lists.  What adds to them is within JSON_ADDED_VALUES. */
#define OAUTH_MAX_ENTRIES (JSON_MAX_VALUES - 7)

/* A deployment's names of the providers, and its default cookie prefix.  The database has none of
 * them: it stores the position of the provider. */
struct oauth_names {
    const char *providers[OAUTH_N_PROVIDERS];
    const char *cookie_prefix;
};

/* clang-format off */

/* The configuration of one provider. */
struct oauth_provider {
    OAUTH_MODULE_MEMBERS(MEMBER_NOT, MEMBER_DECLARED, _)
};

/* provider is a position, 1 to OAUTH_N_PROVIDERS; 0: none is selected.  An absent cookie_prefix is the
 * default.  Times are in seconds. */
struct oauth_module {
    OAUTH_MODULE_MEMBERS(MEMBER_DECLARED, MEMBER_NOT, _)
    struct oauth_provider config;
};

/* clang-format on */

/* All members, in the order of their columns, with those of the provider. */
extern const struct field oauth_module_members[];
extern const size_t oauth_module_n_members;

/* The members of the body, and of a provider.  Only one that has teams has the last
 * OAUTH_N_HOSTING_FIELDS of the latter. */
extern const struct field oauth_module_fields[];
extern const size_t oauth_module_n_fields;
extern const struct field oauth_provider_fields[];
extern const size_t oauth_provider_n_fields;
#define OAUTH_N_HOSTING_FIELDS 2

/* Returns how many of the fields the provider of a position has. */
size_t oauth_provider_n_fields_of(int position);

/* Returns whether the text can be a provider's name: 1 to 32 lowercase letters, digits and '_', a
 * letter first. */
MUST_CHECK bool oauth_provider_name_valid(struct text name);

/* Returns the position of the provider that a deployment names so, or 0. */
int oauth_names_find(const struct oauth_names *names, struct text word);

/* Returns whether the text is an e-mail address: one '@', 1 to 64 printable characters of ASCII
 * before it, a domain behind it.  Returns false with the reason in *why, static. */
MUST_CHECK bool oauth_email_address_valid(struct text value, const char **why);

/* Reads the body of a PUT to the route of the path into *module, and fills in defaults.  Text
 * belongs to the tree, arrays to the arena.  Returns false with an error of module_find() or
 * fields_read(), or for the provider. */
MUST_CHECK bool oauth_module_read(const struct json_node *body, const struct module_place *place,
                                  const struct oauth_names *names,
                                  const struct field_reader *reader, struct oauth_module *module,
                                  struct error *err);

/* Appends the members as JSON, with the client secret in the clear, into an object that the caller
 * has opened.  A lack of memory sets out->failed. */
void oauth_module_write_members(struct buf *out, const struct oauth_module *module,
                                const struct oauth_names *names);

#endif
