/* SPDX-License-Identifier: MIT */
/* Fuzz target: what the gate takes from a visitor's URL and shows.  The input is a query, a path
 * and query, and two names.  A NUL ends each. */
#include "base/ascii.h"
#include "base/utf8.h"
#include "fuzz.h"
#include "gate/form.h"
#include "gate/html_page.h"
#include "gate/login_state.h"

#define PAGE_BYTES_MAX 8192

static bool try_parameter(struct text query, const char *name)
{
    struct arena arena = {0};
    struct text value;
    bool ok = form_find(query, name, &arena, &value);

    if (ok && value.s) {
        MUST(value.len <= query.len && value.s[value.len] == '\0');
        MUST(strlen(value.s) == value.len);
    }
    ok = ok && value.s;
    arena_free(&arena);
    return ok;
}

/* Returns the path as a browser and a proxy may resolve it, in memory of the caller: percent
 * escapes decoded, '\' as '/', tab and newline removed, "." and ".." resolved. */
static void resolve(struct text path, char *out)
{
    size_t len = 0;
    size_t start;

    for (size_t i = 0; i < path.len && path.s[i] != '?' && path.s[i] != '#'; i++) {
        int high = path.s[i] == '%' && path.len - i > 2 ? ascii_hex_value(path.s[i + 1]) : -1;
        int low = high < 0 ? -1 : ascii_hex_value(path.s[i + 2]);
        char c = low < 0 ? path.s[i] : (char)(high << 4 | low);

        i += low < 0 ? 0 : 2;
        if (c != '\t' && c != '\n' && c != '\r')
            out[len++] = (char)(c == '\\' ? '/' : c);
        /* A segment ends: "/.." takes the one before it, "/." goes. */
        for (start = len; start > 0 && out[start - 1] != '/'; start--)
            ;
        if (len - start == 2 && memcmp(out + start, "..", 2) == 0 &&
            (i + 1 == path.len || strchr("/\\?#", path.s[i + 1]))) {
            len = start > 1 ? start - 1 : 1;
            while (len > 1 && out[len - 1] != '/')
                len--;
        }
    }
    out[len] = '\0';
}

static bool try_way_back(struct text path)
{
    char *resolved = malloc(path.len + 1);

    MUST(resolved);
    if (!login_way_back_valid(path)) {
        free(resolved);
        return false;
    }
    MUST(is_plain(path) && path.s[0] == '/' && path.len <= LOGIN_WAY_BACK_MAX);
    resolve(path, resolved);
    MUST(resolved[0] == '/' && resolved[1] != '/');
    free(resolved);
    return true;
}

/* Returns how often the character is in the page. */
static size_t count(const struct buf *page, char c)
{
    size_t n = 0;

    for (size_t i = 0; i < page->len; i++)
        n += page->data[i] == c;
    return n;
}

/* No word of a visitor adds to the page's elements and attributes. */
static void try_page(enum html_page which, const struct html_page_words *words)
{
    const struct html_page_words tame = {.who = text_of(text_present(words->who) ? "a" : ""),
                                         .provider =
                                             text_of(text_present(words->provider) ? "a" : ""),
                                         .again = words->again.s ? text_of("/") : words->again};
    struct buf page = {0};
    struct buf wanted = {0};

    html_page_write(&page, which, words);
    html_page_write(&wanted, which, &tame);
    MUST(!page.failed && page.len < PAGE_BYTES_MAX && utf8_valid(page.data, page.len));
    for (const char *c = "<>\"'"; *c; c++)
        MUST(count(&page, *c) == count(&wanted, *c));
    buf_free(&page);
    buf_free(&wanted);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct input input = input_of(data, size);
    char *parts[4];
    struct html_page_words words;
    bool ok;

    for (size_t i = 0; i < 4; i++)
        parts[i] = take_string(&input);
    ok = try_parameter(text_of(parts[0]), "state");
    ok = try_parameter(text_of(parts[0]), "code") && ok;
    words = (struct html_page_words){.who = text_of(parts[2]), .provider = text_of(parts[3])};
    if (try_way_back(text_of(parts[1])) && strlen(parts[1]) <= HTML_PAGE_PATH_MAX)
        words.again = text_of(parts[1]);
    for (int i = 0; i < HTML_PAGE_N; i++)
        try_page((enum html_page)i, &words);
    if (ok && words.again.s)
        accepted();
    for (size_t i = 0; i < 4; i++)
        free(parts[i]);
    return 0;
}
