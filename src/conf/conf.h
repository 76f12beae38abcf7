/* SPDX-License-Identifier: MIT */
/* The settings: one table from which the file is read and its sample is printed. */
#ifndef ADIT_CONF_CONF_H
#define ADIT_CONF_CONF_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

#include "base/log.h"
#include "base/must_check.h"
#include "model/oauth_module.h"

/* The settings of a file, defaults filled in.  Strings belong to it. */
struct conf {
    char *path; /* of the file; NULL where there was none and all are defaults */
    char *service_name;
    char *providers; /* the words of the setting, each ended by NUL */
    const char *provider_names[OAUTH_N_PROVIDERS];
    char *base_url; /* without a trailing slash; "" where it is derived from requests */
    char *conninfo;
    char *admin_conninfo; /* what aditctl connects with */
    char *key_file;
    struct log log;
};

#define CONF_REASON_SIZE 512

/* Reads the settings: from the file at path, else (NULL) from the one that ADIT_CONF names, else
 * from etc/adit.conf of the tree that the program stands in, else from the compiled-in path, else
 * from adit.conf beside the program; where the last three are not there, all settings have their
 * defaults.  Returns false with a reason, which names file and line and quotes no value that may be
 * secret. */
MUST_CHECK bool conf_read(struct conf *conf, const char *path, char reason[CONF_REASON_SIZE]);

/* Frees what is in it. */
void conf_free(struct conf *conf);

/* Prints a settings file that says what the defaults say, with an explanation of each. */
void conf_print_sample(FILE *out);

#endif
