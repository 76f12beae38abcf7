/* SPDX-License-Identifier: MIT */
/* How a deployment names the identity providers. */
#include "conf/providers.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "conf/setting.h"

const char conf_providers_spaced[] =
#define IDENTITY_PROVIDER(symbol, name, ...) " " name
#include "model/provider_table.h"
#undef IDENTITY_PROVIDER
    ;

const char conf_providers_help[] = "The names of the identity providers, one each for\n"
#define IDENTITY_PROVIDER(symbol, name, title, ...) title ", "
#include "model/provider_table.h"
#undef IDENTITY_PROVIDER
                                   "in\nthis order. Modules store the position.";

static bool all_differ(const char *const *names)
{
    for (size_t i = 0; i < OAUTH_N_PROVIDERS; i++) {
        for (size_t j = 0; j < i; j++) {
            if (strcmp(names[i], names[j]) == 0)
                return false;
        }
    }
    return true;
}

/* Returns whether the words are as many names as there are providers, and keeps them. */
static bool take_names(struct conf *conf, char *rest)
{
    char *word;
    size_t n = 0;

    while ((word = strsep(&rest, " \t")) != NULL) {
        if (!*word)
            continue;
        if (n == OAUTH_N_PROVIDERS || !oauth_provider_name_valid(text_of(word)))
            return false;
        conf->provider_names[n++] = word;
    }
    return n == OAUTH_N_PROVIDERS && all_differ(conf->provider_names);
}

const char *conf_providers_check(struct conf *conf, char *value)
{
    free(conf->provider_words);
    conf->provider_words = strdup(value);
    if (!conf->provider_words)
        return CONF_NO_MEMORY;
    if (take_names(conf, conf->provider_words))
        return NULL;
    snprintf(conf->fault, sizeof conf->fault,
             "must be %d different names of lowercase letters, digits and '_', separated by spaces",
             OAUTH_N_PROVIDERS);
    return conf->fault;
}
