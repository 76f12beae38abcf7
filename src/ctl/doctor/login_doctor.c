/* SPDX-License-Identifier: MIT */
/* aditctl doctor: can one address keep others from logging in at sshd?  Its settings for that hold
 * for the whole machine. */
#include <string.h>
#include <unistd.h>

#include "ask/ask.h"
#include "base/number.h"
#include "ctl/doctor/doctor.h"

/* Longer than anybody needs to log in. */
#define GRACE_MAX_S 60

/* A client of IPv6 has at least all addresses of such a network. */
#define IPV6_MAX_BITS 64

/* How to get the lines. */
#define PRINT_THEM "; aditctl gateway-config sshd-logins prints what to set"

/* Returns the number before a colon or the end. */
static uint64_t leading_number(struct text value, uint64_t otherwise)
{
    const char *colon = value.len > 0 ? memchr(value.s, ':', value.len) : NULL;
    uint64_t number;

    value.len = colon ? (size_t)(colon - value.s) : value.len;
    return number_read(value, 10, UINT64_MAX, &number) ? number : otherwise;
}

/* Returns the second number of "32:128", or 0. */
static uint64_t ipv6_bits(struct text size)
{
    const char *colon = size.len > 0 ? memchr(size.s, ':', size.len) : NULL;

    if (!colon)
        return 0;
    return leading_number(text_part(size, (size_t)(colon + 1 - size.s), size.len), 0);
}

static void note_login(struct findings *findings, int *n_notes, const char *name, struct text value,
                       const char *why)
{
    *n_notes += 1;
    doctor_line(findings, "note", "logins", "%s is %.*s, so %s" PRINT_THEM, name, (int)value.len,
                value.s ? value.s : "", why);
}

/* Returns whether sshd penalises an address for what "name" says.  The value is "no", or has items
 * such as "authfail:5", or "authfail:5.000000". */
static bool penalises(struct text penalties, const char *name)
{
    struct text item;

    while ((item = text_next_word(&penalties)).s) {
        if (text_begins(item, name)) {
            item = text_part(item, strlen(name), item.len);
            return strspn(item.s, "0.") < item.len;
        }
    }
    return false;
}

void login_doctor_check(struct findings *findings, struct text settings)
{
    const struct text per_source = machine_value(settings, "persourcemaxstartups"),
                      block_size = machine_value(settings, "persourcenetblocksize"),
                      startups = machine_value(settings, "maxstartups"),
                      grace = machine_value(settings, "logingracetime"),
                      penalties = machine_value(settings, "persourcepenalties");
    const uint64_t n = leading_number(per_source, UINT64_MAX), grace_s = leading_number(grace, 0);
    int n_notes = 0;

    if (n == UINT64_MAX)
        note_login(findings, &n_notes, "PerSourceMaxStartups", per_source,
                   "one address that stays silent keeps everybody from logging in");
    else if (n >= leading_number(startups, 0))
        note_login(findings, &n_notes, "MaxStartups", startups,
                   "one address with PerSourceMaxStartups connections hinders others");
    if (n != UINT64_MAX && ipv6_bits(block_size) > IPV6_MAX_BITS)
        note_login(
            findings, &n_notes, "PerSourceNetBlockSize", block_size,
            "a client of IPv6 has PerSourceMaxStartups connections from each of its addresses");
    if (grace_s == 0 || grace_s > GRACE_MAX_S)
        note_login(findings, &n_notes, "LoginGraceTime", grace,
                   "a client that stays silent keeps its place for long");
    if (penalises(penalties, "authfail:"))
        note_login(findings, &n_notes, "PerSourcePenalties", penalties,
                   "sshd refuses all clients of an address at which a key has no credential");
    else if (penalises(penalties, "grace-exceeded:"))
        note_login(findings, &n_notes, "PerSourcePenalties", penalties,
                   "sshd refuses all clients of an address at which one stays silent");
    if (n_notes == 0)
        doctor_line(findings, "ok", "logins", "one address has at most %.*s of sshd's places",
                    (int)per_source.len, per_source.s);
}
