/* SPDX-License-Identifier: MIT */
/* aditctl doctor: the checks of the daemon of a gateway. */
#include <string.h>
#include <unistd.h>

#include "base/number.h"
#include "ctl/doctor/doctor.h"
#include "pg/pg.h"
#include "store/schema.h"

/* A late poll has missed as many turns, and this time on top. */
#define POLLS_MAX 10
#define POLL_GRACE_MS 2000

static void note_offer(void *context, const char *user, struct text permit_listen)
{
    (void)user;
    (void)permit_listen;
    *(bool *)context = true;
}

static bool is_asked_by_sshd(void)
{
    bool asks = false;

    sshd_doctor_offers(note_offer, &asks);
    return asks;
}

/* The socket and the folder of sessions are in /run: after a boot, only a start makes them. */
bool gateway_doctor_is_due(const struct conf *conf)
{
    return machine_may_be_there(conf->gateway.socket) ||
           machine_may_be_there(conf->gateway.state) || conf_has_gateway(conf) ||
           machine_starts_at_boot("adit-gateway.service") || is_asked_by_sshd();
}

/* ---- what the daemon says ---- */

static bool status_is(struct text lines, const char *name, const char *wanted)
{
    return text_eq(machine_value(lines, name), text_of(wanted));
}

/* Returns a number, or -1. */
static int64_t status_number(struct text lines, const char *name)
{
    uint64_t number;

    return number_read(machine_value(lines, name), 10, INT64_MAX, &number) ? (int64_t)number : -1;
}

static void check_polls(struct findings *findings, const struct conf *conf, struct text status)
{
    int64_t ago_ms = status_number(status, "last_poll_ms");
    char ago[DOCTOR_TIME_SIZE];
    char every[DOCTOR_TIME_SIZE];
    int64_t n_away =
        status_number(status, "accounts_away"); /* of those with a place of their own */

    doctor_say_time(ago, ago_ms);
    doctor_say_time(every, conf->gateway.poll_ms);
    if (!status_is(status, "database", "up"))
        doctor_trouble(findings, "polls",
                       "the daemon cannot ask the database, so it refuses new logins; see its log: "
                       "journalctl -u adit-gateway");
    else if (n_away > 0)
        doctor_trouble(findings, "polls",
                       "the daemon cannot ask for %lld of %lld accounts, so it refuses their new "
                       "logins; see its log: journalctl -u adit-gateway",
                       (long long)n_away, (long long)status_number(status, "accounts"));
    else if (ago_ms > (int64_t)POLLS_MAX * conf->gateway.poll_ms + POLL_GRACE_MS)
        doctor_trouble(findings, "polls",
                       "the daemon asked the database %s ago, and should every %s; restart it: "
                       "systemctl restart adit-gateway",
                       ago, every);
    else if (ago_ms >= 0)
        doctor_line(findings, "ok", "polls", "the daemon asked the database %s ago", ago);
    else
        doctor_line(findings, "note", "polls", "the daemon has just started");
}

/* A daemon that may not end root's sshd may well end one of its own user. */
static void check_signals(struct findings *findings, struct text status)
{
    if (status_is(status, "may_signal", "yes"))
        doctor_line(findings, "ok", "signals", "the daemon may end sessions");
    else if (!sshd_doctor_has_users())
        doctor_line(findings, "note", "signals",
                    "the daemon may end sessions only of an sshd that its own user runs");
    else
        doctor_trouble(findings, "signals",
                       "the daemon may not end sessions of sshd; give its unit "
                       "AmbientCapabilities=CAP_KILL and no PrivateUsers=, then restart it");
}

/* A daemon without edges has nothing to say. */
static void check_edge_files(struct findings *findings, struct text status)
{
    int64_t n = status_number(status, "edges");
    int64_t n_due = status_number(status, "edges_due");

    if (n <= 0)
        return;
    if (n_due > 0)
        doctor_trouble(findings, "edges",
                       "the files of %lld of %lld TLS edges are not up to date; see the daemon's "
                       "log: journalctl -u adit-gateway",
                       (long long)n_due, (long long)n);
    else if (status_is(status, "reload", "due"))
        doctor_trouble(findings, "edges",
                       "a web server has not read the files of TLS edges again; see the daemon's "
                       "log: journalctl -u adit-gateway");
    else if (status_is(status, "haproxy", "due"))
        doctor_trouble(findings, "edges",
                       "HAProxy may not obey the files of TLS edges; check that it runs and that "
                       "[mutual_tls] haproxy is its stats socket, then see the daemon's log: "
                       "journalctl -u adit-gateway");
    else
        doctor_line(findings, "ok", "edges", "the files of %lld TLS edge%s are in force",
                    (long long)n, ctl_plural(n));
}

/* Older daemons do not say this. */
static void check_modules(struct findings *findings, struct text status)
{
    int64_t n_open = status_number(status, "edges_open");
    int64_t n_nobody = status_number(status, "edges_nobody");
    int64_t n = status_number(status, "edges");

    if (n_open > 0)
        doctor_line(findings, "note", "edges",
                    "%lld of %lld TLS edges ask for no certificate: they have no enabled module",
                    (long long)n_open, (long long)n);
    if (n_nobody > 0)
        doctor_line(findings, "note", "edges",
                    "%lld of %lld TLS edges let nobody pass: their modules name no authority that "
                    "this machine has",
                    (long long)n_nobody, (long long)n);
}

static void check_account(struct findings *findings, struct text status)
{
    struct text problem = machine_value(status, "account_problem");

    if (problem.len > 0)
        doctor_trouble(findings, "account", "%.*s", (int)problem.len, problem.s);
}

void gateway_doctor_check_role(struct findings *findings, const struct ctl *ctl)
{
    static const struct doctor_role role = {
        .name = SCHEMA_GATEWAY, .what = "role", .whose = "the gateway's", .user = "adit-gateway"};

    pg_free(doctor_check_role(findings, &ctl->conf, ctl->conf.gateway.conninfo, &role));
}

void gateway_doctor_check(struct findings *findings, const struct ctl *ctl)
{
    static const char *const lines[] = {"status", NULL};
    char reason[CTL_ASK_REASON_SIZE];
    struct buf answer = {0};
    struct text status;

    if (ctl_ask_gateway(ctl, lines, &answer, &status, reason) == CTL_ANSWER_OK) {
        int64_t n = status_number(status, "sessions");

        doctor_line(findings, "ok", "gateway", "adit-gateway answers; %lld SSH session%s",
                    (long long)n, ctl_plural(n));
        check_polls(findings, &ctl->conf, status);
        check_signals(findings, status);
        check_account(findings, status);
        check_edge_files(findings, status);
        check_modules(findings, status);
    } else if (geteuid() == 0 || !machine_may_be_there(ctl->conf.gateway.socket)) {
        doctor_trouble(findings, "gateway", "%s", reason);
    } else {
        doctor_line(findings, "note", "gateway", "not checked: %s", reason);
    }
    buf_free(&answer);
    session_doctor_check(findings, &ctl->conf);
    sshd_doctor_check(findings);
    port_doctor_check(findings, &ctl->conf);
}
