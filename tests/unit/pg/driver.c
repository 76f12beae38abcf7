/* SPDX-License-Identifier: MIT */
/* What the tests of the driver share. */
#include "pg/driver.h"

#include <check.h>

#include "pg/backend.h"

struct driver driver;

const struct pg_statement driver_get = {.name = "get", .sql = "SELECT 42", .types = PG_BIGINT};
const struct pg_statement driver_put = {
    .name = "put",
    .sql = "INSERT",
    .types = PG_BIGINT,
    .writes = true,
    .unique = "thing_key",
    .on_unique = ERR_PUBLIC_KEY_EXISTS,
    .limits = (const struct pg_limit[]){
        {"thing_limit", ERR_KEY_FULL}, {"thing_of_others", ERR_KEY_OF_OTHERS}, {NULL, ERR_NONE}}};

void driver_start(void)
{
    struct wait wait = lane_wait(&driver.lane);

    backend_start();
    driver.pg = pg_new(backend_conninfo(), &wait);
    ck_assert_ptr_nonnull(driver.pg);
}

void driver_stop(void)
{
    pg_free(driver.pg);
    backend_stop();
}

enum error_code driver_run(const struct pg_statement *statement)
{
    struct pg_params params = {.n = 0};
    struct pg_result *result;

    driver.err = (struct error){0};
    if (!pg_run(driver.pg, statement, &params, &result, &driver.err)) {
        ck_assert_ptr_null(result);
        return driver.err.code;
    }
    ck_assert_int_eq(pg_rows(result), 1);
    ck_assert_int_eq(pg_int(result, 0, 0), 42);
    pg_result_free(result);
    return ERR_NONE;
}

void driver_warm_up(void)
{
    ck_assert_int_eq(driver_run(&driver_get), ERR_NONE);
    ck_assert_int_eq(driver_run(&driver_put), ERR_NONE);
    (void)backend_n_sent("run");
}
