/* SPDX-License-Identifier: MIT */
/* aditctl web-server: prints the configuration that puts a web server in front of the service. */
#include <ctype.h>
#include <stdlib.h>
#include <string.h>
#include <sys/un.h>

#include "base/buf.h"
#include "ctl/ctl.h"
#include "ctl/templates.h"
#include "http/names.h"

#if !defined ADIT_SOCKET_PATH || !defined ADIT_PROGRAM_PATH || !defined ADIT_DOCS_PATH
#error "ADIT_SOCKET_PATH, ADIT_PROGRAM_PATH and ADIT_DOCS_PATH are to be given by the build"
#endif

#define PATH_LEN_MAX 1023
#define PREFIX_LEN_MAX 255

/* A web server, or a way of one to reach the service. */
struct kind {
    const char *name;
    const char *templates[2]; /* one after the other */
    bool starts_program;      /* else it connects to the responder's socket */
    bool has_no_paths;        /* else it serves the interface below a prefix, and the reference */
    bool keeps_connections;
};

static const struct kind kinds[] = {
    {.name = "nginx", .templates = {template_nginx_adit}},
    {.name = "nginx-keepalive", .templates = {template_nginx_adit}, .keeps_connections = true},
    {.name = "nginx-upstream", .templates = {template_nginx_upstream}, .has_no_paths = true},
    {.name = "apache-fcgid",
     .templates = {template_apache_fcgid, template_apache_common},
     .starts_program = true},
    {.name = "apache-proxy-fcgi",
     .templates = {template_apache_proxy_fcgi, template_apache_common}},
    {.name = "apache-cgid",
     .templates = {template_apache_cgid, template_apache_common},
     .starts_program = true},
};

#define N_KINDS (sizeof kinds / sizeof kinds[0])

/* What a template says between two at signs, and what stands there instead. */
struct value {
    const char *name;
    const char *text;
};

static const struct kind *find_kind(const char *name)
{
    for (size_t i = 0; i < N_KINDS; i++) {
        if (strcmp(kinds[i].name, name) == 0)
            return &kinds[i];
    }
    return NULL;
}

static int unknown_kind(const char *name)
{
    struct buf known = {0};
    int status;

    for (size_t i = 0; i < N_KINDS; i++)
        buf_printf(&known, "%s%s", i > 0 ? ", " : "", kinds[i].name);
    status = ctl_misuse("'%s' is no kind of web server that is known here: %s", name,
                        known.failed ? "" : known.data);
    buf_free(&known);
    return status;
}

/* ---- what may stand in a configuration file ---- */

