/* SPDX-License-Identifier: MIT */
/* Takes SQL scripts apart. */
#include "store/script.h"

#include <stdbool.h>
#include <string.h>

#include "base/ascii.h"

static bool is_in_word(char c)
{
    return ascii_is_alnum(c) || c == '_' || c == '$';
}

static char *behind(char *s, const char *end, size_t len)
{
    char *found = strstr(s, end);

    return found ? found + len : s + strlen(s);
}

/* Returns where the quoted text ends that begins at s, with $tag$; NULL: none begins there. */
static char *skip_dollars(char *s)
{
    char *tag = s + 1;
    char *end;
    size_t len;

    while (*tag && *tag != '$' && is_in_word(*tag))
        tag++;
    if (*tag != '$' || ascii_is_digit(s[1]))
        return NULL;
    len = (size_t)(tag + 1 - s);
    for (end = strchr(s + len, '$'); end; end = strchr(end + 1, '$')) {
        if (strncmp(end, s, len) == 0)
            return end + len;
    }
    return s + strlen(s);
}

/* Returns where the comment ends that begins at s; NULL: none begins there. */
static char *skip_comment(char *s)
{
    if (s[0] == '-' && s[1] == '-')
        return behind(s, "\n", 1);
    if (s[0] == '/' && s[1] == '*')
        return behind(s + 2, "*/", 2);
    return NULL;
}

/* Returns where the word, the quoted text, the comment or the other character ends that begins at
 * s. */
static char *skip_one(char *s)
{
    char *end = *s == '$' ? skip_dollars(s) : skip_comment(s);

    if (end)
        return end;
    if (*s == '\'')
        return behind(s + 1, "'", 1);
    if (*s == '"')
        return behind(s + 1, "\"", 1);
    for (end = s + 1; is_in_word(*s) && is_in_word(*end);)
        end++;
    return end;
}

char *script_next(char **rest)
{
    char *start = *rest;
    char *end;

    for (;;) {
        start += strspn(start, " \t\n;");
        end = skip_comment(start);
        if (!end)
            break;
        start = end;
    }
    for (end = start; *end && *end != ';';)
        end = skip_one(end);
    *rest = *end ? end + 1 : end;
    *end = '\0';
    return *start ? start : NULL;
}
