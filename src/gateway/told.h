/* SPDX-License-Identifier: MIT */
/* What was logged of the authorities' files: once for each version of a file. */
#ifndef ADIT_GATEWAY_TOLD_H
#define ADIT_GATEWAY_TOLD_H

#include "base/ident.h"
#include "gateway/authority.h"

/* All zero: nothing. */
struct told {
    struct told_file {
        char authority[IDENT_MAX + 1];
        struct authority_stamp stamp;
        uint64_t text; /* its hash */
    } *items;
    size_t n;
};

/* Notes what is logged of a version of an authority's file.  Returns false if the same was the last
 * that was logged of the file, and true also if memory runs out. */
bool told_note(struct told *told, struct text authority, const struct authority_stamp *stamp,
               struct text text);

void told_free(struct told *told);

#endif
