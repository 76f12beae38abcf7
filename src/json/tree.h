/* SPDX-License-Identifier: MIT */
/* JSON bodies as trees (json-c).  The getters convert no types, and their errors name the path of
 * the member. */
#ifndef ADIT_JSON_TREE_H
#define ADIT_JSON_TREE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/error.h"
#include "base/must_check.h"
#include "base/text.h"

struct json_object; /* json-c's */

/* A value in a body, and its place.  A node points to its parent, which must outlive it. */
struct json_node {
    struct json_object *value; /* NULL: absent or null */
    const struct json_node *parent;
    const char *name; /* of the member, or NULL at the top */
};

/* Checks a body strictly (json/check.h) and parses it.  Returns true with *top, which the caller
 * frees with json_free(), or false with *err = ERR_BODY_NOT_JSON or ERR_OUT_OF_MEMORY. */
MUST_CHECK bool json_parse(const char *text, size_t len, struct json_node *top, struct error *err);

/* The same for what may be an answer, or an entry of a document (json_check_answer()). */
MUST_CHECK bool json_parse_answer(const char *text, size_t len, struct json_node *top,
                                  struct error *err);

/* The same for one object or list with at most max_values values (json_check_large()). */
MUST_CHECK bool json_parse_large(const char *text, size_t len, size_t max_values,
                                 struct json_node *top, struct error *err);

/* Overwrites the strings of the tree and frees it.  Accepts a node that is all zero. */
void json_free(struct json_node *top);

/* Returns the member of that name; its value is NULL if it is absent or null.  The node keeps
 * pointers to the name and to the object. */
struct json_node json_member(const struct json_node *object, const char *name);

/* Returns whether the value is a list. */
bool json_is_list(const struct json_node *node);

/* Returns how many elements a list has, or 0 for any other value. */
size_t json_count(const struct json_node *list);

/* Returns an element of a list that has it.  Its path begins anew, without the list's. */
struct json_node json_element(const struct json_node *list, size_t index);

/* Replaces the member of that name by a text, or adds it.  Nodes of the former value become
 * invalid.  Returns false if memory runs out. */
MUST_CHECK bool json_set_text(const struct json_node *object, const char *name, const char *value);

/* Returns whether the value is neither absent nor null; whether it is null, of a json_member(). */
bool json_given(const struct json_node *node);
bool json_is_null(const struct json_node *member);

/* Room for a member's path; a longer one is cut. */
#define JSON_PATH_SIZE 192

/* Writes the path of the member, or of its element `index` unless that is -1, such as
 * provider.provider_a.teams[2].  Returns out. */
const char *json_path(char out[JSON_PATH_SIZE], const struct json_node *node, int index);

/* Returns true if the node is an object, or false with *err = ERR_WRONG_VALUE. */
MUST_CHECK bool json_is_object(const struct json_node *node, struct error *err);

/* Calls known() with the name of each member of the object, in the order of the body.  Returns the
 * first name that is not known, which belongs to the tree, or an absent text. */
struct text json_find_unknown(const struct json_node *object,
                              bool (*known)(const void *context, struct text name),
                              const void *context);

/* These read a value.  If it is absent or null they return true and leave *out unchanged.  They
 * return false with *err = ERR_WRONG_VALUE if the value has another type.  Text belongs to the
 * tree, and the array of a list to the arena. */
MUST_CHECK bool json_get_text(const struct json_node *node, struct text *out, struct error *err);
MUST_CHECK bool json_get_bool(const struct json_node *node, bool *out, struct error *err);

/* Accepts any notation of a whole number from 0 to 4294967295, such as 1e3 and 10.0. */
MUST_CHECK bool json_get_uint32(const struct json_node *node, uint32_t *out, struct error *err);

/* Takes a whole number without sign and exponent as its digits. */
MUST_CHECK bool json_get_digits(const struct json_node *node, struct text *out, struct error *err);

/* Every element must be a string.  Returns false with the error too_many if there are more than
 * max, and with ERR_OUT_OF_MEMORY. */
MUST_CHECK bool json_get_texts(const struct json_node *node, size_t max, enum error_code too_many,
                               struct arena *arena, struct text_list *out, struct error *err);

#endif
