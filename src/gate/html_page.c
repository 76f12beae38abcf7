/* SPDX-License-Identifier: MIT */
/* One template for all pages, and a table of what they say. */
#include "gate/html_page.h"

#include "base/utf8.h"
#include "gate/login_state.h"

/* HTML_PAGE_POLICY holds the SHA-256 of this text. */
#define STYLE                                                                                      \
    ":root{color-scheme:light dark;font:100%/1.5 system-ui,sans-serif}"                            \
    "body{margin:0;padding:12vh 1.5rem 2rem}"                                                      \
    "main{max-width:34rem;margin:auto;overflow-wrap:anywhere}"                                     \
    "h1{font-size:1.5rem;line-height:1.25}"                                                        \
    "a,button{display:inline-block;font:inherit;padding:.5rem 0}"                                  \
    "button{padding:.5rem 1rem}"

/* A page says: "You are signed in as WHO." if somebody is, first, about_provider with the
 * provider's name before it, or nameless if the name is not known, and last.  NULL: nothing. */
static const struct page_text {
    int status;
    const char *title;
    const char *first;
    const char *before_provider;
    const char *after_provider;
    const char *nameless;
    const char *last;
    const char *again; /* the link's words */
} texts[HTML_PAGE_N] = {
    [HTML_PAGE_SIGN_OUT] = {.status = 200,
                            .title = "Sign out of this site?",
                            .last = "You sign out with the button below.",
                            .again = "Stay signed in"},
    [HTML_PAGE_SIGNED_OUT] = {.status = 200,
                              .title = "Signed out",
                              .first = "You are signed out of this site.",
                              .before_provider = "You may still be signed in at ",
                              .after_provider = ".",
                              .again = "Sign in"},
    [HTML_PAGE_NOT_ALLOWED] =
        {.status = 403,
         .title = "Not allowed",
         .last = "This site does not let you in. Its operator decides who may pass.",
         .again = "Try again"},
    [HTML_PAGE_NO_PROVIDER] =
        {.status = 403,
         .title = "Nobody is let in",
         .first = "Visitors of this site have to sign in, but its operator has not "
                  "chosen a service to sign in with.",
         .again = "Try again"},
    [HTML_PAGE_NO_MODULE] = {.status = 403,
                             .title = "Nobody is let in",
                             .first = "The operator of this site has not said who may pass.",
                             .again = "Try again"},
    [HTML_PAGE_NOT_SET_UP] = {.status = 503,
                              .title = "Nobody can sign in",
                              .first =
                                  "Visitors of this site have to sign in, but its operator has "
                                  "not finished setting that up.",
                              .last = "Tell the operator of the site.",
                              .again = "Try again"},
    [HTML_PAGE_CHECK_AWAY] = {.status = 503,
                              .title = "Your sign-in cannot be checked now",
                              .before_provider = "",
                              .after_provider = " does not answer.",
                              .nameless = "The service that you signed in with does not answer.",
                              .last = "Try again in a minute.",
                              .again = "Try again"},
    [HTML_PAGE_PROVIDER_AWAY] = {.status = 503,
                                 .title = "You cannot sign in now",
                                 .before_provider = "",
                                 .after_provider = " does not answer.",
                                 .nameless = "The service that you sign in with does not answer.",
                                 .last = "Try again in a minute.",
                                 .again = "Try again"},
    [HTML_PAGE_LOGIN_FAILED] = {.status = 403,
                                .title = "Sign-in failed",
                                .before_provider = "",
                                .after_provider = " did not sign you in, or you began more than 10 "
                                                  "minutes ago or in another browser.",
                                .nameless =
                                    "You were not signed in, or you began more than 10 minutes "
                                    "ago or in another browser.",
                                .again = "Try again"},
    [HTML_PAGE_NOT_READY] = {.status = 503,
                             .title = "Not ready",
                             .first = "This site cannot check now who may pass.",
                             .last =
                                 "Try again in a minute. If this page stays, tell the operator of "
                                 "the site.",
                             .again = "Try again"},
};

