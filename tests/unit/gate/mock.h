/* SPDX-License-Identifier: MIT */
/* The mocks of the providers: tests/unit/gate/mocks in a process of its own. */
#ifndef ADIT_TESTS_GATE_MOCK_H
#define ADIT_TESTS_GATE_MOCK_H

/* For a suite, outside of its tests. */
void mock_start(void);
void mock_stop(void);

/* Returns what the mocks have printed beside a name: the file "ca"; "github", a URL without a path;
 * "github.user", the path of an endpoint; "github.email", what is to be found of alice, or "-". */
const char *mock_value(const char *name);

/* Ends a user's tokens. */
void mock_revoke(const char *name, const char *user);

#endif
