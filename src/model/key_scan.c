/* SPDX-License-Identifier: MIT */
/* Searching a text for keys. */
#include "model/key_scan.h"

#include <string.h>
#include <strings.h>

#include "base/ascii.h"
#include "model/ssh_wire.h"

bool key_scan_has(struct text text, const char *needle)
{
    return memmem(text.s, text.len, needle, strlen(needle)) != NULL;
}

static bool has_in_any_case(struct text text, const char *needle)
{
    size_t len = strlen(needle);

    for (size_t i = 0; i + len <= text.len; i++) {
        if (strncasecmp(text.s + i, needle, len) == 0)
            return true;
    }
    return false;
}

/* A comment may be "my private key's other half".  So most words count only in the form in which
 * files of keys have them, but PRIVATE KEY in capitals counts anywhere. */
bool key_scan_private(struct text text)
{
    return key_scan_has(text, "PRIVATE KEY") || key_scan_has(text, "AGE-SECRET-KEY-") ||
           has_in_any_case(text, "private key--") || has_in_any_case(text, "private key --") ||
           has_in_any_case(text, "putty-user-key-file") ||
           has_in_any_case(text, "private-lines:") ||
           key_scan_has(text, "b3BlbnNzaC1rZXktdjE"); /* "openssh-key-v1" */
}

bool key_scan_certificate(struct text text)
{
    return key_scan_has(text, "CERTIFICATE-----") || key_scan_has(text, "CERTIFICATE REQUEST-----");
}

/* Returns whether the text begins with the name of a key's type and the first bytes of its data. */
static bool key_begins(struct text text)
{
    struct text name = key_scan_word(&text);

    return text_begins(text, KEY_SCAN_BASE64_BEGIN) &&
           ssh_type_of(name.s, name.len)->kind != SSH_KIND_UNKNOWN;
}

/* Takes time in proportion to the length: words do not overlap. */
size_t key_scan_keys(struct text text, size_t *first)
{
    size_t n_keys = 0;

    *first = 0;
    for (size_t i = 0; i < text.len; i++) {
        struct text rest = text_part(text, i, text.len);
        bool word = !ascii_is_space(text.s[i]) && (i == 0 || ascii_is_space(text.s[i - 1]));

        if (!text_begins(rest, KEY_SCAN_PEM_BEGIN) && !text_begins(rest, KEY_SCAN_SSH2_BEGIN) &&
            !(word && key_begins(rest)))
            continue;
        if (n_keys++ == 0)
            *first = i;
    }
    return n_keys;
}

struct text key_scan_word(struct text *text)
{
    struct text word = {.s = text->s, .len = 0};

    while (word.len < text->len && !ascii_is_space(word.s[word.len]))
        word.len++;
    text->s += word.len;
    text->len -= word.len;
    while (text->len > 0 && ascii_is_blank(*text->s)) {
        text->s++;
        text->len--;
    }
    return word;
}
