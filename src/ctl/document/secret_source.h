/* SPDX-License-Identifier: MIT */
/* Where a document may take client secrets from: its author need not be who applies it, and who
 * applies it may read more. */
#ifndef ADIT_CTL_DOCUMENT_SECRET_SOURCE_H
#define ADIT_CTL_DOCUMENT_SECRET_SOURCE_H

#include "ctl/ctl.h"
#include "ctl/secret_file.h"

/* Reads the variable that a document names.  Accepts only one that begins with --secret-env, and
 * none that Adit or libpq reads.  The value belongs to the environment.  Returns false with the
 * reason. */
MUST_CHECK bool secret_source_variable(const struct ctl *ctl, struct text name, struct text *secret,
                                       char reason[SECRET_REASON_SIZE]);

/* Reads the file that a document names, as secret_file_read().  Accepts only one below the folder
 * of --secret-files, also where links lead, and none that the settings or libpq name.  Returns
 * false with the reason. */
MUST_CHECK bool secret_source_file(const struct ctl *ctl, struct text name, struct arena *arena,
                                   struct text *secret, char reason[SECRET_REASON_SIZE]);

#endif
