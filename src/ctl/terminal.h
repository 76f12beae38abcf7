/* SPDX-License-Identifier: MIT */
/* Text from arguments, files and the database, made safe and short enough for a terminal. */
#ifndef ADIT_CTL_TERMINAL_H
#define ADIT_CTL_TERMINAL_H

#include "base/buf.h"

/* Appends the text.  A '?' stands for each control character (utf8_is_control()), for each byte
 * that is not UTF-8, and for each character that shows nothing: neither escape sequences nor
 * changes of direction reach the terminal, and nothing is hidden from who reads it.  Characters
 * that join others stay where scripts and emoji use them. */
void terminal_put(struct buf *out, struct text text);

/* Appends the line "aditctl: warning: ..." with the text in the same way. */
void terminal_put_warning(struct buf *out, struct text text);

/* Appends a message in the same way.  Cuts a word that is longer than any name to its first 80
 * bytes and "...", and leaves out the middle of a message of more than 4,096 bytes. */
void terminal_put_message(struct buf *out, struct text message);

#endif
