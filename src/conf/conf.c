/* SPDX-License-Identifier: MIT */
/* The table of settings, and the check of each value. */
#include "conf/conf.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/ident.h"
#include "base/number.h"
#include "base/utf8.h"
#include "conf/base_url.h"
#include "conf/file.h"
#include "conf/providers.h"
#include "conf/setting.h"
#include "conf/value.h"
#include "http/cors.h"
#include "http/names.h"
#include "pg/pg.h"

static const char *check_name(struct conf *conf, char *value)
{
    (void)conf;
    return names_valid(text_of(value)) ? NULL
                                       : "must be 1 to 32 lowercase letters and digits, beginning "
                                         "with a letter";
}

static const char *check_base_url(struct conf *conf, char *value)
{
    (void)conf;
    return conf_base_url_trim(value);
}

static const char *check_origins(struct conf *conf, char *value)
{
    struct text rest = text_of(value);

    for (struct text word; (word = text_next_word(&rest)).s;) {
        bool is_any = text_eq(word, text_of("*"));
        const char *fault = is_any ? NULL : cors_origin_fault(word);

        if (is_any && value[1] != '\0')
            return "has * beside an origin; use * alone, or name each origin";
        if (fault) {
            char quoted[ERROR_QUOTE_SIZE];

            snprintf(conf->fault, sizeof conf->fault, "has the origin '%s': %s",
                     error_quote(quoted, word), fault);
            return conf->fault;
        }
    }
    return NULL;
}

static const char *check_conninfo(struct conf *conf, char *value)
{
    char reason[160];

    if (pg_conninfo_valid(value))
        return NULL;
    pg_conninfo_reason(value, reason, sizeof reason);
    snprintf(conf->fault, sizeof conf->fault, "is not a PostgreSQL connection string: %s", reason);
    return conf->fault;
}

/* The responder reads the same file, so an attacker in a worker could read a password here. */
static const char *check_admin_conninfo(struct conf *conf, char *value)
{
    const char *fault = check_conninfo(conf, value);

    if (fault || !pg_conninfo_has_password(value))
        return fault;
    snprintf(conf->fault, sizeof conf->fault,
             "may not hold a password: the responder reads this file too, so a compromised worker "
             "could own the tables. Move the password to a file that only aditctl's user may read, "
             "and set passfile=FILE or service=NAME; see adit.conf(5)");
    return conf->fault;
}

static const char *check_path(struct conf *conf, char *value)
{
    (void)conf;
    return *value ? NULL : "must be the path of a file";
}

static const char *check_account_id(struct conf *conf, char *value)
{
    (void)conf;
    return !*value || ident_assigned(text_of(value), IDENT_ACCOUNT)
               ? NULL
               : "must be the id of an account, ac_ and 27 letters and digits; to see the "
                 "accounts, "
                 "run: aditctl account list";
}

static const char *check_absolute_path(struct conf *conf, char *value)
{
    (void)conf;
    return value[0] == '/' ? NULL : "must be an absolute path";
}

static const char *check_domain_ports(struct conf *conf, char *value)
{
    const char *why;

    return ssh_domain_ports_read(text_of(value), &conf->gateway.domain_ports, &why)
               ? NULL
               : "must be 1 to 16 different ports, separated by spaces, or * for any port";
}

static const char *check_distributed(struct conf *conf, char *value)
{
    return conf_value_yes_or_no(value, &conf->is_by_account);
}

static const char *check_without_module(struct conf *conf, char *value)
{
    conf->gate.refuses_without_module = strcmp(value, "refuse") == 0;
    return conf->gate.refuses_without_module || strcmp(value, "pass") == 0
               ? NULL
               : "must be pass or refuse";
}

static const char *check_require_acl(struct conf *conf, char *value)
{
    return conf_value_yes_or_no(value, &conf->require_acl);
}

static const char *check_require_account(struct conf *conf, char *value)
{
    return conf_value_yes_or_no(value, &conf->require_account_in_key);
}

static const char *check_drain(struct conf *conf, char *value)
{
    return conf_value_time(value, 300000, &conf->drain_ms)
               ? NULL
               : "must be a number with ms or s, at most 300s";
}

static const char *check_poll(struct conf *conf, char *value)
{
    return conf_value_interval(value, 60000, &conf->gateway.poll_ms)
               ? NULL
               : "must be a number with ms or s, at most 60s";
}

