/* SPDX-License-Identifier: MIT */
/* aditctl's line of progress. */
#include "ctl/progress.h"

#include <stdlib.h>
#include <unistd.h>

#include "base/clock.h"

#define FIRST_MS 1000
#define EACH_MS 200

/* Moves to the start of the line, and erases it. */
#define ERASE "\r\033[K"

/* Returns whether standard error is a terminal that can erase a line.  A program that reads JSON
 * from a pipe often has the terminal of somebody who looks at something else. */
static bool is_wanted(const struct ctl *ctl)
{
    const char *terminal = getenv("TERM");

    return isatty(STDERR_FILENO) && terminal && strcmp(terminal, "dumb") != 0 &&
           (!ctl->options.json || isatty(STDOUT_FILENO));
}

void progress_start(struct progress *progress, const struct ctl *ctl, const char *what,
                    int64_t total)
{
    *progress = (struct progress){.line = ctl->line,
                                  .what = what,
                                  .total = total,
                                  .is_wanted = ctl->line->is_wanted,
                                  .next_ms = clock_steady_ms() + FIRST_MS};
}

void progress_start_output(struct progress *progress, const struct ctl *ctl, const char *what)
{
    progress_start(progress, ctl, what, 0);
    progress->is_wanted = progress->is_wanted && !isatty(STDOUT_FILENO);
}

void progress_show(struct progress *progress, int64_t n_done)
{
    int64_t now_ms;

    if (!progress->is_wanted || (now_ms = clock_steady_ms()) < progress->next_ms)
        return;
    progress->next_ms = now_ms + EACH_MS;
    progress->line->is_counted = true;
    if (progress->total > 0)
        fprintf(stderr, ERASE "%lld of %lld %s (%d %%)", (long long)n_done,
                (long long)progress->total, progress->what,
                (int)((double)n_done * 100 / (double)progress->total));
    else
        fprintf(stderr, ERASE "%lld %s", (long long)n_done, progress->what);
}

static void show_work(void *context, int64_t n)
{
    progress_show(context, n);
}

struct long_work progress_work(struct progress *progress)
{
    return (struct long_work){.done = show_work, .context = progress};
}

void progress_erase(struct progress *progress)
{
    if (progress->line->is_counted)
        fputs(ERASE, stderr);
    progress->line->is_counted = false;
}

/* ---- waits ---- */

static bool wait_and_show(void *context, int fd, short events, int64_t deadline_ms)
{
    const struct progress_line *line = context;
    int64_t seconds = 0;
    int64_t next_ms = clock_steady_ms();
    bool is_shown = false;
    bool is_ready = false;

    while (!is_ready && line->is_wanted && !line->is_counted) {
        next_ms += 1000;
        if (next_ms >= deadline_ms)
            break;
        is_ready = wait_alone.until(NULL, fd, events, next_ms);
        if (!is_ready)
            fprintf(stderr, ERASE "waiting for the database, %lld s", (long long)++seconds);
        is_shown = is_shown || !is_ready;
    }
    if (!is_ready)
        is_ready = wait_alone.until(NULL, fd, events, deadline_ms);
    if (is_shown)
        fputs(ERASE, stderr);
    return is_ready;
}

struct wait progress_wait(struct ctl *ctl, struct progress_line *line)
{
    *line = (struct progress_line){.is_wanted = is_wanted(ctl)};
    ctl->line = line;
    return (struct wait){.until = wait_and_show, .context = line};
}
