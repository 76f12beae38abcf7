/* SPDX-License-Identifier: MIT */
/* Turns rows of member_table.h into rows of struct field.  `type` is the resource's struct.
 *
 *     MEMBER_READ      those that a row of the database is read into
 *     MEMBER_IN_POST   those of the body of a POST or PUT
 *     MEMBER_IN_PATCH  those of the body of a PATCH, and those that it refuses
 *     MEMBER_NOT       none
 *
 * MEMBER_DECLARED makes the members of that struct. */
#ifndef ADIT_MODEL_MEMBER_H
#define ADIT_MODEL_MEMBER_H

#include "model/field.h"
#include "model/member_table.h"

/* clang-format off */

#define MEMBER_OF_TEXT .kind = FIELD_TEXT
#define MEMBER_OF_TEXTS .kind = FIELD_TEXTS
#define MEMBER_OF_BOOL .kind = FIELD_BOOL
#define MEMBER_OF_UINT32 .kind = FIELD_UINT32
#define MEMBER_OF_NUMBER .kind = FIELD_NUMBER
#define MEMBER_OF_TIME .kind = FIELD_TIME
#define MEMBER_OF_TIME_OR_NULL .kind = FIELD_TIME_OR_NULL
#define MEMBER_OF_PROVIDER .kind = FIELD_PROVIDER
#define MEMBER_OF_SECRET .kind = FIELD_TEXT, .is_secret = true, .is_sealed = true

/* Whether a body gives it, where the value does not say that: beside the value. */
#define MEMBER_ASIDE_TEXT(name)
#define MEMBER_ASIDE_TEXTS(name)
#define MEMBER_ASIDE_BOOL(name) bool name##_given;
#define MEMBER_ASIDE_UINT32(name) bool name##_given;
#define MEMBER_ASIDE_TIME_OR_NULL(name) bool name##_given;
#define MEMBER_ASIDE_PROVIDER(name)
#define MEMBER_ASIDE_SECRET(name)
#define MEMBER_GIVEN_AT_TEXT(type, at)
#define MEMBER_GIVEN_AT_TEXTS(type, at)
#define MEMBER_GIVEN_AT_BOOL(type, at) .given = offsetof(struct type, at##_given),
#define MEMBER_GIVEN_AT_UINT32(type, at) .given = offsetof(struct type, at##_given),
#define MEMBER_GIVEN_AT_TIME_OR_NULL(type, at) .given = offsetof(struct type, at##_given),
#define MEMBER_GIVEN_AT_PROVIDER(type, at)
#define MEMBER_GIVEN_AT_SECRET(type, at)
#define MEMBER_GIVEN_CHANGE(type, at, kind) MEMBER_GIVEN_AT_##kind(type, at)
#define MEMBER_GIVEN_KEY(type, at, kind)
#define MEMBER_GIVEN_CREATE(type, at, kind)
#define MEMBER_GIVEN_OWNER(type, at, kind)
#define MEMBER_GIVEN_MADE(type, at, kind)
#define MEMBER_GIVEN_SERVER(type, at, kind)

/* A row whose value is at `at` in the struct.  Its last argument begins with the default. */
#define MEMBER_ROW_AT(type, at, name_, kind_, use_, shown_, ...)                                   \
    {.name = #name_, .offset = offsetof(struct type, at), MEMBER_OF_##kind_,                       \
     MEMBER_GIVEN_##use_(type, at, kind_)                                                          \
     .use = FIELD_USE_##use_, .shown = FIELD_##shown_, .absent = FIELD_##__VA_ARGS__},
#define MEMBER_ROW(type, name, kind, use, fixed, shown, filter, ...)                               \
    MEMBER_ROW_AT(type, name, name, kind, use, shown, __VA_ARGS__)
#define MEMBER_REFUSED(type, name_, kind_, use_, fixed_, ...)                                      \
    {.name = #name_, .kind = FIELD_REFUSED, .invalid = (fixed_)},
#define MEMBER_NOT(...)

#define MEMBER_TYPE_TEXT struct text
#define MEMBER_TYPE_TEXTS struct text_list
#define MEMBER_TYPE_BOOL bool
#define MEMBER_TYPE_UINT32 uint32_t
#define MEMBER_TYPE_NUMBER int64_t
#define MEMBER_TYPE_TIME int64_t
#define MEMBER_TYPE_TIME_OR_NULL int64_t
#define MEMBER_TYPE_PROVIDER int
#define MEMBER_TYPE_SECRET struct field_secret

#define MEMBER_DECLARED(with, name, kind, use, ...) MEMBER_DECLARED_##use(name, kind)
#define MEMBER_DECLARED_KEY(name, kind) MEMBER_TYPE_##kind name;
#define MEMBER_DECLARED_PATH(name, kind)
#define MEMBER_DECLARED_CHANGE(name, kind) MEMBER_TYPE_##kind name; MEMBER_ASIDE_##kind(name)
#define MEMBER_DECLARED_CREATE(name, kind) MEMBER_TYPE_##kind name;
#define MEMBER_DECLARED_OWNER(name, kind) MEMBER_TYPE_##kind name;
#define MEMBER_DECLARED_MADE(name, kind) MEMBER_TYPE_##kind name;
#define MEMBER_DECLARED_SERVER(name, kind) MEMBER_TYPE_##kind name;

#define MEMBER_READ(type, name, kind, use, ...)                                                    \
    MEMBER_READ_##use(type, name, kind, use, __VA_ARGS__)
#define MEMBER_READ_KEY(...) MEMBER_ROW(__VA_ARGS__)
#define MEMBER_READ_PATH(...)
#define MEMBER_READ_CHANGE(...) MEMBER_ROW(__VA_ARGS__)
#define MEMBER_READ_CREATE(...) MEMBER_ROW(__VA_ARGS__)
#define MEMBER_READ_OWNER(...) MEMBER_ROW(__VA_ARGS__)
#define MEMBER_READ_MADE(...) MEMBER_ROW(__VA_ARGS__)
#define MEMBER_READ_SERVER(...) MEMBER_ROW(__VA_ARGS__)

#define MEMBER_IN_POST(type, name, kind, use, ...)                                                 \
    MEMBER_IN_POST_##use(type, name, kind, use, __VA_ARGS__)
#define MEMBER_IN_POST_KEY(...)
#define MEMBER_IN_POST_PATH(...)
#define MEMBER_IN_POST_CHANGE(...) MEMBER_ROW(__VA_ARGS__)
#define MEMBER_IN_POST_CREATE(...) MEMBER_ROW(__VA_ARGS__)
#define MEMBER_IN_POST_OWNER(...) MEMBER_ROW(__VA_ARGS__)
#define MEMBER_IN_POST_MADE(...)
#define MEMBER_IN_POST_SERVER(...)

#define MEMBER_IN_PATCH(type, name, kind, use, ...)                                                \
    MEMBER_IN_PATCH_##use(type, name, kind, use, __VA_ARGS__)
#define MEMBER_IN_PATCH_KEY(...) MEMBER_ROW(__VA_ARGS__)
#define MEMBER_IN_PATCH_PATH(...)
#define MEMBER_IN_PATCH_CHANGE(...) MEMBER_ROW(__VA_ARGS__)
#define MEMBER_IN_PATCH_CREATE(...) MEMBER_REFUSED(__VA_ARGS__)
#define MEMBER_IN_PATCH_OWNER(...) MEMBER_REFUSED(__VA_ARGS__)
#define MEMBER_IN_PATCH_MADE(...)
#define MEMBER_IN_PATCH_SERVER(...)

/* clang-format on */

#endif
