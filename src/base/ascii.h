/* SPDX-License-Identifier: MIT */
/* Classes of ASCII characters.  Unlike <ctype.h> they ignore the locale and take any char. */
#ifndef ADIT_BASE_ASCII_H
#define ADIT_BASE_ASCII_H

#include <stdbool.h>

static inline bool ascii_is_digit(char c)
{
    return c >= '0' && c <= '9';
}

static inline bool ascii_is_lower(char c)
{
    return c >= 'a' && c <= 'z';
}

static inline bool ascii_is_upper(char c)
{
    return c >= 'A' && c <= 'Z';
}

/* A letter or a digit. */
static inline bool ascii_is_alnum(char c)
{
    return ascii_is_digit(c) || ascii_is_lower(c) || ascii_is_upper(c);
}

/* A printable character that is not a space. */
static inline bool ascii_is_visible(char c)
{
    return c > ' ' && c <= '~';
}

/* A space or a tab. */
static inline bool ascii_is_blank(char c)
{
    return c == ' ' || c == '\t';
}

/* A space, a tab, CR or LF: the white space of JSON and of text files. */
static inline bool ascii_is_space(char c)
{
    return ascii_is_blank(c) || c == '\n' || c == '\r';
}

static inline char ascii_lower(char c)
{
    return ascii_is_upper(c) ? (char)(c - 'A' + 'a') : c;
}

static inline char ascii_upper(char c)
{
    return ascii_is_lower(c) ? (char)(c - 'a' + 'A') : c;
}

/* Returns the value of a hexadecimal digit, or -1. */
static inline int ascii_hex_value(char c)
{
    if (ascii_is_digit(c))
        return c - '0';
    c = ascii_lower(c);
    return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

#endif