int html_page_status(enum html_page page)
{
    return texts[page].status;
}

/* ---- words ---- */

static void put_html(struct buf *out, const char *s, size_t len)
{
    switch (*s) {
    case '&':
        buf_puts(out, "&amp;");
        break;
    case '<':
        buf_puts(out, "&lt;");
        break;
    case '>':
        buf_puts(out, "&gt;");
        break;
    case '"':
        buf_puts(out, "&#34;");
        break;
    case '\'':
        buf_puts(out, "&#39;");
        break;
    default:
        buf_add(out, s, len);
    }
}

/* Writes one character, and returns its length in bytes. */
static size_t put_character(struct buf *out, const unsigned char *at, const unsigned char *end)
{
    size_t len = utf8_char_len(at, end);
    size_t decoded_len;

    if (len == 0 || utf8_is_control(utf8_decode(at, &decoded_len)))
        buf_puts(out, "\xEF\xBF\xBD");
    else
        put_html(out, (const char *)at, len);
    return len ? len : 1;
}

/* <bdi> keeps a name's direction of writing from turning the words around it. */
static void put_name(struct buf *out, struct text name)
{
    const unsigned char *at = (const unsigned char *)name.s;
    const unsigned char *end = at + name.len;

    buf_puts(out, "<bdi>");
    for (int n = 0; n < HTML_PAGE_NAME_MAX && at < end; n++)
        at += put_character(out, at, end);
    buf_puts(out, at < end ? "\xE2\x80\xA6</bdi>" : "</bdi>");
}

static bool can_link(struct text path)
{
    return path.s && path.len <= HTML_PAGE_PATH_MAX && login_way_back_valid(path);
}

/* A valid way back is ASCII. */
static void put_path(struct buf *out, struct text path)
{
    for (size_t i = 0; i < path.len; i++)
        put_html(out, path.s + i, 1);
}

/* ---- the page ---- */

static void put_sentence(struct buf *out, const char *sentence)
{
    if (!sentence)
        return;
    buf_puts(out, "<p>");
    buf_puts(out, sentence);
    buf_puts(out, "</p>\n");
}

static void put_provider(struct buf *out, const struct page_text *text, struct text provider)
{
    if (!text->before_provider || !text_present(provider)) {
        put_sentence(out, text->nameless);
        return;
    }
    buf_printf(out, "<p>%s", text->before_provider);
    put_name(out, provider);
    buf_printf(out, "%s</p>\n", text->after_provider);
}

static void put_links(struct buf *out, const struct page_text *text,
                      const struct html_page_words *words)
{
    if (words->again_is_here) {
        buf_printf(out, "<p><a href=\"\">%s</a></p>\n", text->again);
    } else if (can_link(words->again)) {
        buf_puts(out, "<p><a href=\"");
        put_path(out, words->again);
        buf_printf(out, "\">%s</a></p>\n", text->again);
    }
    if (can_link(words->logout)) {
        buf_puts(out, "<form method=\"post\" action=\"");
        put_path(out, words->logout);
        buf_puts(out, "\"><button>Sign out</button></form>\n");
    }
}

static const char head[] =
    "<!DOCTYPE html>\n"
    "<html lang=\"en\">\n"
    "<head>\n"
    "<meta charset=\"utf-8\">\n"
    "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
    "<meta name=\"robots\" content=\"noindex\">\n"
    "<style>" STYLE "</style>\n";

void html_page_write(struct buf *out, enum html_page page, const struct html_page_words *words)
{
    const struct page_text *text = &texts[page];

    buf_puts(out, head);
    buf_printf(out, "<title>%s</title>\n</head>\n<body>\n<main>\n<h1>%s</h1>\n", text->title,
               text->title);
    if (text_present(words->who)) {
        buf_puts(out, "<p>You are signed in as ");
        put_name(out, words->who);
        buf_puts(out, ".</p>\n");
    }
    put_sentence(out, text->first);
    put_provider(out, text, words->provider);
    put_sentence(out, text->last);
    put_links(out, text, words);
    buf_puts(out, "</main>\n</body>\n</html>\n");
}
