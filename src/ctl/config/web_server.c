/* SPDX-License-Identifier: MIT */
/* aditctl web-server: prints the configuration that puts a web server in front of the service. */
#include <ctype.h>
#include <stdlib.h>
#include <string.h>
#include <sys/un.h>

#include "base/buf.h"
#include "ctl/listing.h"
#include "ctl/config/fill_in.h"
#include "ctl/config/templates.h"
#include "http/names.h"

#define PREFIX_LEN_MAX 255

/* How a web server reaches the service. */
enum form { CONNECTS, STARTS, UPSTREAM };

static const struct kind {
    const char *name;
    const char *template;
    enum form form;
} kinds[] = {
#define KIND(name, template, form) {name, template_##template, form},
    WEB_SERVERS(KIND)
#undef KIND
};

#define N_KINDS (sizeof kinds / sizeof kinds[0])

/* Returns the row of the name, or NULL.  Earlier versions had another name for "nginx". */
static const struct kind *find_kind(const char *name)
{
    if (strcmp(name, "nginx-keepalive") == 0)
        name = "nginx";
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
    status = ctl_misuse("unknown web server '%s'; choose one of: %s", name, buf_text(&known).s);
    buf_free(&known);
    return status;
}

/* ---- paths ---- */

/* Returns whether a segment of the path is empty, "." or "..", which web servers remove. */
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
    return prefix[0] == '\0' || (fill_in_path_valid(prefix, PREFIX_LEN_MAX) &&
                                 !has_odd_segment(prefix) && !strchr(prefix, '+'));
}

/* ---- templates ---- */

/* Adds the prefix as a regular expression, in which only its dots have a special meaning. */
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

/* Prints the configuration of the kind for the service name.  Returns the exit status. */
static int print_configuration(const struct ctl *ctl, const struct ctl_options *given,
                               const struct kind *kind, const char *conf_path)
{
    const struct ctl_options *options = &ctl->options;
    const char *name = ctl->conf.service_name;
    struct buf regex = {0}, upper = {0}, out = {0};
    bool ok;

    escape_dots(&regex, options->prefix);
    add_upper(&upper, name);
    ok = !regex.failed && !upper.failed;
    if (ok) {
        const struct value values[] = {
            {"NAME", upper.data},
            {"PREFIX", options->prefix},
            {"PREFIX_REGEX", regex.data},
            {"SOCKET", options->socket},
            {"DOCS", options->docs},
            {"CONSOLE", options->console},
            {"PROGRAM", options->program},
            {"CONF", conf_path},
            {NULL, NULL},
        };

        buf_printf(&out, "# Printed by 'aditctl web-server %s", kind->name);
        fill_in_option(&out, "conf", given->conf_path);
        fill_in_option(&out, "prefix", given->prefix);
        fill_in_option(&out, "socket", given->socket);
        fill_in_option(&out, "program", given->program);
        fill_in_option(&out, "docs", given->docs);
        fill_in_option(&out, "console", given->console);
        buf_puts(&out, given->no_limits ? " --no-limits" : "");
        buf_printf(&out, "' for the service name '%s'.  If the name changes, print it again.\n",
                   name);
        fill_in(&out, text_of(kind->template), values);
        if (kind->form == UPSTREAM && !options->no_limits)
            fill_in(&out, text_of(template_nginx_limits), values);
    }
    ok = ok && !out.failed;
    if (ok)
        listing_print_file(ctl, "configuration", buf_text(&out));
    buf_free(&regex);
    buf_free(&upper);
    buf_free(&out);
    return ok ? CTL_OK : ctl_fail("out of memory");
}

/* ---- the verb ---- */