/* Slashes and what needs no quotes or escapes in any of the files. */
static bool is_plain(const char *s)
{
    return s[strspn(s, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789/._+-")] ==
           '\0';
}

static bool path_valid(const char *path, size_t len_max)
{
    size_t len = strlen(path);

    return path[0] == '/' && len > 1 && path[len - 1] != '/' && len <= len_max && is_plain(path);
}

/* Has the path a segment that is empty, "." or ".."?  A web server would take it away. */
static bool has_odd_segment(const char *path)
{
    while (*path == '/') {
        size_t len = strcspn(path + 1, "/");

        if (len == 0 || (len == 1 && path[1] == '.') ||
            (len == 2 && path[1] == '.' && path[2] == '.'))
            return true;
        path += 1 + len;
    }
    return false;
}

static bool prefix_valid(const char *prefix)
{
    return prefix[0] == '\0' ||
           (path_valid(prefix, PREFIX_LEN_MAX) && !has_odd_segment(prefix) && !strchr(prefix, '+'));
}

/* ---- filling in ---- */

static const char *find_value(const struct value *values, const char *name, size_t len)
{
    for (; values->name; values++) {
        if (strncmp(values->name, name, len) == 0 && values->name[len] == '\0')
            return values->text;
    }
    return NULL;
}

/* Whatever stands between at signs and is no name stays as it is. */
static void fill_in(struct buf *out, const char *text, const struct value *values)
{
    const char *at;

    while ((at = strchr(text, '@')) != NULL) {
        size_t len = strspn(at + 1, "ABCDEFGHIJKLMNOPQRSTUVWXYZ_");
        const char *value = at[1 + len] == '@' ? find_value(values, at + 1, len) : NULL;

        buf_add(out, text, (size_t)(at - text));
        if (value)
            buf_puts(out, value);
        else
            buf_add(out, at, 1);
        text = at + (value ? len + 2 : 1);
    }
    buf_puts(out, text);
}

/* In a regular expression the dot is the only one of a prefix's characters that needs it. */
static void escape_dots(struct buf *out, const char *prefix)
{
    buf_puts(out, "");
    for (; *prefix; prefix++) {
        if (*prefix == '.')
            buf_puts(out, "\\");
        buf_add(out, prefix, 1);
    }
}

static void add_upper(struct buf *out, const char *name)
{
    for (; *name; name++) {
        char upper = (char)toupper((unsigned char)*name);

        buf_add(out, &upper, 1);
    }
}

static int print(const struct kind *kind, const struct ctl_options *options, const char *name,
                 const char *conf_path)
{
    struct buf regex = {0}, upper = {0}, upstream = {0}, out = {0};
    bool ok;

    escape_dots(&regex, options->prefix);
    add_upper(&upper, name);
    buf_printf(&upstream, "%s%s", kind->keeps_connections ? "adit" : "unix:",
               kind->keeps_connections ? "" : options->socket);
    ok = !regex.failed && !upper.failed && !upstream.failed;
    if (ok) {
        const struct value values[] = {
            {"NAME", upper.data},
            {"PREFIX", options->prefix},
            {"PREFIX_REGEX", regex.data},
            {"SOCKET", options->socket},
            {"UPSTREAM", upstream.data},
            {"DOCS", options->docs},
            {"PROGRAM", options->program},
            {"CONF", conf_path},
            {NULL, NULL},
        };

        buf_printf(&out,
                   "# Printed by 'aditctl web-server %s' for the service name '%s'; the two "
                   "change together.\n",
                   kind->name, name);
        for (size_t i = 0; i < 2 && kind->templates[i]; i++)
            fill_in(&out, kind->templates[i], values);
    }
    ok = ok && !out.failed;
    if (ok)
        fwrite(out.data, 1, out.len, stdout);
    buf_free(&regex);
    buf_free(&upper);
    buf_free(&upstream);
    buf_free(&out);
    return ok ? CTL_OK : ctl_fail("out of memory");
}

/* ---- the command ---- */

/* Sets the options that were not given, and returns -1 where all are right. */
static int check_options(const struct kind *kind, struct ctl_options *options)
{
    if (options->socket && kind->starts_program)
        return ctl_misuse("--socket: %s starts the program itself", kind->name);
    if (options->program && !kind->starts_program)
        return ctl_misuse("--program: %s connects to a responder that runs already", kind->name);
    if (options->prefix && kind->has_no_paths)
        return ctl_misuse("--prefix: %s has no paths", kind->name);
    if (options->docs && kind->has_no_paths)
        return ctl_misuse("--docs: %s has no paths", kind->name);
    if (!options->prefix)
        options->prefix = "";
    if (!options->socket)
        options->socket = ADIT_SOCKET_PATH;
    if (!options->docs)
        options->docs = ADIT_DOCS_PATH;
    if (!options->program)
        options->program = ADIT_PROGRAM_PATH;
    if (!prefix_valid(options->prefix))
        return ctl_misuse("--prefix takes a path such as /adit: letters, digits, '.', '_' and '-', "
                          "no slash at its end");
    if (!path_valid(options->socket, sizeof((struct sockaddr_un *)0)->sun_path - 1))
        return ctl_misuse("--socket takes the absolute path of a unix socket: at most %zu letters, "
                          "digits, '/', '.', '_', '+' and '-'",
                          sizeof((struct sockaddr_un *)0)->sun_path - 1);
    if (!path_valid(options->docs, PATH_LEN_MAX))
        return ctl_misuse("--docs takes the absolute path of the reference's folder: letters, "
                          "digits, '/', '.', '_', '+' and '-'");
    if (!path_valid(options->program, PATH_LEN_MAX))
        return ctl_misuse("--program takes the absolute path of adit.fcgi: letters, digits, '/', "
                          "'.', '_', '+' and '-'");
    return -1;
}

int ctl_web_server(struct ctl *ctl)
{
    const struct kind *kind = find_kind(ctl->options.argument);
    char *conf_path = NULL;
    int status;

    if (!kind)
        return unknown_kind(ctl->options.argument);
    status = check_options(kind, &ctl->options);
    if (status >= 0)
        return status;
    if (kind->starts_program) {
        if (!ctl->conf.path)
            return ctl_fail("there is no settings file that the program could be told of: make %s, "
                            "or name one with -c",
                            ADIT_CONF_PATH);
        conf_path = realpath(ctl->conf.path, NULL);
        if (!conf_path || !path_valid(conf_path, PATH_LEN_MAX)) {
            free(conf_path);
            return ctl_fail("%s: the path of the settings may have letters, digits, '/', '.', '_', "
                            "'+' and '-'",
                            ctl->conf.path);
        }
    }
    status = print(kind, &ctl->options, ctl->conf.service_name, conf_path ? conf_path : "");
    free(conf_path);
    return status;
}