static const char *check_sweep(struct conf *conf, char *value)
{
    return conf_value_interval(value, 3600000, &conf->gateway.sweep_ms)
               ? NULL
               : "must be a number with ms or s, at most 3600s";
}

uint64_t conf_machine_bytes(void)
{
    long n_pages = sysconf(_SC_PHYS_PAGES);
    long page = sysconf(_SC_PAGESIZE);

    return n_pages > 0 && page > 0 ? (uint64_t)n_pages * (uint64_t)page : 0;
}

/* Without a number, sessions may take half of the machine's memory. */
static const char *check_sessions(struct conf *conf, char *value)
{
    uint64_t most = conf_machine_bytes() / 2 / CONF_SESSION_BYTES;

    if (*value)
        return conf_value_most(value, &conf->gateway.sessions);
    conf->gateway.sessions = (int)(most < 1 ? 1 : most > CONF_MOST ? CONF_MOST : most);
    return NULL;
}

static const char *check_sessions_of_key(struct conf *conf, char *value)
{
    return conf_value_most(value, &conf->gateway.sessions_of_key);
}

static const char *check_sessions_of_account(struct conf *conf, char *value)
{
    return conf_value_most(value, &conf->gateway.sessions_of_account);
}

static int find_word(const char *const *words, size_t n, const char *word)
{
    for (size_t i = 0; i < n; i++) {
        if (strcmp(words[i], word) == 0)
            return (int)i;
    }
    return -1;
}

static const char *check_level(struct conf *conf, char *value)
{
    static const char *const words[] = {"error", "warning", "info", "debug"};
    int found = find_word(words, 4, value);

    conf->log.level = found < 0 ? LOG_LEVEL_INFO : (enum log_level)found;
    return found < 0 ? "must be error, warning, info or debug" : NULL;
}

static const char *check_target(struct conf *conf, char *value)
{
    static const char *const words[] = {"stderr", "syslog"};
    int found = find_word(words, 2, value);

    conf->log.target = found < 0 ? LOG_TARGET_STDERR : (enum log_target)found;
    return found < 0 ? "must be stderr or syslog" : NULL;
}

/* Bytes of an edge's longest id: the name of its file has a suffix of at most 8 bytes. */
#define EDGE_ID_MAX (IDENT_MAX - 8)

/* Bytes of a folder's longest path, which leaves room for a file's name. */
#define FOLDER_LEN_MAX 1023

/* Returns why two edges of these ids cannot be side by side, or NULL.  Visitors name an edge's
 * server without case. */
static const char *find_clash(struct text words, struct text id)
{
    for (struct text word; (word = text_next_word(&words)).s;) {
        if (text_eq(word, id))
            return "it is there twice";
        if (word.len == id.len && strncasecmp(word.s, id.s, id.len) == 0)
            return "another edge differs from it only in case, and names of servers have none";
    }
    return NULL;
}

static const char *check_edges(struct conf *conf, char *value)
{
    struct text rest = text_of(value);

    for (struct text id; (id = text_next_word(&rest)).s;) {
        const char *fault = ident_fault(id);

        if (!fault && id.len > EDGE_ID_MAX)
            fault = "it is longer than 247 characters";
        if (!fault)
            fault = find_clash(rest, id);
        if (fault) {
            char quoted[ERROR_QUOTE_SIZE];

            snprintf(conf->fault, sizeof conf->fault, "has the edge '%s': %s",
                     error_quote(quoted, id), fault);
            return conf->fault;
        }
    }
    return NULL;
}

static const char *check_folder(struct conf *conf, char *value)
{
    (void)conf;
    return value[0] == '/' && strlen(value) <= FOLDER_LEN_MAX
               ? NULL
               : "must be the absolute path of a folder, of at most 1023 bytes";
}

static const char *check_optional_folder(struct conf *conf, char *value)
{
    return value[0] ? check_folder(conf, value) : NULL;
}

/* Web servers read the path in their own files, each with its own quotes. */
static const char *check_output(struct conf *conf, char *value)
{
    static const char plain[] =
        "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789/._+-";
    size_t len = strlen(value);

    (void)conf;
    return value[0] == '/' && len > 1 && len <= FOLDER_LEN_MAX && value[len - 1] != '/' &&
                   value[strspn(value, plain)] == '\0'
               ? NULL
               : "must be the absolute path of a folder: at most 1023 letters, digits, '/', '.', "
                 "'_', '+' and '-', no '/' at the end";
}

