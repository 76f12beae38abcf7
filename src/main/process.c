/* SPDX-License-Identifier: MIT */
/* Sets up the state that all workers share. */
#include "main/process.h"

#include <stdio.h>
#include <syslog.h>

#include "base/process.h"
#include "crypt/crypt.h"
#include "http/names.h"
#include "http/route.h"

static void fill_settings(struct process *process)
{
    struct api_settings *settings = &process->settings;
    const struct conf *conf = &process->conf;

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

bool process_open(struct process *process, const char *conf_path)
{
    const struct log early = {.level = LOG_LEVEL_INFO, .target = LOG_TARGET_STDERR};
    char reason[CONF_REASON_SIZE] = "";
    const char *route;

    if (!conf_read(&process->conf, conf_path, reason))
        return process_cannot_start(&early, reason);
    openlog("adit", LOG_PID, LOG_DAEMON);
    process->conf.log.limit = &process->log_limit;
    fill_settings(process);
    if (!route_table_fits(api_routes, &route)) {
        snprintf(reason, sizeof reason, "the route %s has too many identifiers or parameters",
                 route);
        return process_cannot_start(&process->conf.log, reason);
    }
    if (!crypt_start())
        return process_cannot_start(&process->conf.log, "libcrypto does not work");
    process->keyring = keyring_load(process->conf.key_file, reason, sizeof reason);
    if (!process->keyring)
        return process_cannot_start(&process->conf.log, reason);
    return true;
}

bool process_count(struct process *process, size_t n_workers)
{
    process->n_workers = n_workers;
    process->metrics = metrics_new(n_workers);
    process->settings.metrics = process->metrics;
    return process->metrics ||
           process_fault(&process->conf.log, "mmap", "cannot share memory with the workers");
}

void process_close(struct process *process)
{
    metrics_free(process->metrics, process->n_workers);
    keyring_free(process->keyring);
    conf_free(&process->conf);
}
