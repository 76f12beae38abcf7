/* SPDX-License-Identifier: MIT */
/* Warnings of modules that let in whom they may not be meant to, when commands write modules. */
#ifndef ADIT_CTL_ADMISSION_H
#define ADIT_CTL_ADMISSION_H

#include "base/buf.h"
#include "conf/conf.h"
#include "store/oauth_module.h"

/* The warnings of a command.  The caller fills in the first two members. */
struct admission_warnings {
    const struct conf *conf;
    struct buf *out; /* a line is appended for each */
    size_t n;
};

/* Warns if a module that is written to the route lets in anyone or nobody, at all or by one of its
 * lists.  module: as oauth_admission_find(), or NULL if the route's module is deleted. */
void admission_warn(struct admission_warnings *warnings, const struct oauth_route *route,
                    const struct oauth_module *module);

/* Ends the warnings: says how many modules were not named. */
void admission_warn_rest(const struct admission_warnings *warnings);

#endif
