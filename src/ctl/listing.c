/* SPDX-License-Identifier: MIT */
/* aditctl's lists: aligned columns on a terminal, tabs elsewhere for programs. */
#include <string.h>
#include <unistd.h>

#include "ctl/ctl.h"

#define GAP 2 /* spaces between the columns of a terminal */

/* Returns the number of characters, as an estimate of the terminal columns. */
static int width_of(struct text value)
{
    int width = 0;

    for (size_t i = 0; i < value.len; i++)
        width += ((unsigned char)value.s[i] & 0xC0) != 0x80;
    return width;
}

static struct text cell(const struct pg_result *result, int row, int column)
{
    struct text value = pg_text(result, row, column);

    return value.s ? value : text_of("-");
}

/* aditctl accepts no control characters, but another program may have written to the tables. */
static void print_cell(struct text value)
{
    for (size_t i = 0; i < value.len; i++) {
        unsigned char c = (unsigned char)value.s[i];

        putchar(c < 0x20 || c == 0x7F ? '?' : c);
    }
}

static void print_gap(int room)
{
    printf("%*s", room > 0 ? room + GAP : GAP, "");
}

static void print_row(const struct text *cells, const int *widths, int n)
{
    for (int i = 0; i < n; i++) {
        print_cell(cells[i]);
        if (i + 1 == n)
            putchar('\n');
        else if (widths[0])
            print_gap(widths[i] - width_of(cells[i]));
        else
            putchar('\t');
    }
}

void ctl_print_cells(const struct text *cells, const int *widths, int n)
{
    static const int none[CTL_MAX_COLUMNS];

    print_row(cells, isatty(STDOUT_FILENO) ? widths : none, n);
}

static void measure(const char *const *names, int n, const struct pg_result *result, int *widths)
{
    for (int column = 0; column < n; column++) {
        widths[column] = width_of(text_of(names[column]));
        for (int row = 0; row < pg_rows(result); row++) {
            int width = width_of(cell(result, row, column));

            if (width > widths[column])
                widths[column] = width;
        }
    }
}

void ctl_print_list(const char *const *names, const struct pg_result *result)
{
    struct text cells[CTL_MAX_COLUMNS];
    int widths[CTL_MAX_COLUMNS] = {0}; /* all 0: tabs */
    int n = 0;

    for (; n < CTL_MAX_COLUMNS && names[n]; n++)
        cells[n] = text_of(names[n]);
    if (isatty(STDOUT_FILENO))
        measure(names, n, result, widths);
    print_row(cells, widths, n);
    for (int row = 0; row < pg_rows(result); row++) {
        for (int column = 0; column < n; column++)
            cells[column] = cell(result, row, column);
        print_row(cells, widths, n);
    }
}