/* Refuses the options that the kind does not use. */
static int check_use(const struct kind *kind, const struct ctl_options *options)
{
    if (options->socket && kind->form == STARTS)
        return ctl_misuse("'%s' takes no --socket: it starts the program itself; use --program",
                          kind->name);
    if (options->program && kind->form != STARTS)
        return ctl_misuse("'%s' takes no --program: it connects to a running responder; use "
                          "--socket",
                          kind->name);
    if (options->no_limits && kind->form != UPSTREAM)
        return ctl_misuse("'%s' takes no --no-limits: 'nginx-upstream' alone has limits",
                          kind->name);
    if ((options->prefix || options->docs || options->console) && kind->form == UPSTREAM)
        return ctl_misuse("'%s' takes no --%s: it has no paths", kind->name,
                          options->prefix ? "prefix"
                          : options->docs ? "docs"
                                          : "console");
    return CTL_OK;
}

static int misuse_path(const char *option, const char *path, const char *what, size_t len_max)
{
    return ctl_misuse(
        "--%s '%s' is not accepted; expected the absolute path of %s: " FILL_IN_PATH_WANTED, option,
        path, what, len_max);
}

static int check_paths(const struct ctl_options *options)
{
    const size_t socket_max = sizeof((struct sockaddr_un *)0)->sun_path - 1;

    if (!prefix_valid(options->prefix))
        return ctl_misuse("--prefix '%s' is not accepted; expected a path such as /adit: at most "
                          "%d letters, digits, '/', '.', '_' and '-', no '/' at the end",
                          options->prefix, PREFIX_LEN_MAX);
    if (!fill_in_path_valid(options->socket, socket_max))
        return misuse_path("socket", options->socket, "a unix socket", socket_max);
    if (!fill_in_path_valid(options->docs, FILL_IN_PATH_MAX))
        return misuse_path("docs", options->docs, "the folder of the reference", FILL_IN_PATH_MAX);
    if (!fill_in_path_valid(options->console, FILL_IN_PATH_MAX))
        return misuse_path("console", options->console, "the folder of the console",
                           FILL_IN_PATH_MAX);
    if (!fill_in_path_valid(options->program, FILL_IN_PATH_MAX))
        return misuse_path("program", options->program, "adit.fcgi", FILL_IN_PATH_MAX);
    return CTL_OK;
}

/* Sets the options that are absent to their defaults and checks all.  Returns CTL_OK or CTL_USAGE.
 */
static int check_options(const struct kind *kind, struct ctl_options *options)
{
    int status = check_use(kind, options);

    if (status != CTL_OK)
        return status;
    if (!options->prefix)
        options->prefix = "";
    if (!options->socket)
        options->socket = ADIT_SOCKET_PATH;
    if (!options->docs)
        options->docs = ADIT_DOCS_PATH;
    if (!options->console)
        options->console = ADIT_CONSOLE_PATH;
    if (!options->program)
        options->program = ADIT_PROGRAM_PATH;
    return check_paths(options);
}

int ctl_web_server(struct ctl *ctl)
{
    const struct ctl_options given = ctl->options; /* without defaults */
    const struct kind *kind = find_kind(ctl->options.argument);
    char *conf_path = NULL;
    int status;

    if (!kind)
        return unknown_kind(ctl->options.argument);
    status = check_options(kind, &ctl->options);
    if (status != CTL_OK)
        return status;
    if (kind->form == STARTS) {
        if (!ctl->conf.path)
            return ctl_fail("'%s' needs a settings file for the program; create %s, or name a file "
                            "with --conf",
                            kind->name, ADIT_CONF_PATH);
        conf_path = realpath(ctl->conf.path, NULL);
        if (!conf_path || !fill_in_path_valid(conf_path, FILL_IN_PATH_MAX)) {
            free(conf_path);
            return ctl_fail("%s: the path of the settings file may contain only letters, digits, "
                            "'/', '.', '_', '+' and '-'; move the file",
                            ctl->conf.path);
        }
    }
    status = print_configuration(ctl, &given, kind, conf_path ? conf_path : "");
    free(conf_path);
    return status;
}
