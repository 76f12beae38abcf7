/* SPDX-License-Identifier: MIT */
/* The reader of case files. */
#include "cases.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"

/* Without Check: programs without suites read cases, too. */
static void must(bool holds, const char *what, const char *why)
{
    if (holds)
        return;
    fprintf(stderr, "%s: %s\n", what, why);
    exit(EXIT_FAILURE);
}

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
        must(sscanf(at + 2, "%2x", &byte) == 1, at, "bad \\x in a case");
        buf_add(out, &(char){(char)byte}, 1);
        return at + 4;
    case '{':
        must(sscanf(at + 2, "%511[^*]*%d}", text, &count) == 2, at, "bad \\{ in a case");
        while (count-- > 0)
            buf_puts(out, text);
        at = memchr(at, '}', (size_t)(end - at));
        must(at != NULL, text, "\\{ without } in a case");
        return at + 1;
    default:
        must(false, at, "unknown escape in a case");
        return end;
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

/* Takes a line apart.  The caller frees the input. */
static struct test_case take_apart(const char *name, int number, char *line)
{
    struct test_case test = {.file = name, .line = number, .expected = line};
    struct buf input = {0};
    char *escaped = strchr(line, '\t');

    test.why = escaped ? strchr(escaped + 1, '\t') : NULL;
    must(test.why != NULL, name, "a line has not three fields");
    *escaped++ = '\0';
    *test.why++ = '\0';
    cases_unescape(&input, escaped);
    test.input = input.data;
    test.input_len = input.len;
    return test;
}

int cases_each(const char *name, void (*run)(const struct test_case *))
{
    const char *dir = getenv("CASES_DIR");
    char path[4096];
    char *line = NULL;
    size_t size = 0;
    int n_cases = 0;
    FILE *file;

    must(dir != NULL, name, "CASES_DIR is not set");
    snprintf(path, sizeof path, "%s/%s", dir, name);
    file = fopen(path, "re");
    must(file != NULL, path, "cannot be opened");
    for (int number = 1; getline(&line, &size, file) >= 0; number++) {
        struct test_case test;

        line[strcspn(line, "\n")] = '\0';
        if (line[0] == '\0' || line[0] == '#')
            continue;
        test = take_apart(name, number, line);
        run(&test);
        free(test.input);
        n_cases++;
    }
    free(line);
    fclose(file);
    must(n_cases > 0, path, "holds no case");
    return n_cases;
}

void cases_run(const char *name, void (*run)(const struct test_case *))
{
    printf("%s: %d cases\n", name, cases_each(name, run));
}
