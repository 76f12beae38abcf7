/* SPDX-License-Identifier: MIT */
/* The statements of an SQL script. */
#ifndef ADIT_STORE_SCRIPT_H
#define ADIT_STORE_SCRIPT_H

/* Returns the first statement of *rest, without the comments before it and the semicolon after it,
 * and moves *rest behind it.  Puts a NUL in place of the semicolon.  NULL: there is no more.
 *
 * Knows '...', "...", $tag$...$tag$, and comments that hold no other comment.  Backslashes mean
 * nothing. */
char *script_next(char **rest);

#endif
