/* SPDX-License-Identifier: MIT */
/* Warnings of what lets in whom it may not be meant to, when commands write it. */
#ifndef ADIT_CTL_ADMISSION_H
#define ADIT_CTL_ADMISSION_H

#include "base/buf.h"
#include "conf/conf.h"
#include "model/resource.h"

/* The warnings of a command.  The caller fills in the first two members. */
struct admission_warnings {
    const struct conf *conf;
    struct buf *out; /* a line is appended for each */
    size_t n;
};

/* Warns if a module that is written to the route lets in anyone or nobody, at all or by one of its
 * lists.  module: as oauth_admission_find(), or NULL if the route's module is deleted. */
void admission_warn(struct admission_warnings *warnings, const struct module_place *route,
                    const struct oauth_module *module);

/* The same for the module of a TLS edge. */
void admission_warn_edge(struct admission_warnings *warnings, struct text edge_id,
                         const struct mutual_tls_module *module);

/* Warns of a credential that loses all of its rules. */
void admission_warn_rules(struct admission_warnings *warnings, struct text id);

/* Ends the warnings: says how many were not printed. */
void admission_warn_rest(const struct admission_warnings *warnings);

#endif
