/* SPDX-License-Identifier: MIT */
/* aditctl openapi: prints the OpenAPI document with the names of this deployment. */
#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "base/ascii.h"
#include "base/buf.h"
#include "ctl/ctl.h"
#include "ctl/open_file.h"
#include "http/names.h"

/* The file has a tenth of it. */
#define DOCUMENT_SIZE_MAX (4 * 1024 * 1024)

/* A name in the document, and the one that replaces it. */
struct name {
    char from[24];
    char to[64];
};

#define N_NAMES (4 + OAUTH_N_PROVIDERS)

/* Returns whether the character continues a name: "provider_ab" does not contain "provider_a". */
static bool continues_name(char c)
{
    return c == '_' || (c != '\0' && ascii_is_alnum(c));
}

static void fill_names(struct name names[N_NAMES], const struct conf *conf)
{
    struct http_names own;
    size_t n = 4;

    names_fill(&own, conf->service_name);
    snprintf(names[0].from, sizeof names[0].from, "Service-Version");
    snprintf(names[0].to, sizeof names[0].to, "%s", own.version_header);
    snprintf(names[1].from, sizeof names[1].from, "Service-Operation-Id");
    snprintf(names[1].to, sizeof names[1].to, "%s", own.operation_header);
    snprintf(names[2].from, sizeof names[2].from, "ERR_SERVICE_");
    snprintf(names[2].to, sizeof names[2].to, "%s", own.error_prefix);
    snprintf(names[3].from, sizeof names[3].from, "\"service.\"");
    snprintf(names[3].to, sizeof names[3].to, "\"%s\"", own.cookie_prefix);
    for (int i = 0; i < OAUTH_N_PROVIDERS; i++, n++) {
        snprintf(names[n].from, sizeof names[n].from, "%s", identity_provider_at(i + 1)->name);
        snprintf(names[n].to, sizeof names[n].to, "%s", conf->provider_names[i]);
    }
}

/* Returns the complete name at this place of the text, or NULL. */
static const struct name *find_name(const struct name names[N_NAMES], const char *text,
                                    const char *at)
{
    for (size_t i = 0; i < N_NAMES; i++) {
        size_t len = strlen(names[i].from);
        bool is_open = names[i].from[len - 1] == '_'; /* a number follows */

        if (strncmp(at, names[i].from, len) == 0 && (at == text || !continues_name(at[-1])) &&
            (is_open || !continues_name(at[len])))
            return &names[i];
    }
    return NULL;
}

static void rename_all(struct buf *out, const struct name names[N_NAMES], const char *text)
{
    for (const char *at = text; *at;) {
        const struct name *name = find_name(names, text, at);

        if (name) {
            buf_puts(out, name->to);
            at += strlen(name->from);
        } else {
            buf_add(out, at++, 1);
        }
    }
}

/* Adds the file to *out.  Returns false after a message if it cannot read the file. */
static bool read_document(const char *path, struct buf *out)
{
    int fd = ctl_open_file(path);
    char part[4096];
    ssize_t n = fd < 0 ? -1 : 1;

    while (n > 0 && out->len <= DOCUMENT_SIZE_MAX && !out->failed) {
        n = read(fd, part, sizeof part);
        buf_add(out, part, n > 0 ? (size_t)n : 0);
    }
    if (n < 0)
        ctl_fail("%s: %s", path, strerror(errno));
    else if (out->failed)
        ctl_fail("out of memory");
    else if (n > 0)
        ctl_fail("%s: has more than %d MiB", path, DOCUMENT_SIZE_MAX / 1024 / 1024);
    if (fd >= 0)
        close(fd);
    return n == 0 && !out->failed;
}

int ctl_openapi(struct ctl *ctl)
{
    struct name names[N_NAMES];
    struct buf text = {0};
    struct buf renamed = {0};
    int status = CTL_FAILED;

    fill_names(names, &ctl->conf);
    if (!read_document(ctl->options.argument, &text))
        goto out;
    if (!strstr(buf_text(&text).s, "\"openapi\":")) {
        ctl_fail("%s is not an OpenAPI document in JSON", ctl->options.argument);
        goto out;
    }
    rename_all(&renamed, names, buf_text(&text).s);
    if (renamed.failed) {
        ctl_fail("out of memory");
        goto out;
    }
    fputs(buf_text(&renamed).s, stdout);
    status = CTL_OK;
out:
    buf_free(&text);
    buf_free(&renamed);
    return status;
}
