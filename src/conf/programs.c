/* SPDX-License-Identifier: MIT */
/* Which programs the settings are for. */
#include <string.h>

#include "conf/conf.h"
#include "conf/setting.h"

/* Returns whether a text of the section has another value than its default. */
static bool has_own_value(const struct conf *conf, const char *section)
{
    for (size_t i = 0; i < conf_n_settings; i++) {
        const struct conf_setting *setting = &conf_settings[i];

        if (setting->offset == CONF_NO_PLACE || strcmp(setting->section, section) != 0)
            continue;
        for (size_t which = 0; which < conf_n_values(setting); which++) {
            if (strcmp(conf_value(conf, setting, which), setting->standard) != 0)
                return true;
        }
    }
    return false;
}

bool conf_has_gateway(const struct conf *conf)
{
    return has_own_value(conf, "gateway") || has_own_value(conf, "mutual_tls");
}

bool conf_has_gate(const struct conf *conf)
{
    return has_own_value(conf, "gate") || has_own_value(conf, CONF_PROVIDER_SECTION) ||
           conf->gate.refuses_without_module;
}

enum oauth_application conf_oauth_application(const struct conf *conf, int provider)
{
    if (conf->oauth_providers[provider - 1].client_id[0])
        return OAUTH_APPLICATION_THERE;
    return conf_has_gate(conf) ? OAUTH_APPLICATION_MISSING : OAUTH_APPLICATION_UNKNOWN;
}