static const char *check_command(struct conf *conf, char *value)
{
    (void)conf;
    return value[0] == '/' || value[0] == '\0' ? NULL
                                               : "must begin with the absolute path of a program";
}

static const char *check_haproxy(struct conf *conf, char *value)
{
    (void)conf;
    return value[0] == '\0' ||
                   (value[0] == '/' && strlen(value) < sizeof((struct sockaddr_un *)0)->sun_path)
               ? NULL
               : "must be the absolute path of a unix socket, of at most 107 bytes";
}

/* An endpoint of a provider.  Codes and tokens go there. */
static const char *check_https_url(struct conf *conf, char *value)
{
    (void)conf;
    if (!value[0])
        return NULL;
    for (const char *at = value; *at; at++) {
        if (*at <= ' ' || *at > '~' || strchr("\"\\<>^`{|}?#@", *at))
            return "must be a URL without blanks, a query and a fragment";
    }
    return strncmp(value, "https://", 8) == 0 && value[8] && value[8] != '/' && value[8] != ':'
               ? NULL
               : "must begin with https:// and a host";
}

static const char *check_client_id(struct conf *conf, char *value)
{
    (void)conf;
    return strlen(value) <= 1024 && utf8_valid(value, strlen(value))
               ? NULL
               : "must be at most 1024 bytes of UTF-8";
}

static const char *check_optional_path(struct conf *conf, char *value)
{
    return value[0] ? check_absolute_path(conf, value) : NULL;
}

#define AT(member) offsetof(struct conf, member)
#define AT_PROVIDER(member)                                                                        \
    (offsetof(struct conf, oauth_providers) + offsetof(struct conf_provider, member))

