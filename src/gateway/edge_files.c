/* SPDX-License-Identifier: MIT */
/* What the files of an edge say.  Ids and folders need no quotes: the settings see to that. */
#include "gateway/edge_files.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "gateway/whole_file.h"

#define END_OF_BLOCK "-----END CERTIFICATE-----\n"

#define HEADER "# Written by adit-gateway, which overwrites changes.\n"

/* One file.  In the texts, each %s/%s is the folder and the id.
 *
 * nginx and Apache also trust authorities that are named for all sites, by ssl_trusted_certificate
 * and SSLCACertificatePath.  So the files empty the first one.  The second one cannot be emptied,
 * but libssl looks nowhere else if VerifyCAFile is set.
 *
 * As many intermediate authorities pass as with HAProxy, which has libssl's limit of 100 and no
 * setting for it.  nginx hands its limit to libssl, which counts the intermediate ones.  Apache
 * counts the authority that is trusted, too. */
struct file {
    const char *suffix;
    const char *asks; /* NULL: the file is the rule's PEM */
    const char *asks_not;
};

static const struct file files[] = {
    {EDGE_FILES_PEM, NULL, NULL},
    {".nginx",
     HEADER "ssl_client_certificate %s/%s" EDGE_FILES_PEM ";\n"
            "ssl_trusted_certificate \"\";\n"
            "ssl_verify_client on;\n"
            "ssl_verify_depth 100;\n",
     HEADER "ssl_verify_client off;\n"},
    {".apache",
     HEADER "SSLCACertificateFile %s/%s" EDGE_FILES_PEM "\n"
            "SSLOpenSSLConfCmd VerifyCAFile %s/%s" EDGE_FILES_PEM "\n"
            "SSLVerifyClient require\n"
            "SSLVerifyDepth 101\n",
     HEADER "SSLVerifyClient none\n"},
    {EDGE_FILES_HAPROXY, EDGE_FILES_KEY " required\n", EDGE_FILES_KEY " none\n"},
};

#define N_FILES (sizeof files / sizeof files[0])

const char *edge_files_value(bool asks)
{
    return asks ? "required" : "none";
}

static void file_name(char name[NAME_MAX + 1], const char *id, const char *suffix)
{
    snprintf(name, NAME_MAX + 1, "%s%s", id, suffix);
}

/* Appends a format of the table, filled in. */
static void fill_in_paths(struct buf *out, const char *format, const char *folder, const char *id)
{
    const char *const values[] = {folder, id};
    const char *at;

    for (size_t i = 0; (at = strstr(format, "%s")) != NULL; i = !i) {
        buf_add(out, format, (size_t)(at - format));
        buf_puts(out, values[i]);
        format = at + 2;
    }
    buf_puts(out, format);
}

static void append_content(struct buf *out, const struct file *file, const char *folder,
                           const char *id, const struct edge_rule *rule)
{
    if (file->asks)
        fill_in_paths(out, rule->asks ? file->asks : file->asks_not, folder, id);
    else
        buf_add(out, rule->pem.data, rule->pem.len);
}

bool edge_files_exist(const char *folder, const char *id)
{
    for (size_t i = 0; i < N_FILES; i++) {
        char path[PATH_MAX];
        struct stat status;

        snprintf(path, sizeof path, "%s/%s%s", folder, id, files[i].suffix);
        if (stat(path, &status) != 0)
            return false;
    }
    return true;
}

/* The certificates of a PEM file, in the order of their bytes. */
struct blocks {
    struct text *items;
    size_t n;
};

static int compare_blocks(const void *a, const void *b)
{
    return text_cmp(*(const struct text *)a, *(const struct text *)b);
}

/* Takes the first block off the text.  What has no end is a block, too. */
static struct text next_block(struct text *rest)
{
    const char *end = memmem(rest->s, rest->len, END_OF_BLOCK, strlen(END_OF_BLOCK));
    size_t len = end ? (size_t)(end - rest->s) + strlen(END_OF_BLOCK) : rest->len;
    struct text block = text_part(*rest, 0, len);

    *rest = text_part(*rest, len, rest->len);
    return block;
}

static bool split_blocks(struct text pem, struct blocks *out)
{
    size_t n = 0;

    for (struct text rest = pem; rest.len > 0; n++)
        next_block(&rest);
    *out = (struct blocks){.items = calloc(n + 1, sizeof *out->items)};
    if (!out->items)
        return false;
    while (pem.len > 0)
        out->items[out->n++] = next_block(&pem);
    qsort(out->items, out->n, sizeof *out->items, compare_blocks);
    return true;
}

static bool blocks_cover(const struct blocks *now, const struct blocks *before)
{
    for (size_t i = 0, at = 0; i < before->n; i++) {
        while (at < now->n && compare_blocks(&now->items[at], &before->items[i]) < 0)
            at++;
        if (at == now->n || compare_blocks(&now->items[at], &before->items[i]) != 0)
            return false;
    }
    return true;
}

/* Returns whether every certificate of one PEM file is in the other.  Without memory, it says no,
 * which ends connections. */
static bool pem_covers(struct text now, struct text before)
{
    struct blocks of_now = {0}, of_before = {0};
    bool covers = split_blocks(now, &of_now) && split_blocks(before, &of_before) &&
                  blocks_cover(&of_now, &of_before);

    free(of_now.items);
    free(of_before.items);
    return covers;
}

/* Returns whether a file has that content.  A file that cannot be read does not. */
static bool file_equals(struct buf *there, const char *folder, const char *name,
                        const struct buf *wanted)
{
    return whole_file_read(folder, name, EDGE_FILES_PEM_MAX, there) &&
           text_eq(buf_text(there), buf_text(wanted));
}

bool edge_files_compare(const char *folder, const char *id, const struct edge_rule *rule,
                        enum edge_change *change)
{
    struct buf wanted = {0};
    struct buf there = {0};
    bool same = true;
    bool asked = true;
    bool covers = false;
    bool ok;

    for (size_t i = 0; i < N_FILES; i++) {
        char name[NAME_MAX + 1];

        buf_clear(&wanted);
        buf_clear(&there);
        append_content(&wanted, &files[i], folder, id, rule);
        file_name(name, id, files[i].suffix);
        if (!file_equals(&there, folder, name, &wanted))
            same = false;
        if (!files[i].asks)
            covers = there.len > 0 && pem_covers(buf_text(&wanted), buf_text(&there));
        else if (strcmp(files[i].suffix, EDGE_FILES_HAPROXY) == 0)
            asked = !text_eq(buf_text(&there), text_of(files[i].asks_not));
    }
    *change = same ? EDGE_SAME : !rule->asks || (asked && covers) ? EDGE_WIDER : EDGE_NARROWER;
    ok = !wanted.failed && !there.failed;
    buf_free(&wanted);
    buf_free(&there);
    return ok;
}

bool edge_files_put(const char *folder, const char *id, const struct edge_rule *rule, bool *any)
{
    struct buf content = {0};
    bool ok = true;

    *any = false;
    for (size_t i = 0; ok && i < N_FILES; i++) {
        char name[NAME_MAX + 1];

        buf_clear(&content);
        append_content(&content, &files[i], folder, id, rule);
        file_name(name, id, files[i].suffix);
        errno = ENOMEM;
        ok = !content.failed && whole_file_put(folder, name, buf_text(&content));
        *any = *any || ok;
    }
    buf_free(&content);
    return ok;
}
