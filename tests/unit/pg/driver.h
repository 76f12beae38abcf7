/* SPDX-License-Identifier: MIT */
/* What the tests of the driver share: a lane with a driver before a scripted backend, and two
 * statements. */
#ifndef ADIT_TESTS_PG_DRIVER_H
#define ADIT_TESTS_PG_DRIVER_H

#include "pg/lane.h"
#include "pg/pg.h"

struct driver {
    struct lane lane;
    struct pg *pg;
    struct error err; /* of the last statement */
};

extern struct driver driver;

/* A read and a write. */
extern const struct pg_statement driver_get, driver_put;

/* Fixture: start the backend and make the driver; free both. */
void driver_start(void);
void driver_stop(void);

/* Runs a statement without parameters.  Returns ERR_NONE if it returned the backend's row, else the
 * number of driver.err. */
enum error_code driver_run(const struct pg_statement *statement);

/* Opens the session and prepares both statements; the backend forgets what that sent. */
void driver_warm_up(void);

#endif
