/* SPDX-License-Identifier: MIT */
/* Reading one entry of a document, from the tree of its JSON. */
#ifndef ADIT_MODEL_DOCUMENT_ENTRY_H
#define ADIT_MODEL_DOCUMENT_ENTRY_H

#include "model/document.h"

/* Reads the entry of the kind that entry->kind names into entry->of.  Text belongs to the tree or
 * the arena, arrays to the arena.  Returns false with the error of the first wrong member; values
 * that a row may have since before are among entry->faults instead. */
MUST_CHECK bool document_entry_read(const struct json_node *top, const struct oauth_names *names,
                                    struct arena *arena, struct document_entry *entry,
                                    struct error *err);

#endif
