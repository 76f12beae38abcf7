/* SPDX-License-Identifier: MIT */
/* The parameters of conditions about whom a module lets in. */
#include "store/oauth_admission.h"

_Static_assert(IDENTITY_PROVIDER_USER == 0 && IDENTITY_PROVIDER_EMAILS == 1 &&
                   IDENTITY_PROVIDER_ORGANIZATIONS == 2 && IDENTITY_PROVIDER_TEAMS == 3 &&
                   IDENTITY_PROVIDER_N_PARTS == 4,
               "the SQL counts them from 1");

void oauth_admission_add(struct pg_params *params,
                         const enum oauth_application applications[OAUTH_N_PROVIDERS],
                         struct arena *arena)
{
    struct text needed[OAUTH_N_PROVIDERS * IDENTITY_PROVIDER_N_PARTS];
    int64_t missing[OAUTH_N_PROVIDERS];
    size_t n_missing = 0;
    size_t n = 0;

    for (int position = 1; position <= OAUTH_N_PROVIDERS; position++) {
        const struct identity_provider *provider = identity_provider_at(position);

        for (size_t part = 0; part < IDENTITY_PROVIDER_N_PARTS; part++)
            needed[n++] = text_of(provider->needed[part] ? provider->needed[part] : "-");
        if (applications[position - 1] == OAUTH_APPLICATION_MISSING)
            missing[n_missing++] = position;
    }
    pg_add_texts(params, (struct text_list){.items = needed, .n = n, .given = true}, arena);
    pg_add_ints(params, missing, n_missing, true, arena);
}
