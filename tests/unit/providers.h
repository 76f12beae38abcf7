/* SPDX-License-Identifier: MIT */
/* The default names of a deployment, for tests with their own settings. */
#ifndef ADIT_TESTS_PROVIDERS_H
#define ADIT_TESTS_PROVIDERS_H

#include "model/oauth_module.h"

static const struct oauth_names default_names = {
    .providers =
        {
#define IDENTITY_PROVIDER(symbol, name, ...) name,
#include "model/provider_table.h"
#undef IDENTITY_PROVIDER
        },
    .cookie_prefix = "service.",
};

#endif
