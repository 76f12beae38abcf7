/* SPDX-License-Identifier: MIT */
/* A keyring in a temporary folder. */
#include "keys.h"

#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "gate/sealed.h"

static char dir[64];
static char path[96];
struct keyring *keys;
struct arena keys_arena;
const struct sealed_place keys_place = {
    .account_id = {.s = "ac_1", .len = 4},
    .edge_id = {.s = "edge-1", .len = 6},
    .route_id = {.s = "route-1", .len = 7},
    .provider = 1,
};

void keys_write(const char *content, mode_t mode)
{
    FILE *file;

    unlink(path);
    file = fopen(path, "w");
    ck_assert(file && fputs(content, file) >= 0 && fclose(file) == 0);
    ck_assert_int_eq(chmod(path, mode), 0);
}

void keys_load(void)
{
    char reason[256] = "";

    keyring_free(keys);
    keys = keyring_load(path, reason, sizeof reason);
    ck_assert_msg(keys != NULL, "%s", reason);
}

void keys_make(void)
{
    const char *tmp = getenv("TMPDIR");

    snprintf(dir, sizeof dir, "%.32s/adit-gate.XXXXXX", tmp ? tmp : "/tmp");
    ck_assert_ptr_nonnull(mkdtemp(dir));
    snprintf(path, sizeof path, "%s/key", dir);
    keys_write("k " KEYS_0 "\n", 0600);
    keys_load();
}

void keys_remove(void)
{
    keyring_free(keys);
    keys = NULL;
    arena_free(&keys_arena);
    unlink(path);
    rmdir(dir);
}

struct text keys_seal(const char *purpose, struct text bytes)
{
    const struct sealing sealing = {keys, &keys_place, purpose, &keys_arena};
    struct buf out = {0};
    struct error err;
    struct text value;

    ck_assert(sealed_write(&sealing, bytes, &out, &err));
    value.s = arena_copy(&keys_arena, out.data, out.len);
    value.len = out.len;
    ck_assert_ptr_nonnull(value.s);
    buf_free(&out);
    return value;
}
