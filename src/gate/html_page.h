/* SPDX-License-Identifier: MIT */
/* The pages that visitors see: HTML without scripts. */
#ifndef ADIT_GATE_HTML_PAGE_H
#define ADIT_GATE_HTML_PAGE_H

#include <stdbool.h>

#include "base/buf.h"
#include "base/text.h"

enum html_page {
    HTML_PAGE_SIGN_OUT, /* asks a visitor who is signed in */
    HTML_PAGE_SIGNED_OUT,
    HTML_PAGE_NOT_ALLOWED, /* signed in, but not listed */
    HTML_PAGE_NO_PROVIDER, /* the module lets nobody in */
    HTML_PAGE_NO_MODULE,   /* the route has none, and the settings refuse such routes */
    HTML_PAGE_NOT_SET_UP,  /* the module, the settings or the web server lacks what a login needs */
    HTML_PAGE_CHECK_AWAY,  /* signed in, and the provider does not answer */
    HTML_PAGE_PROVIDER_AWAY,
    HTML_PAGE_LOGIN_FAILED, /* the provider refused, the state is wrong, expired or of another
                               browser */
    HTML_PAGE_NOT_READY,    /* the gate cannot decide: database, keys, settings */
    HTML_PAGE_N
};

/* The value of Content-Security-Policy for every page.  The digest is that of the style element. */
#define HTML_PAGE_POLICY                                                                           \
    "default-src 'none'; style-src 'sha256-TnAI3FiyJZbhJ4ABE6Dq14Q3MnWtiJuOzYkq1ZymTOc='; "        \
    "form-action 'self'; base-uri 'none'; frame-ancestors 'none'"

/* Names are cut after this many characters. */
#define HTML_PAGE_NAME_MAX 100

/* Bytes of the longest path that a page links to. */
#define HTML_PAGE_PATH_MAX 512

/* No link is written for a path that is absent, longer than HTML_PAGE_PATH_MAX or no way back
 * (login_way_back_valid()). */
struct html_page_words {
    struct text who;      /* "Signed in as"; absent: nobody */
    struct text provider; /* the provider's title; absent: not said */
    struct text again;    /* path of "Try again" or "Sign in" */
    bool again_is_here;   /* in its place, the page's own URL, however long that is */
    struct text logout;   /* path of "Sign out", to which the browser sends a POST */
};

/* Returns the HTTP status of a page. */
int html_page_status(enum html_page page);

/* Appends the page: HTML in UTF-8, all words escaped, less than 8 KiB.  Control characters and
 * bytes that are not UTF-8 become U+FFFD.  A failure sets out->failed. */
void html_page_write(struct buf *out, enum html_page page, const struct html_page_words *words);

#endif
