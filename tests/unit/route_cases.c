/* SPDX-License-Identifier: MIT */
/* The cases of paths. */
#include "route_cases.h"

#include <check.h>
#include <string.h>

#include "base/ident.h"

/* Writes the match in the form of a case's expectation. */
static void show(struct buf *out, const struct route_match *match)
{
    buf_puts(out, match->route->path);
    for (size_t i = 0; i < ROUTE_MAX_IDS && match->ids[i].s; i++) {
        buf_puts(out, ident_valid(match->ids[i]) ? " " : " !");
        buf_add(out, match->ids[i].s, match->ids[i].len);
    }
}

void route_case_check(const struct route *routes, const struct test_case *test)
{
    char *path = strchr(test->input, ' ');
    struct route_match match;
    struct buf allow = {0};
    struct buf shown = {0};
    struct buf wanted = {0};
    struct error err = {.code = ERR_NONE};
    bool found;

    ck_assert_msg(path != NULL, "%s:%d: no path", test->file, test->line);
    *path++ = '\0';
    found = route_find(routes, test->input, path, &match, &allow, &err);
    if (found && match.route)
        show(&shown, &match);
    else if (found || err.code == ERR_METHOD_NOT_ALLOWED)
        buf_printf(&shown, "ALLOW %s", allow.data);
    else
        buf_puts(&shown, error_row(err.code)->symbol);
    /* Escapes the bytes of an identifier that a case file cannot have. */
    cases_unescape(&wanted, test->expected);
    ck_assert_msg(text_eq(buf_text(&shown), buf_text(&wanted)), "%s:%d: %s (%s)", test->file,
                  test->line, shown.data, test->why);
    ck_assert_int_eq(match.is_head, strcmp(test->input, "HEAD") == 0);
    ck_assert_int_eq(match.is_options, strcmp(test->input, "OPTIONS") == 0);
    if (found && match.route) {
        ck_assert_int_eq(route_check_ids(&match, &err), strchr(test->expected, '!') == NULL);
        ck_assert_str_eq(match.route->method, match.is_head ? "GET" : test->input);
    } else if (!found && err.code == ERR_METHOD_NOT_ALLOWED) {
        ck_assert_msg(strstr(err.msg, allow.data) != NULL, "%s:%d: %s", test->file, test->line,
                      err.msg);
    }
    buf_free(&allow);
    buf_free(&shown);
    buf_free(&wanted);
}
