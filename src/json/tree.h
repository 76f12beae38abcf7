/* SPDX-License-Identifier: MIT */
/* JSON bodies as trees (json-c), and getters that convert nothing and name the member's path when
 * they refuse it. */
#ifndef ADIT_JSON_TREE_H
#define ADIT_JSON_TREE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/error.h"
#include "base/must_check.h"
#include "base/text.h"

struct json_object; /* json-c's */

/* A value in a body and where it stands.  A node refers to its parent, which must outlive it. */
struct json_node {
    struct json_object *value; /* NULL: not given, or null */
    const struct json_node *parent;
    const char *name; /* of the member, or NULL at the top */
};

/* Parses a body after checking it strictly (json/check.h).  Returns true and sets *top, which
 * the caller hands to json_free(), or false with *err (ERR_BODY_NOT_JSON or ERR_OUT_OF_MEMORY). */
MUST_CHECK bool json_parse(const char *text, size_t len, struct json_node *top, struct error *err);

/* Overwrites the strings of the tree and frees it.  Safe on a node that is all zero. */
void json_free(struct json_node *top);

/* Returns the member of that name, not given if it is absent or null.  The name must outlive it. */
struct json_node json_member(const struct json_node *object, const char *name);

/* Returns whether the value is given, and not null. */
bool json_given(const struct json_node *node);

/* Room for a member's path. */
#define JSON_PATH_SIZE 192

/* Writes the member's path, such as provider.provider_a.teams[2]; index -1: the member itself.
 * Returns out. */
const char *json_path(char out[JSON_PATH_SIZE], const struct json_node *node, int index);

/* Returns whether the node is an object; if not, *err is ERR_WRONG_VALUE. */
MUST_CHECK bool json_is_object(const struct json_node *node, struct error *err);

/* Calls known for the name of each member of the object, in the body's order.  Returns the name of
 * the first for which it returns false, owned by the tree, or a text that is not given. */
struct text json_find_unknown(const struct json_node *object,
                              bool (*known)(const void *context, struct text name),
                              const void *context);

/* Read a value that is given, else leave *out as it is.  Return false with *err = ERR_WRONG_VALUE
 * where it is of another type.  Text belongs to the tree; a list's array to the arena. */
MUST_CHECK bool json_get_text(const struct json_node *node, struct text *out, struct error *err);
MUST_CHECK bool json_get_bool(const struct json_node *node, bool *out, struct error *err);

/* A uint32 is any number whose value is whole and in range, in whatever notation. */
MUST_CHECK bool json_get_uint32(const struct json_node *node, uint32_t *out, struct error *err);

/* Every element must be a string.  At most max of them, else *err = too_many. */
MUST_CHECK bool json_get_texts(const struct json_node *node, size_t max, enum error_code too_many,
                               struct arena *arena, struct text_list *out, struct error *err);

#endif
