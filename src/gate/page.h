/* SPDX-License-Identifier: MIT */
/* The pages that visitors see: HTML without scripts. */
#ifndef ADIT_GATE_PAGE_H
#define ADIT_GATE_PAGE_H

#include <stdbool.h>

#include "base/buf.h"
#include "base/text.h"

enum page {
    PAGE_SIGN_OUT, /* asks a visitor who is signed in */
    PAGE_SIGNED_OUT,
    PAGE_NOT_ALLOWED, /* signed in, but not listed */
    PAGE_NO_PROVIDER, /* the module lets nobody in */
    PAGE_NO_MODULE,   /* the route has none, and the settings refuse such routes */
    PAGE_NOT_SET_UP,  /* the module, the settings or the web server lacks what a login needs */
    PAGE_CHECK_AWAY,  /* signed in, and the provider does not answer */
    PAGE_PROVIDER_AWAY,
    PAGE_LOGIN_FAILED, /* the provider refused, the state is wrong, expired or of another browser */
    PAGE_NOT_READY,    /* the gate cannot decide: database, keys, settings */
    PAGE_N
};

/* The value of Content-Security-Policy for every page.  The digest is that of the style element. */
#define PAGE_POLICY                                                                                \
    "default-src 'none'; style-src 'sha256-TnAI3FiyJZbhJ4ABE6Dq14Q3MnWtiJuOzYkq1ZymTOc='; "        \
    "form-action 'self'; base-uri 'none'; frame-ancestors 'none'"

/* Names are cut after this many characters. */
#define PAGE_NAME_MAX 100

/* Bytes of the longest path that a page links to. */
#define PAGE_PATH_MAX 512

/* No link is written for a path that is absent, longer than PAGE_PATH_MAX or no way back
 * (login_way_back_valid()). */
struct page_words {
    struct text who;      /* "Signed in as"; absent: nobody */
    struct text provider; /* the provider's title; absent: not said */
    struct text again;    /* path of "Try again" or "Sign in" */
    bool again_is_here;   /* in its place, the page's own URL, however long that is */
    struct text logout;   /* path of "Sign out", to which the browser sends a POST */
};

/* Returns the HTTP status of a page. */
int page_status(enum page page);

/* Appends the page: HTML in UTF-8, all words escaped, less than 8 KiB.  Control characters and
 * bytes that are not UTF-8 become U+FFFD.  A failure sets out->failed. */
void page_write(struct buf *out, enum page page, const struct page_words *words);

#endif
