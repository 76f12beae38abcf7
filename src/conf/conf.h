/* SPDX-License-Identifier: MIT */
/* The settings.  One table serves reading the file and printing the sample. */
#ifndef ADIT_CONF_CONF_H
#define ADIT_CONF_CONF_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

#include "base/log.h"
#include "base/must_check.h"
#include "model/oauth_module.h"

/* The settings of a file, or their defaults.  The strings belong to the struct. */
struct conf {
    char *path; /* of the file; NULL: no file, all settings have their defaults */
    char *service_name;
    char *providers; /* the words of the setting, each ended by NUL */
    const char *provider_names[OAUTH_N_PROVIDERS];
    char *base_url; /* without a trailing slash; "": derived from each request */
    char *conninfo;
    char *admin_conninfo; /* for aditctl */
    char *key_file;
    struct log log;
    char *mutual_tls_edges; /* ids, separated by blanks */
    char *mutual_tls_authorities;
    char *mutual_tls_output;  /* needs no quotes in a web server's configuration */
    char *mutual_tls_reload;  /* a program and its arguments, separated by blanks; "": none */
    char *mutual_tls_haproxy; /* "": none */
    char fault[240];          /* what is wrong with a connection string, while the file is read */
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

/* Frees the strings, and makes the struct all zero. */
void conf_free(struct conf *conf);

/* Prints a settings file with all defaults and an explanation of each setting. */
void conf_print_sample(FILE *out);

#endif
