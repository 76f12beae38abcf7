/* SPDX-License-Identifier: MIT */
/* aditctl doctor: checks the programs of this machine and prints a line for each check. */
#include "ctl/doctor/doctor.h"

#include <string.h>
#include <unistd.h>

static const struct listing_column columns[] = {
    {"LEVEL", "level", LISTING_TEXT, 0},
    {"CHECK", "check", LISTING_TEXT, 0},
    {"MESSAGE", "message", LISTING_TEXT, 0},
};

static const struct listing listing = {"findings", columns, 3};

/* The programs of this machine. */
struct installed {
    bool has_responder, has_gateway, has_gate;
};

static void check_gate(struct findings *findings, const struct ctl *ctl)
{
    gate_doctor_check(findings, ctl, false);
}

static const struct doctor_service responder_service = {
    .unit = "adit.service", .user = "adit", .check = responder_doctor_check};
static const struct doctor_service gateway_service = {
    .unit = "adit-gateway.service", .user = "adit-gateway", .check = gateway_doctor_check_role};
static const struct doctor_service gate_service = {.unit = "adit-gate.service",
                                                   .user = "adit-gate",
                                                   .learn = gate_doctor_learn,
                                                   .check = check_gate};

/* A service's own user looks after that service alone: its rights are no measure for others. */
static void leave_to_others(struct installed *installed)
{
    const char *user = ctl_user_name();
    bool is_responder = strcmp(user, responder_service.user) == 0;
    bool is_gateway = strcmp(user, gateway_service.user) == 0;
    bool is_gate = strcmp(user, gate_service.user) == 0;

    if (!is_responder && !is_gateway && !is_gate)
        return;
    installed->has_responder = installed->has_responder && is_responder;
    installed->has_gateway = installed->has_gateway && is_gateway;
    installed->has_gate = installed->has_gate && is_gate;
}

/* Returns whether root has checked as the service's user. */
static bool is_checked_as_user(struct findings *findings, const struct ctl *ctl,
                               const struct doctor_service *service)
{
    if (geteuid() != 0)
        return false;
    if (doctor_as_service(findings, ctl, service))
        return true;
    doctor_line(findings, "note", "user",
                "there is no system user %s, so root itself checks: it may read every file and may "
                "connect as another role of the database; to check as another user, run: setpriv "
                "--reuid=USER --regid=GROUP --init-groups aditctl doctor",
                service->user);
    return false;
}

static void check_installed(struct findings *findings, const struct ctl *ctl,
                            const struct installed *installed)
{
    bool is_alone = false; /* the responder was checked here, so ctl->pg is its connection */

    /* The machine of an edge need not have a responder. */
    if (!installed->has_responder) {
        doctor_line(findings, "note", "responder", "not checked: %s",
                    access(ADIT_PROGRAM_PATH, F_OK) == 0 ? "only root or its own user can"
                                                         : ADIT_PROGRAM_PATH " is not installed");
    } else if (!is_checked_as_user(findings, ctl, &responder_service)) {
        responder_doctor_check(findings, ctl);
        is_alone = true;
    }
    if (installed->has_gateway) {
        gateway_doctor_check(findings, ctl);
        if (!is_checked_as_user(findings, ctl, &gateway_service))
            gateway_doctor_check_role(findings, ctl);
    }
    if (installed->has_gate && !is_checked_as_user(findings, ctl, &gate_service))
        gate_doctor_check(findings, ctl, is_alone);
}

int ctl_doctor(struct ctl *ctl)
{
    struct findings all = {.out = {.ctl = ctl}};
    struct findings *findings = &all;
    struct installed installed = {.has_gateway = gateway_doctor_is_due(&ctl->conf),
                                  .has_gate = gate_doctor_is_due(ctl)};
    char number[LISTING_NUMBER_SIZE];

    installed.has_responder =
        (!installed.has_gateway && !installed.has_gate) || access(ADIT_PROGRAM_PATH, F_OK) == 0;
    leave_to_others(&installed);
    if (ctl->options.json)
        listing_open(&findings->out, ctl, &listing);
    doctor_line(findings, "ok", "user", "%s", ctl_user_name());
    doctor_line(findings, "ok", "settings", "%s",
                ctl->conf.path ? ctl->conf.path
                               : "no settings file; every setting has its default");
    check_installed(findings, ctl, &installed);
    listing_close(&findings->out,
                  &(struct listing_fact){"troubles", LISTING_NUMBER,
                                         listing_number(number, findings->n_troubles)},
                  1);
    return findings->n_troubles ? CTL_FAILED : CTL_OK;
}
