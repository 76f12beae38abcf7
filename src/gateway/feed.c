/* SPDX-License-Identifier: MIT */
/* When the record of changes is read, and from where on. */
#include "gateway/feed.h"

bool feed_is_due(const struct feed *feed, int64_t now_ms)
{
    return now_ms >= feed->rest_to_ms;
}

struct text feed_since(const struct feed *feed)
{
    return feed->snapshot.len > 0 ? buf_text(&feed->snapshot) : text_of(NULL);
}

void feed_forget(struct feed *feed)
{
    buf_clear(&feed->snapshot);
}

/* The record itself is read neither for a poll that begins nor for one that finds the snapshot
 * before: these succeed while it is locked. */
static bool proves_reading(const struct feed *feed, const struct gateway_changes *changes)
{
    return changes->complete && !text_eq(changes->snapshot, buf_text(&feed->snapshot));
}

void feed_note_answer(struct feed *feed, const struct gateway_changes *changes,
                      const struct log *log)
{
    if (feed->is_late && proves_reading(feed, changes)) {
        feed->is_late = false;
        log_event(log, LOG_LEVEL_INFO, "the record of changes is read again", NULL);
    }
    feed_forget(feed);
    buf_add(&feed->snapshot, changes->snapshot.s, changes->snapshot.len);
    if (feed->snapshot.failed)
        feed_forget(feed);
}

void feed_note_late(struct feed *feed, const struct error *err, int64_t now_ms,
                    const struct log *log)
{
    const struct log_pair pairs[] = {{"cause", error_reason(err)}, {NULL, NULL}};

    if (!feed->is_late)
        log_event(
            log, LOG_LEVEL_WARNING,
            "cannot read the record of changes: all sessions and edges are judged each second",
            pairs);
    feed->is_late = true;
    feed->rest_to_ms = now_ms + FEED_REST_MS;
    feed->anew_from_ms = now_ms + FEED_ANEW_MS;
}