const struct conf_setting conf_settings[] = {
    {"service", "name", "service", AT(service_name), check_name, CONF_AS_IS,
     "The service's name. It is part of the version header (Service-Version), the operation\n"
     "header, the default cookie prefix (service.) and error codes (ERR_SERVICE_600)."},
    {"service", "providers", CONF_PROVIDERS_STANDARD, AT(providers), conf_providers_check,
     CONF_AS_IS, conf_providers_help},
    {"service", "base_url", "", AT(base_url), check_base_url, CONF_AS_IS,
     "The beginning of every uri in an answer, such as https://adit.example/api. If empty, the\n"
     "responder derives it from each request's scheme, Host header and script name."},
    {"service", "allowed_origins", "", AT(allowed_origins), check_origins, CONF_AS_IS,
     "The origins of web pages that may use the interface from a browser (CORS), separated by\n"
     "spaces, such as https://a.example; * is any origin. If empty, no page of another origin "
     "may."},
    {"service", "require_acl", "no", CONF_NO_PLACE, check_require_acl, CONF_AS_IS,
     "yes: a new SSH credential needs at least one ACL rule, and no change may remove the last "
     "one.\n"
     "The rule * says on purpose that a credential may bind everything."},
    {"service", "require_account_in_key", "no", CONF_NO_PLACE, check_require_account, CONF_AS_IS,
     "yes: API keys of the earlier form, which name no account, are refused. Where rows are on\n"
     "several nodes, each such key would be looked for on every node."},
    {"service", "drain", "0s", CONF_NO_PLACE, check_drain, CONF_AS_IS,
     "How long the responder goes on when it is stopped. Meanwhile /readyz answers 503, so that\n"
     "load balancers send their requests to other hosts. 0s: /readyz does not change."},
    {"database", "conninfo", "dbname=adit", AT(conninfo), check_conninfo, CONF_WITHOUT_PASSWORD,
     "The responder's connection to PostgreSQL: a libpq connection string."},
    {"database", "admin_conninfo", "", AT(admin_conninfo), check_admin_conninfo,
     CONF_WITHOUT_PASSWORD,
     "aditctl's connection, as a role that owns the tables. If empty, aditctl uses conninfo. No\n"
     "password here: the responder reads this file. Use passfile= or service=."},
    {"database", "distributed", "no", CONF_NO_PLACE, check_distributed, CONF_AS_IS,
     "yes: Citus spreads the accounts of this database over nodes (sql/optional/citus.sql)."},
    {"secrets", "key_file", "adit.key", AT(key_file), check_path, CONF_AS_IS,
     "The file with the keys that seal (encrypt) client secrets. 'aditctl secrets init' makes it.\n"
     "A relative path starts at this file's folder."},
    {"gateway", "conninfo", "dbname=adit user=adit-gateway", AT(gateway.conninfo), check_conninfo,
     CONF_WITHOUT_PASSWORD, "adit-gateway's connection to PostgreSQL, as a role in adit_gateway."},
    {"gateway", "account", "", AT(gateway.account), check_account_id, CONF_AS_IS,
     "The account that adit-gateway obeys. If empty, the only one there is; while there are\n"
     "several, it refuses every login that names none."},
    {"gateway", "socket", ADIT_GATEWAY_SOCKET_PATH, AT(gateway.socket), check_absolute_path,
     CONF_AS_IS, "The Unix socket on which adit-ssh-keys and aditctl ask adit-gateway."},
    {"gateway", "state", ADIT_GATEWAY_STATE_PATH, AT(gateway.state), check_absolute_path,
     CONF_AS_IS,
     "The folder with a file for each SSH session. It outlives adit-gateway, but not a reboot."},
    {"gateway", "domain_ports", "8080 8443", CONF_NO_PLACE, check_domain_ports, CONF_AS_IS,
     "The ports on which a rule for a domain lets a tunnel listen; * is any port."},
    {"gateway", "poll", "100ms", CONF_NO_PLACE, check_poll, CONF_AS_IS,
     "How often adit-gateway asks the database for changes."},
    {"gateway", "sweep", "2s", CONF_NO_PLACE, check_sweep, CONF_AS_IS,
     "How often adit-gateway compares every session with the database."},
    {"gateway", "sessions", "", CONF_NO_PLACE, check_sessions, CONF_AS_IS,
     "How many SSH sessions this machine bears. 0: any number. If empty, they may take half of "
     "its\n"
     "memory."},
    {"gateway", "sessions_of_key", "1000", CONF_NO_PLACE, check_sessions_of_key, CONF_AS_IS,
     "How many SSH sessions one key may have. 0: any number."},
    {"gateway", "sessions_of_account", "20000", CONF_NO_PLACE, check_sessions_of_account,
     CONF_AS_IS, "How many SSH sessions all keys of one account may have. 0: any number."},
    {"gateway", "metrics", "", AT(gateway.metrics), check_optional_folder, CONF_AS_IS,
     "The folder in which adit-gateway writes its metrics, for node_exporter. If empty, it writes\n"
     "none."},
    {"mutual_tls", "edges", "", AT(mutual_tls.edges), check_edges, CONF_AS_IS,
     "The ids of the TLS edges whose files adit-gateway writes, separated by spaces."},
    {"mutual_tls", "authorities", "/etc/adit/authorities", AT(mutual_tls.authorities), check_folder,
     CONF_AS_IS,
     "The folder of the certificate authorities: PEM files, named by the authority's id without\n"
     "a suffix."},
    {"mutual_tls", "output", "/var/lib/adit-gateway/edges", AT(mutual_tls.output), check_output,
     CONF_AS_IS,
     "The folder of the files that web servers include: ID.pem, ID.nginx, ID.apache, ID.haproxy."},
    {"mutual_tls", "reload", "", AT(mutual_tls.reload), check_command, CONF_AS_IS,
     "The command that makes web servers read the files again: a program and its arguments,\n"
     "separated by spaces, without a shell. With systemd, see adit-gateway(8):\n"
     "/usr/bin/touch /run/adit-gateway/reload-nginx"},
    {"mutual_tls", "haproxy", "", AT(mutual_tls.haproxy), check_haproxy, CONF_AS_IS,
     "HAProxy's stats socket (level admin), by which it obeys changes without a reload. Empty:\n"
     "none."},
    {"gate", "conninfo", "dbname=adit user=adit-gate", AT(gate.conninfo), check_conninfo,
     CONF_WITHOUT_PASSWORD, "adit-gate's connection to PostgreSQL, as a role in adit_gate."},
    {"gate", "account", "", AT(gate.account), check_account_id, CONF_AS_IS,
     "The account that adit-gate obeys, unless the web server names one. If empty, the only one\n"
     "there is; while there are several, it lets nobody pass."},
    {"gate", "ca_file", "", AT(gate.ca_file), check_optional_path, CONF_AS_IS,
     "A PEM file with the authorities that sign the certificates of identity providers. If empty,\n"
     "those of the system."},
    {"gate", "without_module", "pass", CONF_NO_PLACE, check_without_module, CONF_AS_IS,
     "refuse: nobody passes a route that has no OAuth module, so one that is deleted or misspelt\n"
     "closes the route. pass: everybody does. A disabled module lets everybody pass either way."},
    {CONF_PROVIDER_SECTION, "authorize_url", "", AT_PROVIDER(authorize_url), check_https_url,
     CONF_AS_IS,
     "For adit-gate, a section for each identity provider that needs one; NAME is its name in the\n"
     "setting providers. This is the page where a visitor signs in, instead of the provider's "
     "own:\n"
     "for GitHub Enterprise, an own GitLab or a tenant of Microsoft's."},
    {CONF_PROVIDER_SECTION, "token_url", "", AT_PROVIDER(token_url), check_https_url, CONF_AS_IS,
     "The endpoint that exchanges a code for a token, instead of the provider's own."},
    {CONF_PROVIDER_SECTION, "user_url", "", AT_PROVIDER(user_url), check_https_url, CONF_AS_IS,
     "The endpoint that says who holds a token, instead of the provider's own. GitHub's lists of\n"
     "addresses, organizations and teams are below it."},
    {CONF_PROVIDER_SECTION, "client_id", "", AT_PROVIDER(client_id), check_client_id, CONF_AS_IS,
     "The OAuth application for modules that name none. If empty, such a module lets nobody in."},
    {CONF_PROVIDER_SECTION, "client_secret_file", "", AT_PROVIDER(client_secret_file),
     check_optional_path, CONF_AS_IS,
     "A file with the secret of that application, for adit-gate's eyes only."},
    {"log", "level", "info", CONF_NO_PLACE, check_level, CONF_AS_IS,
     "The least severe level that is logged: error, warning, info or debug."},
    {"log", "target", "stderr", CONF_NO_PLACE, check_target, CONF_AS_IS,
     "The destination of the log: stderr or syslog."},
};

