/* SPDX-License-Identifier: MIT */
/* The setting [service] providers: a name for each row of provider_table.h. */
#ifndef ADIT_CONF_PROVIDERS_H
#define ADIT_CONF_PROVIDERS_H

#include "base/must_check.h"
#include "conf/conf.h"

/* " provider_a provider_b": the default behind a blank. */
extern const char conf_providers_spaced[];
#define CONF_PROVIDERS_STANDARD (&conf_providers_spaced[1])

extern const char conf_providers_help[];

/* The check() of its struct conf_setting. */
MUST_CHECK const char *conf_providers_check(struct conf *conf, char *value);

#endif
