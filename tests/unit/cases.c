/* SPDX-License-Identifier: MIT */
/* The reader of case files. */
#include "cases.h"

#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"

static const char *unescape(struct buf *out, const char *at, const char *end)
{
    char text[512];
    unsigned byte;
    int count;

    switch (at[1]) {
    case 't':
        buf_add(out, "\t", 1);
        return at + 2;
    case 'n':
        buf_add(out, "\n", 1);
        return at + 2;
    case 'r':
        buf_add(out, "\r", 1);
        return at + 2;
    case '\\':
        buf_add(out, "\\", 1);
        return at + 2;
    case 'x':
        ck_assert_msg(sscanf(at + 2, "%2x", &byte) == 1, "bad \\x in a case");
        buf_add(out, &(char){(char)byte}, 1);
        return at + 4;
    case '{':
        ck_assert_msg(sscanf(at + 2, "%511[^*]*%d}", text, &count) == 2, "bad \\{ in a case");
        while (count-- > 0)
            buf_puts(out, text);
        at = memchr(at, '}', (size_t)(end - at));
        ck_assert_msg(at != NULL, "\\{ without } in a case");
        return at + 1;
    default:
        ck_abort_msg("unknown escape \\%c in a case", at[1]);
    }
}

void cases_unescape(struct buf *out, const char *s)
{
    const char *end = s + strlen(s);

    while (s < end) {
        if (*s == '\\') {
            s = unescape(out, s, end);
        } else {
            buf_add(out, s, 1);
            s++;
        }
    }
    buf_add(out, "", 0);
}

void cases_run(const char *name, void (*run)(const struct test_case *))
{
    const char *dir = getenv("CASES_DIR");
    char path[4096];
    char *line = NULL;
    size_t size = 0;
    int n_cases = 0;
    FILE *file;

    ck_assert_msg(dir != NULL, "CASES_DIR is not set");
    snprintf(path, sizeof path, "%s/%s", dir, name);
    file = fopen(path, "r");
    ck_assert_msg(file != NULL, "cannot open %s", path);
    for (int number = 1; getline(&line, &size, file) >= 0; number++) {
        struct test_case test = {.file = name, .line = number, .expected = line};
        struct buf input = {0};

        line[strcspn(line, "\n")] = '\0';
        if (line[0] == '\0' || line[0] == '#')
            continue;
        test.input = strchr(line, '\t');
        test.why = test.input ? strchr(test.input + 1, '\t') : NULL;
        ck_assert_msg(test.why != NULL, "%s:%d: not three fields", name, number);
        *test.input++ = '\0';
        *test.why++ = '\0';
        cases_unescape(&input, test.input);
        test.input = input.data;
        test.input_len = input.len;
        run(&test);
        buf_free(&input);
        n_cases++;
    }
    free(line);
    fclose(file);
    ck_assert_msg(n_cases > 0, "%s holds no case", path);
    printf("%s: %d cases\n", name, n_cases);
}
