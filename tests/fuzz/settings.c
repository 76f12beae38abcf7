/* SPDX-License-Identifier: MIT */
/* Fuzz target: the settings file.  The input is its content. */
#include <sys/mman.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/utf8.h"
#include "conf/conf.h"
#include "fuzz.h"
#include "http/names.h"
#include "json/check.h"

#define MAX_SIZE 16384

/* The password in the corpus and the dictionary. */
#define SECRET "hunter2"

static const char *const levels[] = {"error", "warning", "info", "debug"};
static const char *const targets[] = {"stderr", "syslog"};

/* Reads the content from a file in memory. */
static bool read_settings(const char *content, size_t size, struct conf *conf, char *reason)
{
    int fd = memfd_create("adit.conf", MFD_CLOEXEC);
    char path[64];
    bool ok;

    MUST(fd >= 0 && write(fd, content, size) == (ssize_t)size);
    snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
    ok = conf_read(conf, path, reason);
    close(fd);
    return ok;
}

static void look_at_providers(const struct conf *conf)
{
    for (size_t i = 0; i < OAUTH_N_PROVIDERS; i++) {
        MUST(oauth_provider_name_valid(text_of(conf->provider_names[i])));
        for (size_t j = 0; j < i; j++)
            MUST(strcmp(conf->provider_names[i], conf->provider_names[j]) != 0);
    }
}

static void look_at_conf(const struct conf *conf)
{
    const char *url = conf->base_url;
    struct buf body = {0};
    struct error err;

    MUST(conf->path && conf->conninfo && conf->admin_conninfo && conf->key_file);
    MUST(names_valid(text_of(conf->service_name)));
    look_at_providers(conf);
    MUST(conf->log.level <= LOG_LEVEL_DEBUG && conf->log.target <= LOG_TARGET_SYSLOG);
    MUST(!*url || strncmp(url, "http://", 7) == 0 || strncmp(url, "https://", 8) == 0);
    MUST(!*url || url[strlen(url) - 1] != '/');
    /* Answers quote the URL unescaped. */
    buf_printf(&body, "{\"uri\":\"%s\"}", url);
    MUST(!body.failed && json_check(body.data, body.len, &err));
    buf_free(&body);
}

/* Writes the settings as a file. */
static void write_settings(struct buf *out, const struct conf *conf)
{
    buf_printf(out, "[service]\nname = %s\nproviders =", conf->service_name);
    for (size_t i = 0; i < OAUTH_N_PROVIDERS; i++)
        buf_printf(out, " %s", conf->provider_names[i]);
    buf_printf(out, "\nbase_url = %s\n[log]\nlevel = %s\ntarget = %s\n", conf->base_url,
               levels[conf->log.level], targets[conf->log.target]);
    MUST(!out->failed);
}

static void read_again(const struct conf *conf)
{
    char reason[CONF_REASON_SIZE];
    struct buf file = {0};
    struct conf again;

    write_settings(&file, conf);
    MUST(read_settings(file.data, file.len, &again, reason));
    MUST(strcmp(again.service_name, conf->service_name) == 0);
    MUST(strcmp(again.base_url, conf->base_url) == 0);
    for (size_t i = 0; i < OAUTH_N_PROVIDERS; i++)
        MUST(strcmp(again.provider_names[i], conf->provider_names[i]) == 0);
    MUST(again.log.level == conf->log.level && again.log.target == conf->log.target);
    conf_free(&again);
    buf_free(&file);
}

/* Returns whether the secret is in the name of a section or a key, which messages may quote. */
static bool names_the_secret(const char *content, size_t size)
{
    while (size > 0) {
        const char *end = memchr(content, '\n', size);
        size_t len = end ? (size_t)(end - content) : size;
        size_t key_len = 0;

        if (len > 0 && memchr(content, '[', len))
            key_len = len;
        while (key_len < len && content[key_len] != '=' && content[key_len] != ':')
            key_len++;
        if (memmem(content, key_len, SECRET, strlen(SECRET)))
            return true;
        content += end ? len + 1 : len;
        size -= end ? len + 1 : len;
    }
    return false;
}

/* The reason is one plain line, and does not quote the secret. */
static void look_at_reason(const char *reason, const char *content, size_t size)
{
    MUST(memchr(reason, '\0', CONF_REASON_SIZE) && reason[0]);
    MUST(is_plain(text_of(reason)) && utf8_valid(reason, strlen(reason)));
    MUST(strncmp(reason, "/proc/self/fd/", 14) == 0);
    MUST(!strstr(reason, SECRET) || names_the_secret(content, size));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char reason[CONF_REASON_SIZE];
    struct conf conf;

    if (size > MAX_SIZE)
        return 0;
    memset(reason, 'x', sizeof reason);
    if (read_settings((const char *)data, size, &conf, reason)) {
        look_at_conf(&conf);
        read_again(&conf);
        accepted();
    } else {
        look_at_reason(reason, (const char *)data, size);
    }
    conf_free(&conf);
    return 0;
}
