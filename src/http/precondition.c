/* SPDX-License-Identifier: MIT */
/* Entity tags and conditional requests. */
#include "http/precondition.h"

#include <string.h>

#include "base/number.h"

void etag_write(char out[ETAG_SIZE], int64_t revision)
{
    size_t len = number_write(out + 1, (uint64_t)revision);

    out[0] = '"';
    out[len + 1] = '"';
    out[len + 2] = '\0';
}

/* Returns the revision that an opaque tag stands for, or -1.  Only the shortest form of a number is
 * a tag: "042" is another tag than "42". */
static int64_t revision_of(const char *tag, size_t len)
{
    uint64_t revision;

    if (len > 1 && tag[0] == '0')
        return -1;
    return number_read((struct text){.s = tag, .len = len}, 10, INT64_MAX, &revision)
               ? (int64_t)revision
               : -1;
}

static const char *skip_blanks(const char *at)
{
    return at + strspn(at, " \t");
}

/* Reads [ W/ ] "..." and moves *at behind it.  Returns false for anything else. */
static bool read_tag(const char **at, bool *weak, const char **tag, size_t *len)
{
    const char *s = *at;

    *weak = strncmp(s, "W/", 2) == 0;
    if (*weak)
        s += 2;
    if (*s++ != '"')
        return false;
    *tag = s;
    while (*s && *s != '"') {
        if ((unsigned char)*s <= ' ' || *s == 0x7F)
            return false;
        s++;
    }
    *len = (size_t)(s - *tag);
    *at = s + 1;
    return *s == '"';
}

/* Weak tags never match in If-Match, which compares strongly (RFC 9110, 8.8.3.2). */
static bool read_tags(const char *at, bool take_weak, struct revisions *revisions)
{
    while (*(at = skip_blanks(at)) != '\0') {
        const char *tag;
        size_t len;
        bool weak;
        int64_t revision;

        if (*at == ',') {
            at++;
            continue;
        }
        if (!read_tag(&at, &weak, &tag, &len))
            return false;
        revision = weak && !take_weak ? -1 : revision_of(tag, len);
        if (revision >= 0) {
            if (revisions->n == PRECONDITION_MAX_TAGS)
                return false;
            revisions->items[revisions->n++] = revision;
        }
        at = skip_blanks(at);
        if (*at && *at != ',')
            return false;
    }
    return true;
}

static bool read_header(const char *name, const char *value, bool take_weak,
                        struct revisions *revisions, struct error *err)
{
    size_t len;

    *revisions = (struct revisions){.given = value != NULL};
    if (!value)
        return true;
    value = skip_blanks(value);
    len = strcspn(value, " \t");
    if (len == 1 && *value == '*' && !*skip_blanks(value + len)) {
        revisions->items[revisions->n++] = REVISION_ANY;
        return true;
    }
    return read_tags(value, take_weak, revisions) ||
           error_say(err, ERR_CONDITION_MALFORMED,
                     "%s is neither '*' nor a list of at most %d entity tags. Send the ETag of "
                     "an answer unchanged, with its quotes.",
                     name, PRECONDITION_MAX_TAGS);
}

bool precondition_read(const struct request *request, struct precondition *condition,
                       struct error *err)
{
    return read_header("If-Match", request->if_match, false, &condition->match, err) &&
           read_header("If-None-Match", request->if_none_match, true, &condition->none_match, err);
}

bool precondition_given(const struct precondition *condition)
{
    return condition->match.given || condition->none_match.given;
}

static bool names(const struct revisions *revisions, int64_t revision)
{
    for (size_t i = 0; i < revisions->n; i++) {
        if (revisions->items[i] == REVISION_ANY || revisions->items[i] == revision)
            return true;
    }
    return false;
}

enum precondition_result precondition_check(const struct precondition *condition, int64_t revision)
{
    if (condition->match.given && !names(&condition->match, revision))
        return PRECONDITION_FAILED;
    return names(&condition->none_match, revision) ? PRECONDITION_NOT_MODIFIED : PRECONDITION_HOLDS;
}
