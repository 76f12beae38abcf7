/* SPDX-License-Identifier: MIT */
/* One row of the table of settings, which the parser, what prints settings and the manual page
 * share. */
#ifndef ADIT_CONF_SETTING_H
#define ADIT_CONF_SETTING_H

#include <stdint.h>

#include "base/must_check.h"
#include "conf/conf.h"

/* The section of settings that each identity provider has, in a section of its own. */
#define CONF_PROVIDER_PREFIX "provider."
#define CONF_PROVIDER_SECTION CONF_PROVIDER_PREFIX "NAME"

/* The offset of a setting whose text is in the texts of struct conf. */
#define CONF_NO_PLACE SIZE_MAX

/* What check() returns without memory. */
#define CONF_NO_MEMORY "cannot be stored: out of memory"

/* How much of a value may be printed. */
enum conf_secrecy { CONF_AS_IS, CONF_WITHOUT_PASSWORD /* a conninfo */ };

struct conf_setting {
    const char *section;
    const char *key;
    const char *standard; /* the default */
    /* Of the char * in struct conf; of the first provider's, if each has one.  CONF_NO_PLACE:
     * check() keeps the value. */
    size_t offset;

    /* Checks a value, and may change it in place.  Returns NULL if the value is right.  If not,
     * returns what it has to be, as the words that follow the setting's name: static, or in
     * conf->fault until the next check.  A message quotes the value before the former; the latter
     * quotes what it may, since a value may hold a password. */
    const char *(*check)(struct conf *conf, char *value);
    enum conf_secrecy secrecy;
    const char *help; /* lines for the sample file, without "; " */
};

extern const struct conf_setting conf_settings[];
extern const size_t conf_n_settings;

/* Returns how many values a setting has: one, or one for each provider. */
MUST_CHECK size_t conf_n_values(const struct conf_setting *setting);

/* Returns the text of a value, which belongs to *conf: what is in effect. */
MUST_CHECK const char *conf_value(const struct conf *conf, const struct conf_setting *setting,
                                  size_t which);

/* Checks a value and keeps a copy of it in *conf, in place of the one before.  which: of the
 * setting's values, from 0.  Returns NULL if the value is right.  If not, returns what check()
 * says, or that memory ran out. */
MUST_CHECK const char *conf_set(struct conf *conf, const struct conf_setting *setting, size_t which,
                                const char *value);

/* Sets what follows from other values, once all are set.  Returns false with a reason of at most
 * CONF_REASON_SIZE bytes if memory runs out. */
MUST_CHECK bool conf_complete(struct conf *conf, char *reason);

#endif
