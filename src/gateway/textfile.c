/* SPDX-License-Identifier: MIT */
/* Metrics in a file. */
#include "gateway/textfile.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "base/clock.h"
#include "base/exposition.h"
#include "gateway/edges.h"
#include "gateway/gateway.h"
#include "gateway/whole_file.h"

#define EVERY_MS 5000

void textfile_count_look_up(struct textfile *textfile, enum textfile_look_up look_up,
                            int64_t begun_us)
{
    textfile->look_ups[look_up]++;
    metrics_observe(&textfile->look_up, clock_steady_us() - begun_us);
}

void textfile_count_poll(struct textfile *textfile, bool ok, int64_t begun_us)
{
    textfile->polls_failed += !ok;
    metrics_observe(&textfile->poll, clock_steady_us() - begun_us);
}

static void put_look_ups(struct buf *out, const struct textfile *textfile)
{
    static const char look_ups[] = "adit_gateway_look_ups_total";
    static const char look_up[] = "adit_gateway_look_up_duration_seconds";
    static const char *const labels[TEXTFILE_N_LOOK_UPS] = {
        [TEXTFILE_GRANTED] = "granted",       [TEXTFILE_UNKNOWN] = "unknown",
        [TEXTFILE_OVER_LIMIT] = "over_limit", [TEXTFILE_REFUSED] = "refused",
        [TEXTFILE_CROWD] = "crowd",           [TEXTFILE_NO_DATABASE] = "no_database",
    };

    exposition_begin(out, look_ups, "counter",
                     "Keys that sshd asked about, by outcome. It asks twice at a login.");
    for (int i = 0; i < TEXTFILE_N_LOOK_UPS; i++)
        buf_printf(out, "%s{outcome=\"%s\"} %" PRIu64 "\n", look_ups, labels[i],
                   textfile->look_ups[i]);
    exposition_begin(out, look_up, "histogram", "Time to answer sshd about a key.");
    exposition_histogram(out, look_up, "", &textfile->look_up);
}

static void put_sessions(struct buf *out, const struct ssh_sessions *sessions)
{
    static const char ended[] = "adit_gateway_sessions_ended_total";

    exposition_one(out, "adit_gateway_sessions", "gauge",
                   "SSH sessions, from the first key to the end.", sessions->n);
    exposition_begin(out, ended, "counter", "Sessions that adit-gateway ended, by cause.");
    for (int i = 0; i < SSH_SESSION_N_CAUSES; i++)
        buf_printf(out, "%s{cause=\"%s\"} %" PRIu64 "\n", ended,
                   ssh_session_cause_label((enum ssh_session_cause)i), sessions->n_ended[i]);
}

static void put_polls(struct buf *out, const struct gateway *gateway)
{
    static const char poll[] = "adit_gateway_poll_duration_seconds";
    int64_t ago_ms = clock_steady_ms() - gateway->polled_ms;

    exposition_begin(out, poll, "histogram",
                     "Time to ask the database for changes and to judge by them.");
    exposition_histogram(out, poll, "", &gateway->textfile.poll);
    exposition_one(
        out, "adit_gateway_poll_failures_total", "counter",
        "Polls that the database did not answer, or that could not read the record of changes.",
        gateway->textfile.polls_failed);
    exposition_time(out, "adit_gateway_polled_time_seconds",
                    "When a poll last succeeded, in seconds since 1970.",
                    gateway->polled_ms > 0 ? clock_wall_ms() - ago_ms : 0);
    exposition_one(out, "adit_gateway_database_up", "gauge",
                   "1: the database answered the last statement; 0: it did not.",
                   !gateway->is_away);
    if (gateway->follows.n == 0)
        return;
    exposition_one(out, "adit_gateway_accounts", "gauge", "Accounts whose changes are read.",
                   gateway->follows.n);
    exposition_one(out, "adit_gateway_accounts_away", "gauge",
                   "Accounts whose node does not answer.", follows_count_away(&gateway->follows));
}

static void put_edges(struct buf *out, const struct edges *edges)
{
    struct edges_count count = edges_count(edges);

    exposition_one(out, "adit_gateway_edges", "gauge", "TLS edges in the settings.", count.n);
    exposition_one(out, "adit_gateway_edges_open", "gauge",
                   "TLS edges that ask for no certificate: they have no enabled module.",
                   count.n_open);
    exposition_one(out, "adit_gateway_edges_nobody", "gauge",
                   "TLS edges that let nobody pass: no authority of theirs can be read.",
                   count.n_nobody);
    exposition_one(out, "adit_gateway_reload_due", "gauge",
                   "1: a web server may not obey the newest mutual TLS modules yet.",
                   edges_are_due(edges));
}

static void put_all(struct buf *out, const struct gateway *gateway)
{
    exposition_begin(out, "adit_gateway_build_info", "gauge", "1; the label is the version.");
    buf_puts(out, "adit_gateway_build_info{version=\"" PACKAGE_VERSION "\"} 1\n");
    exposition_time(out, "adit_gateway_written_time_seconds",
                    "When adit-gateway wrote these numbers, in seconds since 1970.",
                    clock_wall_ms());
    put_look_ups(out, &gateway->textfile);
    put_sessions(out, &gateway->sessions);
    put_polls(out, gateway);
    put_edges(out, gateway->edges);
}

static void note(struct gateway *gateway, bool ok)
{
    const struct log_pair pairs[] = {{"folder", gateway->conf.gateway.metrics},
                                     {"cause", ok ? NULL : strerror(errno)},
                                     {NULL, NULL}};
    bool had_failed = gateway->textfile.has_failed;

    gateway->textfile.has_failed = !ok;
    if (!ok && !had_failed)
        log_event(&gateway->conf.log, LOG_LEVEL_ERROR, "cannot write the metrics", pairs);
    if (ok && had_failed)
        log_event(&gateway->conf.log, LOG_LEVEL_INFO, "the metrics are written again", pairs);
}

int64_t textfile_tick(struct gateway *gateway, int64_t now_ms)
{
    const char *folder = gateway->conf.gateway.metrics;
    struct buf out = {0};

    if (!folder[0])
        return INT64_MAX;
    if (now_ms < gateway->textfile.due_ms)
        return gateway->textfile.due_ms;
    gateway->textfile.due_ms = now_ms + EVERY_MS;
    put_all(&out, gateway);
    if (out.failed)
        errno = ENOMEM;
    note(gateway, !out.failed && whole_file_show(folder, TEXTFILE_NAME, buf_text(&out)));
    buf_free(&out);
    return gateway->textfile.due_ms;
}
