/* SPDX-License-Identifier: MIT */
/* MUST_CHECK before a prototype makes the compiler warn if a caller ignores the result. */
#ifndef ADIT_BASE_MUST_CHECK_H
#define ADIT_BASE_MUST_CHECK_H

#define MUST_CHECK __attribute__((warn_unused_result))

#endif
