/* SPDX-License-Identifier: MIT */
/* Printing settings files: for --print-settings of the programs. */
#ifndef ADIT_CONF_PRINT_H
#define ADIT_CONF_PRINT_H

#include <stdio.h>

#include "conf/conf.h"

/* The options --print-settings and --effective. */
struct conf_print {
    bool is_asked;
    bool is_effective;
};

#define CONF_PRINT_HELP                                                                            \
    "      --print-settings    print a settings file with every setting and its default\n"         \
    "      --effective         with --print-settings: as each setting is in effect, and where "    \
    "it\n"                                                                                         \
    "                          is set; without passwords\n"

/* Prints a settings file: with all defaults and an explanation of each setting; or, if
 * is_effective, with each setting as conf_read(path) reads it, and where it is set.  That has no
 * passwords, and can be read again.  Returns false with a reason. */
MUST_CHECK bool conf_print(FILE *out, const char *path, bool is_effective,
                           char reason[CONF_REASON_SIZE]);

/* Does on standard output what the options of a program ask for.  Returns its exit status, after a
 * message on standard error if that is not 0; or -1 if they ask for nothing. */
MUST_CHECK int conf_print_asked(const char *program, const struct conf_print *asked,
                                const char *path);

#endif
