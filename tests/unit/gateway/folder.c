/* SPDX-License-Identifier: MIT */
/* A temporary folder. */
#include "folder.h"

#include <check.h>
#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

char folder[64];

void folder_make(void)
{
    snprintf(folder, sizeof folder, "/tmp/adit-unit-XXXXXX");
    ck_assert_ptr_nonnull(mkdtemp(folder));
}

static int remove_one(const char *path, const struct stat *status, int type, struct FTW *place)
{
    (void)status;
    (void)type;
    (void)place;
    return remove(path);
}

void folder_remove(void)
{
    if (folder[0])
        nftw(folder, remove_one, 8, FTW_DEPTH | FTW_PHYS);
    folder[0] = '\0';
}

const char *folder_path(const char *name)
{
    static char paths[4][512];
    static int next;
    char *path = paths[next++ % 4];

    snprintf(path, sizeof paths[0], "%s/%s", folder, name);
    return path;
}

void folder_write(const char *name, struct text content)
{
    FILE *file = fopen(folder_path(name), "w");

    ck_assert_msg(file != NULL, "cannot write %s", name);
    ck_assert_uint_eq(fwrite(content.s, 1, content.len, file), content.len);
    ck_assert_int_eq(fclose(file), 0);
}

static bool add_content(struct buf *out, const char *path)
{
    FILE *file = fopen(path, "r");

    if (!file)
        return false;
    while (!feof(file) && !ferror(file))
        out->len += fread(buf_room(out, 4096), 1, 4096, file);
    buf_puts(out, "");
    fclose(file);
    return true;
}

bool folder_read(const char *name, struct buf *out)
{
    buf_clear(out);
    return add_content(out, folder_path(name));
}

void folder_add_certificate(struct buf *out, const char *certificate)
{
    char path[4096];

    snprintf(path, sizeof path, "%s/certificates/%s.pem", getenv("CASES_DIR"), certificate);
    ck_assert_msg(add_content(out, path), "cannot open %s", path);
}

void folder_copy(const char *name, const char *certificate)
{
    struct buf content = {0};

    folder_add_certificate(&content, certificate);
    folder_write(name, buf_text(&content));
    buf_free(&content);
}
