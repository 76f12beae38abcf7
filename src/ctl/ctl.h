/* SPDX-License-Identifier: MIT */
/* aditctl's commands: one function each, and what they share. */
#ifndef ADIT_CTL_CTL_H
#define ADIT_CTL_CTL_H

#include "conf/conf.h"
#include "pg/pg.h"
#include "store/oauth_secret.h"

/* Exit statuses. */
enum { CTL_OK = 0, CTL_FAILED = 1, CTL_USAGE = 2 };

/* What the options of a command line say; those that it does not have keep their zero. */
struct ctl_options {
    const char *account;
    const char *name;
    const char *holder; /* --for */
    const char *expires;
    const char *description;
    bool is_admin;
    bool read_only;
    const char *wait;
    const char *audit_days;
    const char *prefix;
    const char *docs;
    const char *socket;
    const char *program;
    const char *argument; /* what follows the options, or NULL */
};

struct ctl {
    const char *conf_path; /* -c, or NULL */
    struct conf conf;
    struct pg *pg; /* as the command's row says; connects when it is first used */
    struct ctl_options options;
};

/* Print "aditctl: ..." on standard error.  Return CTL_FAILED and CTL_USAGE. */
int ctl_fail(const char *format, ...) __attribute__((format(printf, 1, 2)));
int ctl_misuse(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* Returns what was wrong as one line, static; libpq writes several. */
const char *ctl_reason(const struct error *err);

/* Prints it. */
int ctl_fail_error(const struct error *err);

/* Returns whether the text is UTF-8 without control characters and at most 255 bytes long; if not,
 * says so of the option.  NULL is fine. */
bool ctl_text_valid(const char *option, const char *text);

/* Reads a whole number and a unit, such as 90d, as seconds; at most 3660 days.  Returns false where
 * it is none. */
bool ctl_read_duration(const char *s, int64_t *seconds);

/* Calls lost with a line for each key that secrets are sealed under and that the keyring lacks;
 * NULL lacks all.  Returns how many secrets are under keys that it has. */
int64_t ctl_lost_keys(const struct ctl *ctl, const struct oauth_secret_counts *counts,
                      const struct keyring *keyring, void (*lost)(void *context, const char *what),
                      void *context);

#define CTL_MAX_COLUMNS 8

/* Prints rows of text under the names of their columns, which end with NULL: aligned where standard
 * output is a terminal, else with a tab between.  What is not given shows as "-". */
void ctl_print_list(const char *const *names, const struct pg_result *result);

/* Returns the name of the user that the process runs as, or its number; static. */
const char *ctl_user_name(void);

/* The commands.  Each returns the exit status. */
int ctl_migrate(struct ctl *ctl);
int ctl_account_create(struct ctl *ctl);
int ctl_account_list(struct ctl *ctl);
int ctl_user_create(struct ctl *ctl);
int ctl_user_list(struct ctl *ctl);
int ctl_bot_create(struct ctl *ctl);
int ctl_bot_list(struct ctl *ctl);
int ctl_key_issue(struct ctl *ctl);
int ctl_key_list(struct ctl *ctl);
int ctl_key_revoke(struct ctl *ctl);
int ctl_secrets_init(struct ctl *ctl);
int ctl_secrets_add_key(struct ctl *ctl);
int ctl_secrets_rekey(struct ctl *ctl);
int ctl_purge(struct ctl *ctl);
int ctl_openapi(struct ctl *ctl);
int ctl_doctor(struct ctl *ctl);
int ctl_web_server(struct ctl *ctl);

#endif
