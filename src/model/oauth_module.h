/* SPDX-License-Identifier: MIT */
/* The OAuth module of an HTTPS edge route: its fields, its rules, and JSON in and out. */
#ifndef ADIT_MODEL_OAUTH_MODULE_H
#define ADIT_MODEL_OAUTH_MODULE_H

#include <stdint.h>

#include "base/buf.h"
#include "base/must_check.h"
#include "model/field.h"
#include "model/module.h"

#define OAUTH_N_PROVIDERS 8

/* The names that a deployment gives to providers and to the default cookie prefix.  They are not
 * stored: a module is stored under the provider's position. */
struct oauth_names {
    const char *providers[OAUTH_N_PROVIDERS];
    const char *cookie_prefix;
};

/* The configuration of one provider.  Texts that are not given have s == NULL. */
struct oauth_provider {
    struct text client_id;
    struct text client_secret;
    struct text_list scopes;
    struct text_list email_addresses;
    struct text_list email_domains;
    struct text_list teams;
    struct text_list organizations;
};

struct oauth_module {
    bool enabled;
    int provider; /* position, 1 to OAUTH_N_PROVIDERS; 0: none is selected */
    struct oauth_provider config;
    bool options_passthrough;
    struct text cookie_prefix;   /* not given: the default */
    uint32_t inactivity_timeout; /* seconds, as the next two */
    uint32_t maximum_duration;
    uint32_t auth_check_interval;
    int64_t revision; /* no member: its ETag */
};

/* The members of the body, and of a provider.  The last OAUTH_N_HOSTING_FIELDS of the latter belong
 * to the first provider alone. */
extern const struct field oauth_module_fields[];
extern const size_t oauth_module_n_fields;
extern const struct field oauth_provider_fields[];
extern const size_t oauth_provider_n_fields;
#define OAUTH_N_HOSTING_FIELDS 2

/* Returns whether a name can be a provider's: 1 to 32 lowercase letters, digits and '_', a letter
 * first. */
MUST_CHECK bool oauth_provider_name_valid(struct text name);

/* Reads the body of a PUT to the route of the path into *module, defaults included.  Text belongs
 * to the tree, arrays to the arena. */
MUST_CHECK bool oauth_module_read(const struct json_node *body, const struct module_ids *ids,
                                  const struct oauth_names *names, struct arena *arena,
                                  struct oauth_module *module, struct error *err);

/* Writes the module as JSON, the client secret in the clear. */
void oauth_module_write(struct buf *out, const struct oauth_module *module,
                        const struct oauth_names *names);

#endif
