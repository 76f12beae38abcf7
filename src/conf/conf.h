/* SPDX-License-Identifier: MIT */
/* The settings.  One table serves reading the file and printing it. */
#ifndef ADIT_CONF_CONF_H
#define ADIT_CONF_CONF_H

#include <stdbool.h>
#include <stddef.h>

#include "base/log.h"
#include "base/must_check.h"
#include "model/oauth_admission.h"
#include "model/ssh_options.h"

/* Memory that the processes of sshd for one SSH session take.  Measured on Debian 12, with 20 idle
 * sessions: 2.1 MB, and 2.4 MB with PAM; the rest is for the kernel. */
#define CONF_SESSION_BYTES ((uint64_t)2560 * 1024)

/* Room for the rows of the table of settings. */
#define CONF_MAX_SETTINGS 48

/* Settings of adit-gateway: [gateway]. */
struct conf_gateway {
    char *conninfo;
    char *account; /* "": the only one there is */
    char *socket;
    char *state;
    struct ssh_domain_ports domain_ports;
    int poll_ms;
    int sweep_ms;
    int sessions;            /* the most; 0: any number */
    int sessions_of_key;     /* the same */
    int sessions_of_account; /* the same */
    char *metrics;           /* a folder; "": none */
};

/* Settings of adit-gateway: [mutual_tls]. */
struct conf_mutual_tls {
    char *edges; /* ids, separated by blanks */
    char *authorities;
    char *output;  /* needs no quotes in a web server's configuration */
    char *reload;  /* a program and its arguments, separated by blanks; "": none */
    char *haproxy; /* "": none */
};

/* Settings of adit-gate: [gate]. */
struct conf_gate {
    char *conninfo;
    char *account; /* "": the only one there is */
    char *ca_file; /* authorities that sign providers' certificates; "": the system's */
    bool refuses_without_module; /* nobody passes a route that has no module */
};

/* An identity provider, for adit-gate: [provider.NAME].  "": the default. */
struct conf_provider {
    char *authorize_url; /* as the next two, of the provider's own */
    char *token_url;
    char *user_url;
    char *client_id; /* of the application for modules that name none; "": there is none */
    char *client_secret_file;
};

/* The settings of a file, or their defaults.  The strings belong to the struct. */
struct conf {
    char *path; /* of the file; NULL: no file, all settings have their defaults */
    char *service_name;
    char *providers;
    char *provider_words; /* its words, each ended by NUL */
    const char *provider_names[OAUTH_N_PROVIDERS];
    char *base_url;        /* without a trailing slash; "": derived from each request */
    char *allowed_origins; /* separated by blanks, or "*"; "": none */
    int drain_ms;          /* how long it serves after SIGTERM */
    char *conninfo;
    char *admin_conninfo;        /* for aditctl */
    bool require_acl;            /* a credential needs a rule */
    bool require_account_in_key; /* of an API key */
    bool is_by_account;          /* each account has a place of its own in the database */
    char *key_file;
    struct conf_gateway gateway;
    struct conf_mutual_tls mutual_tls;
    struct conf_gate gate;
    struct conf_provider oauth_providers[OAUTH_N_PROVIDERS]; /* in the order of provider_names */
    struct log log;
    /* Of each row of the table, and for each provider: the line of the value in the file, 0 if it
     * is the default; and the text of the value, unless a member above has it. */
    int lines[CONF_MAX_SETTINGS][OAUTH_N_PROVIDERS];
    char *texts[CONF_MAX_SETTINGS][OAUTH_N_PROVIDERS];
    char fault[240]; /* what is wrong with a value, while the file is read */
};

/* Room for the reason of a failure. */
#define CONF_REASON_SIZE 512

/* Reads the settings from the file at path.  If path is NULL, reads the first of
 *   - the file that the variable ADIT_CONF names,
 *   - ROOT/etc/adit.conf, for a program in ROOT/bin or ROOT/libexec/adit,
 *   - the file at the compiled-in path,
 *   - adit.conf in the folder of the program.
 * If none of the last three exists, all settings have their defaults.  Returns false with a reason,
 * which names the file and the line, and quotes no value that may be secret.  conf_free()
 * is due in either case. */
MUST_CHECK bool conf_read(struct conf *conf, const char *path, char reason[CONF_REASON_SIZE]);

/* Returns whether a setting of [gateway] or [mutual_tls] has another value than its default.
 * aditctl uses domain_ports too, so this one does not count; nor do the times. */
MUST_CHECK bool conf_has_gateway(const struct conf *conf);

/* Returns how much memory the machine has. */
MUST_CHECK uint64_t conf_machine_bytes(void);

/* Returns whether a setting of [gate] or [provider.NAME] has another value than its default. */
MUST_CHECK bool conf_has_gate(const struct conf *conf);

/* Returns whether the settings have an OAuth application for modules of a provider, by its
 * position, that name none.  Without a setting of adit-gate, they are another host's. */
enum oauth_application conf_oauth_application(const struct conf *conf, int provider);

/* Frees the strings, and makes the struct all zero. */
void conf_free(struct conf *conf);

#endif
