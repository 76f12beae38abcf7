/* SPDX-License-Identifier: MIT */
/* A keyring in a temporary folder, for tests of what it seals. */
#ifndef ADIT_TESTS_KEYS_H
#define ADIT_TESTS_KEYS_H

#include <sys/types.h>

#include "gate/visitor_session.h"

#define KEYS_0 "0000000000000000000000000000000000000000000000000000000000000000"
#define KEYS_1 "1111111111111111111111111111111111111111111111111111111111111111"

extern struct keyring *keys;
extern struct arena keys_arena;
extern const struct sealed_place keys_place;

/* The fixture: a key file with the key "k", KEYS_0. */
void keys_make(void);
void keys_remove(void);

/* Replaces the key file.  keys_load() makes a new keyring of it. */
void keys_write(const char *content, mode_t mode);
void keys_load(void);

/* Returns bytes sealed for a purpose and keys_place as a cookie's value, in keys_arena. */
struct text keys_seal(const char *purpose, struct text bytes);

#endif
