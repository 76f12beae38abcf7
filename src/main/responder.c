/* SPDX-License-Identifier: MIT */
/* Sets up the state that all workers share. */
#include "main/responder.h"

#include <stdio.h>
#include <syslog.h>

#include "base/process.h"
#include "crypt/crypt.h"
#include "http/names.h"
#include "http/route.h"

static void fill_settings(struct responder *responder)
{
    struct api_settings *settings = &responder->settings;
    const struct conf *conf = &responder->conf;

    names_fill(&settings->names, conf->service_name);
    for (size_t i = 0; i < OAUTH_N_PROVIDERS; i++) {
        settings->oauth.providers[i] = conf->provider_names[i];
        settings->oauth_applications[i] = conf_oauth_application(conf, (int)i + 1);
    }
    settings->oauth.cookie_prefix = settings->names.cookie_prefix;
    settings->base_url = conf->base_url[0] ? conf->base_url : NULL;
    settings->require_acl = conf->require_acl;
    settings->require_account_in_key = conf->require_account_in_key;
    settings->allowed_origins = conf->allowed_origins;
    settings->log = conf->log;
}

bool responder_open(struct responder *responder, const char *conf_path)
{
    const struct log early = {.level = LOG_LEVEL_INFO, .target = LOG_TARGET_STDERR};
    char reason[CONF_REASON_SIZE] = "";
    const char *route;

    if (!conf_read(&responder->conf, conf_path, reason))
        return process_cannot_start(&early, reason);
    openlog("adit", LOG_PID, LOG_DAEMON);
    responder->conf.log.limit = &responder->log_limit;
    fill_settings(responder);
    if (!route_table_fits(api_routes, &route)) {
        snprintf(reason, sizeof reason, "the route %s has too many identifiers or parameters",
                 route);
        return process_cannot_start(&responder->conf.log, reason);
    }
    if (!crypt_start())
        return process_cannot_start(&responder->conf.log, "libcrypto does not work");
    responder->keyring = keyring_load(responder->conf.key_file, reason, sizeof reason);
    if (!responder->keyring)
        return process_cannot_start(&responder->conf.log, reason);
    return true;
}

bool responder_count(struct responder *responder, size_t n_workers)
{
    responder->n_workers = n_workers;
    responder->metrics = metrics_new(n_workers);
    responder->settings.metrics = responder->metrics;
    return responder->metrics ||
           process_fault(&responder->conf.log, "mmap", "cannot share memory with the workers");
}

void responder_close(struct responder *responder)
{
    metrics_free(responder->metrics, responder->n_workers);
    keyring_free(responder->keyring);
    conf_free(&responder->conf);
}
