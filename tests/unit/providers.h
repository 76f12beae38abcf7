/* SPDX-License-Identifier: MIT */
/* The default names of the identity providers, for tests with their own settings. */
#ifndef ADIT_TESTS_PROVIDERS_H
#define ADIT_TESTS_PROVIDERS_H

#define PROVIDERS                                                                                  \
    {"provider_a", "provider_b", "provider_c", "provider_d",                                       \
     "provider_e", "provider_f", "provider_g", "provider_h"}

#endif
