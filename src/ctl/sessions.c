/* SPDX-License-Identifier: MIT */
/* aditctl session list and session end: the SSH sessions of the gateway on this machine. */
#include <string.h>

#include "ask/ask.h"
#include "base/number.h"
#include "base/time.h"
#include "ctl/listing.h"

/* The daemon answers from memory. */
#define TIMEOUT_MS 2000

/* ---- asking ---- */

#define START                                                                                      \
    "to start it, run: systemctl start adit-gateway; only root and its own user may ask it"

/* What to do if a question ended so. */
static const char *const hints[] = {
    [ASK_LATE] = "to restart it, run: systemctl restart adit-gateway",
    [ASK_FORBIDDEN] = "run this as root, or as the user of adit-gateway",
    [ASK_DOWN] = START,
    [ASK_FAILED] = START,
};

enum ctl_answer ctl_ask_gateway(const struct ctl *ctl, const char *const *lines, struct buf *answer,
                                struct text *rest, char reason[CTL_ASK_REASON_SIZE])
{
    char fault[ASK_REASON_SIZE];
    struct text word;
    bool is_none;
    enum ask_end end = ask_gateway(ctl->conf.gateway.socket, lines, TIMEOUT_MS, answer, fault);

    if (end != ASK_ANSWERED) {
        snprintf(reason, CTL_ASK_REASON_SIZE, "cannot ask adit-gateway: %s; %s", fault, hints[end]);
        return CTL_NO_ANSWER;
    }
    *rest = buf_text(answer);
    word = ask_next_line(rest);
    if (text_eq(word, text_of(ASK_OK)))
        return CTL_ANSWER_OK;
    is_none = text_eq(word, text_of(ASK_NONE));
    if (text_eq(word, text_of(ASK_MISUSE)))
        word = ask_next_line(rest);
    snprintf(reason, CTL_ASK_REASON_SIZE, "adit-gateway answers: %.*s", (int)word.len,
             word.s ? word.s : "");
    return is_none ? CTL_ANSWER_NONE : CTL_NO_ANSWER;
}

/* ---- session list ---- */

enum column {
    COLUMN_PID,
    COLUMN_SINCE,
    COLUMN_FINGERPRINT,
    COLUMN_ACCOUNT,
    COLUMN_CREDENTIALS,
    N_COLUMNS
};

static const struct listing_column columns[N_COLUMNS] = {
    [COLUMN_PID] = {"PID", "pid", LISTING_NUMBER, 7},
    [COLUMN_SINCE] = {"SINCE", "since", LISTING_TIME, 20},
    [COLUMN_FINGERPRINT] = {"FINGERPRINT", "fingerprint", LISTING_TEXT, 50},
    [COLUMN_ACCOUNT] = {"ACCOUNT", "account_id", LISTING_TEXT, 30},
    [COLUMN_CREDENTIALS] = {"CREDENTIALS", "credential_ids", LISTING_LIST, 0},
};

static const struct listing listing = {"sessions", columns, N_COLUMNS};

/* Splits a line at its tabs.  Returns false if it has another number of columns. */
static bool split_line(struct text line, struct text cells[N_COLUMNS])
{
    size_t from = 0;
    int n = 0;

    for (size_t to = 0; to <= line.len; to++) {
        if (to < line.len && line.s[to] != '\t')
            continue;
        if (n == N_COLUMNS)
            return false;
        cells[n++] = text_part(line, from, to);
        from = to + 1;
    }
    return n == N_COLUMNS;
}

/* Replaces seconds since 1970 by the time that the other lists print. */
static bool show_time(struct text *cell, char shown[TIME_SIZE])
{
    uint64_t seconds;

    if (!number_read(*cell, 10, INT64_MAX, &seconds) || !time_write(shown, (int64_t)seconds))
        return false;
    *cell = text_of(shown);
    return true;
}

static int print_sessions(const struct ctl *ctl, struct text rest)
{
    struct text cells[N_COLUMNS];
    struct listing_out out;
    struct text line;

    listing_open(&out, ctl, &listing);
    while ((line = ask_next_line(&rest)).s) {
        char since[TIME_SIZE];

        if (!split_line(line, cells) || !show_time(&cells[COLUMN_SINCE], since))
            return ctl_fail("adit-gateway lists a session in a way that this program does not "
                            "know; install the same version of both");
        listing_add(&out, cells);
    }
    listing_close(&out, NULL, 0);
    return CTL_OK;
}

int ctl_session_list(struct ctl *ctl)
{
    static const char *const lines[] = {"list", NULL};
    char reason[CTL_ASK_REASON_SIZE] = "";
    struct buf answer = {0};
    struct text rest;
    int status;

    if (ctl_ask_gateway(ctl, lines, &answer, &rest, reason) == CTL_ANSWER_OK)
        status = print_sessions(ctl, rest);
    else
        status = ctl_fail("%s", reason);
    buf_free(&answer);
    return status;
}

/* ---- session end ---- */

int ctl_session_end(struct ctl *ctl)
{
    const char *const lines[] = {"end", ctl->options.argument, NULL};
    char number[LISTING_NUMBER_SIZE];
    char reason[CTL_ASK_REASON_SIZE];
    struct buf answer = {0};
    int status = CTL_OK;
    struct text rest;
    uint64_t pid;

    if (!number_read(text_of(ctl->options.argument), 10, INT32_MAX, &pid) || pid == 0)
        return ctl_misuse("'%s' is not a process id; 'aditctl session list' shows those of the "
                          "sessions",
                          ctl->options.argument);
    switch (ctl_ask_gateway(ctl, lines, &answer, &rest, reason)) {
    case CTL_ANSWER_OK:
        listing_put_json(
            ctl,
            &(struct listing_fact){"pid", LISTING_NUMBER, listing_number(number, (int64_t)pid)}, 1);
        break;
    case CTL_ANSWER_NONE:
        status = ctl_fail("process %s is not a session that the gateway let in; 'aditctl session "
                          "list' shows those",
                          ctl->options.argument);
        break;
    case CTL_NO_ANSWER:
        status = ctl_fail("%s", reason);
        break;
    }
    buf_free(&answer);
    return status;
}