const size_t conf_n_settings = sizeof conf_settings / sizeof conf_settings[0];

_Static_assert(sizeof conf_settings / sizeof conf_settings[0] <= CONF_MAX_SETTINGS,
               "CONF_MAX_SETTINGS holds every row");

/* ---- values ---- */

size_t conf_n_values(const struct conf_setting *setting)
{
    return strcmp(setting->section, CONF_PROVIDER_SECTION) == 0 ? OAUTH_N_PROVIDERS : 1;
}

static char **place_of(struct conf *conf, const struct conf_setting *setting, size_t which)
{
    if (setting->offset == CONF_NO_PLACE)
        return &conf->texts[setting - conf_settings][which];
    return (char **)(void *)((char *)conf + setting->offset + which * sizeof(struct conf_provider));
}

const char *conf_value(const struct conf *conf, const struct conf_setting *setting, size_t which)
{
    return *place_of((struct conf *)(uintptr_t)conf, setting, which);
}

static bool replace(char **place, char *text)
{
    free(*place);
    *place = text;
    return text != NULL;
}

const char *conf_set(struct conf *conf, const struct conf_setting *setting, size_t which,
                     const char *value)
{
    char *copy = strdup(value);
    const char *wanted = copy ? setting->check(conf, copy) : CONF_NO_MEMORY;

    replace(place_of(conf, setting, which), copy);
    return wanted;
}

/* An empty value is a number that check_sessions() has found. */
static bool name_session_number(struct conf *conf)
{
    const struct conf_setting *setting = conf_settings;
    char number[12];

    while (setting->check != check_sessions)
        setting++;
    snprintf(number, sizeof number, "%d", conf->gateway.sessions);
    return *conf_value(conf, setting, 0) || replace(place_of(conf, setting, 0), strdup(number));
}

bool conf_complete(struct conf *conf, char *reason)
{
    const char *path = conf->path ? conf->path : ADIT_CONF_PATH;

    if (replace(&conf->key_file, conf_path_beside(path, conf->key_file)) &&
        (conf->admin_conninfo[0] || replace(&conf->admin_conninfo, strdup(conf->conninfo))) &&
        name_session_number(conf))
        return true;
    snprintf(reason, CONF_REASON_SIZE, "out of memory");
    return false;
}

void conf_free(struct conf *conf)
{
    free(conf->path);
    free(conf->provider_words);
    for (size_t i = 0; i < conf_n_settings; i++) {
        for (size_t which = 0; which < conf_n_values(&conf_settings[i]); which++)
            free(*place_of(conf, &conf_settings[i], which));
    }
    *conf = (struct conf){.path = NULL};
}
