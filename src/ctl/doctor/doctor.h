/* SPDX-License-Identifier: MIT */
/* The checks of aditctl doctor, a file per program. */
#ifndef ADIT_CTL_DOCTOR_DOCTOR_H
#define ADIT_CTL_DOCTOR_DOCTOR_H

#include "ctl/doctor/findings.h"
#include "ctl/machine.h"
#include "keyring/keyring.h"

/* What root learns for a service before it becomes the service's user: systemd may hand the service
 * the key file, and only the web server's group may ask adit-gate. */
struct doctor_learned {
    bool has_key_file;       /* keyring and reason tell; else the service's user opens the file */
    struct keyring *keyring; /* NULL: see reason */
    char reason[CONF_REASON_SIZE];
    const char *gate_place; /* NULL: not asked */
    const char *gate_why;
    int gate_status;
};

/* A program of Adit on this machine. */
struct doctor_service {
    const char *unit; /* "adit.service" */
    const char *user; /* that runs it, unless the unit names another one */
    /* What only root can learn for it, or NULL. */
    void (*learn)(const struct ctl *ctl, struct doctor_learned *learned);
    void (*check)(struct findings *findings, const struct ctl *ctl);
};

/* As root: calls service->learn, and then service->check in a child that is the service's user,
 * with the settings and the key file that the service has, and prints what it finds.  Returns false
 * without a finding if this machine has no such user. */
MUST_CHECK bool doctor_as_service(struct findings *findings, const struct ctl *ctl,
                                  const struct doctor_service *service);

/* A role of grants.sql that another program than the responder has. */
struct doctor_role {
    const char *name;  /* of schema.h */
    const char *what;  /* the check, in lines */
    const char *whose; /* "the gateway's" */
    const char *user;  /* the system user that may connect */
};

/* Connects as that program does, checks its rights, and prints a line for each finding.  Returns
 * the connection, which the caller frees with pg_free(); or NULL: after a trouble in a child of
 * root, which is the program's own user, and else after a note, because PostgreSQL may let only
 * that user connect. */
MUST_CHECK struct pg *doctor_check_role(struct findings *findings, const struct conf *conf,
                                        const char *conninfo, const struct doctor_role *role);

/* Checks the key file and the database with ctl->pg, and prints a line for each check. */
void responder_doctor_check(struct findings *findings, const struct ctl *ctl);

/* Check the key file, and whether it opens the client secrets that pg may read. */
void doctor_check_keys(struct findings *findings, const struct ctl *ctl, struct pg *pg);

/* Asks adit-gate, for gate_doctor_check() in a child. */
void gate_doctor_learn(const struct ctl *ctl, struct doctor_learned *learned);

/* Returns whether this machine has, or should have, an adit-gate: its socket, --socket, a setting
 * of its own, or an enabled unit. */
bool gate_doctor_is_due(const struct ctl *ctl);

/* Checks adit-gate and prints a line for each check.  has_responder: the responder's checks were
 * made, and ctl->pg is a connection. */
void gate_doctor_check(struct findings *findings, const struct ctl *ctl, bool has_responder);

/* Returns whether this machine has, or should have, a gateway: its socket, its folder of sessions,
 * a setting of its own, an enabled unit, or an sshd that asks it. */
bool gateway_doctor_is_due(const struct conf *conf);

/* Check the daemon, sshd and ports; and the rights of the daemon's role.  Print a line for each
 * check. */
void gateway_doctor_check(struct findings *findings, const struct ctl *ctl);
void gateway_doctor_check_role(struct findings *findings, const struct ctl *ctl);
void sshd_doctor_check(struct findings *findings);

/* Checks that one address cannot keep others from logging in: what sshd says of its settings. */
void login_doctor_check(struct findings *findings, struct text settings);

/* Calls found() with each user of this machine whose keys the helper looks up, and the value of
 * "permitlisten".  Only root may ask sshd: without, it calls nothing. */
typedef void doctor_offer(void *context, const char *user, struct text permit_listen);
void sshd_doctor_offers(doctor_offer *found, void *context);

/* Names the servers of this machine whose ports sshd lets tunnels bind.  Prints nothing if sshd
 * asks the helper for no user. */
void port_doctor_check(struct findings *findings, const struct conf *conf);

/* Checks that the machine, sshd's unit and the slices of its users bear as many SSH sessions as the
 * settings permit. */
void session_doctor_check(struct findings *findings, const struct conf *conf);

/* Returns whether sshd runs the helper for a user of this machine.  If sshd does not tell, every
 * block "Match User" counts. */
bool sshd_doctor_has_users(void);

#endif
