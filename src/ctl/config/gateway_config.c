/* SPDX-License-Identifier: MIT */
/* aditctl gateway-config: prints the configuration that makes a program obey what is stored. */
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/ascii.h"
#include "base/buf.h"
#include "base/ident.h"
#include "ctl/listing.h"
#include "ctl/machine.h"
#include "ctl/config/fill_in.h"
#include "ctl/config/gate_config.h"
#include "ctl/config/templates.h"
#include "model/domain.h"

#define USER_LEN_MAX 32

/* Lines between these two are repeated for each edge. */
#define EDGES "@EDGES@\n"
#define EDGES_END "@END@\n"

static int misuse_value(const char *option, const char *value, const char *wanted)
{
    return ctl_misuse("--%s '%s' is not accepted; expected %s", option, value, wanted);
}

/* ---- sshd ---- */

/* sshd reads words between blanks, so the value needs no quotes and must not be a pattern. */
static bool user_valid(const char *user)
{
    size_t len = strspn(user, "abcdefghijklmnopqrstuvwxyz0123456789_-");

    return len > 0 && len <= USER_LEN_MAX && user[len] == '\0' && user[0] != '-';
}

/* Who names an account has several, and their tunnels share the names and ports of the gateway. */
static void warn_unbounded(const char *account)
{
    ctl_note("warning: the account %s can take names and ports of other accounts of this "
             "gateway; give each account a domain with --domain, or set PermitListen",
             account);
}

/* Sets the options that are absent to their defaults and checks all. */
static int check_sshd(struct ctl_options *options, const struct conf *conf)
{
    const char *account = options->account ? options->account : conf->gateway.account;

    if (!options->user)
        options->user = "tunnel";
    if (!user_valid(options->user))
        return misuse_value("user", options->user,
                            "at most 32 lowercase letters, digits, '_' and '-'");
    if (account[0] && !ident_assigned(text_of(account), IDENT_ACCOUNT))
        return misuse_value("account", account, "the id of an account");
    if (!fill_in_path_valid(conf->gateway.socket, FILL_IN_PATH_MAX))
        return ctl_fail("[gateway] socket: the path may contain only letters, digits, '/', '.', "
                        "'_', '+' and '-'");
    if (options->account && !options->domain)
        warn_unbounded(account);
    options->account = account;
    return CTL_OK;
}

/* Appends a line that bounds what even a key without rules may bind. */
static void add_permit_listen(struct buf *out, const char *domain,
                              const struct ssh_domain_ports *ports)
{
    buf_puts(out, domain
                      ? ""
                      : "    # Without this, a key without rules binds any port from 1024 on:\n");
    buf_puts(out, domain ? "    PermitListen" : "    # PermitListen");
    for (size_t i = 0; i < ports->n; i++)
        buf_printf(out, " *.%s:%u", domain ? domain : "example.com", (unsigned)ports->ports[i]);
    if (ports->any)
        buf_printf(out, " *.%s:*", domain ? domain : "example.com");
    buf_puts(out, "\n");
}

static int fill_in_sshd(struct ctl *ctl, const char *template, struct buf *out)
{
    struct ctl_options *options = &ctl->options;
    const struct conf_gateway *settings = &ctl->conf.gateway;
    struct buf helper = {0}, permit_listen = {0};
    int status = check_sshd(options, &ctl->conf);

    if (status != CTL_OK)
        return status;
    buf_puts(&helper, ADIT_SSH_KEYS_PATH);
    if (options->account[0])
        buf_printf(&helper, " --account %s", options->account);
    if (strcmp(settings->socket, ADIT_GATEWAY_SOCKET_PATH) != 0)
        buf_printf(&helper, " --socket %s", settings->socket);
    add_permit_listen(&permit_listen, options->domain, &settings->domain_ports);
    out->failed = out->failed || helper.failed || permit_listen.failed;
    if (!out->failed) {
        const struct value values[] = {
            {"USER", options->user},
            {"HELPER", helper.data},
            {"PERMIT_LISTEN", permit_listen.data},
            {NULL, NULL},
        };

        fill_in(out, text_of(template), values);
    }
    buf_free(&helper);
    buf_free(&permit_listen);
    return CTL_OK;
}

/* Older ones refuse the line, and then do not start. */
static int fill_in_sshd_logins(struct ctl *ctl, const char *template, struct buf *out)
{
    const struct value values[] = {
        {"IF_KNOWN", machine_sshd_has_penalties() ? "" : "# From OpenSSH 9.8 on: "},
        {NULL, NULL},
    };

    (void)ctl;
    fill_in(out, text_of(template), values);
    return CTL_OK;
}

/* ---- edges ---- */

/* An edge's values.  The texts are in the buffers. */
struct edge_texts {
    struct buf id;
    struct buf name; /* by which clients ask for it */
    struct buf number;
    struct buf address; /* a loopback address */
};

static void free_texts(struct edge_texts *texts)
{
    buf_free(&texts->id);
    buf_free(&texts->name);
    buf_free(&texts->number);
    buf_free(&texts->address);
}

/* Makes the values of the edge with that number, from 1. */
static bool make_texts(struct edge_texts *texts, struct text id, unsigned number,
                       const char *domain)
{
    *texts = (struct edge_texts){.id = {0}};
    buf_add(&texts->id, id.s, id.len);
    buf_add(&texts->name, id.s, id.len);
    for (size_t i = 0; i < texts->name.len; i++)
        texts->name.data[i] = ascii_lower(texts->name.data[i]);
    if (domain)
        buf_printf(&texts->name, ".%s", domain);
    buf_uint(&texts->number, number);
    buf_printf(&texts->address, "127.83.%u.%u", number / 250, number % 250 + 1);
    return !texts->id.failed && !texts->name.failed && !texts->number.failed &&
           !texts->address.failed;
}

/* Returns whether clients can ask for the name, and no server takes it for a pattern. */
static bool name_valid(struct text name)
{
    for (size_t i = 0; i < name.len; i++) {
        if (!ascii_is_alnum(name.s[i]) && !(i > 0 && strchr("-_.", name.s[i])))
            return false;
    }
    return name.len <= DOMAIN_MAX;
}

/* Fills in a part of a template, for an edge or for all of them. */
static void fill_in_part(struct buf *out, struct text part, const struct ctl *ctl,
                         const struct edge_texts *texts)
{
    const struct value values[] = {
        {"CERTIFICATES", ctl->options.certificates},
        {"OUTPUT", ctl->conf.mutual_tls.output},
        {"SOCKET",
         ctl->conf.mutual_tls.haproxy[0] ? ctl->conf.mutual_tls.haproxy : "/run/haproxy/adit.sock"},
        {"FIRST_EDGE", texts->id.data},
        {"EDGE", texts->id.data},
        {"EDGE_NAME", texts->name.data},
        /* What the application is told.  The templates listen on this port. */
        {"HOST", texts->name.data},
        {"SCHEME", "https"},
        {"PORT", "443"},
        {"NUMBER", texts->number.data},
        {"ADDRESS", texts->address.data},
        {NULL, NULL},
    };

    fill_in(out, part, values);
}

/* Fills in a part of a template for each edge; with first_only for the first one.  Returns CTL_OK,
 * or the exit status after a message. */
static int fill_in_edges(struct buf *out, struct text part, const struct ctl *ctl, bool first_only)
{
    struct text rest = text_of(ctl->conf.mutual_tls.edges);
    int status = CTL_OK;
    unsigned number = 0;

    for (struct text id; status == CTL_OK && (id = text_next_word(&rest)).s;) {
        struct edge_texts texts;

        if (!make_texts(&texts, id, ++number, ctl->options.domain))
            status = ctl_fail("out of memory");
        else if (!name_valid(buf_text(&texts.name)))
            status = ctl_fail("the edge '%s' cannot be a server's name: that has letters, digits, "
                              "'-', '_' and '.', and begins with a letter or digit",
                              texts.name.data);
        else
            fill_in_part(out, part, ctl, &texts);
        free_texts(&texts);
        if (first_only)
            break;
    }
    return status;
}

/* Fills in a template part by part. */
static int fill_in_template(struct buf *out, const char *text, const struct ctl *ctl)
{
    int status = CTL_OK;
    const char *at;

    while (status == CTL_OK && (at = strstr(text, EDGES)) != NULL) {
        const char *edges = at + strlen(EDGES);
        const char *end = strstr(edges, EDGES_END);

        status = fill_in_edges(out, (struct text){text, (size_t)(at - text)}, ctl, true);
        if (status == CTL_OK)
            status = fill_in_edges(out, (struct text){edges, (size_t)(end - edges)}, ctl, false);
        text = end + strlen(EDGES_END);
    }
    return status == CTL_OK ? fill_in_edges(out, text_of(text), ctl, true) : status;
}

static int fill_in_tls(struct ctl *ctl, const char *template, struct buf *out)
{
    struct ctl_options *options = &ctl->options;
    struct text edges = text_of(ctl->conf.mutual_tls.edges);

    if (!options->certificates)
        options->certificates = "/etc/adit/certificates";
    if (!fill_in_path_valid(options->certificates, FILL_IN_PATH_MAX))
        return ctl_misuse("--certificates '%s' is not accepted; expected the absolute path of a "
                          "folder: " FILL_IN_PATH_WANTED,
                          options->certificates, (size_t)FILL_IN_PATH_MAX);
    if (!text_next_word(&edges).s)
        return ctl_fail("the settings name no edges; set edges in section [mutual_tls] of %s",
                        ctl->conf.path ? ctl->conf.path : ADIT_CONF_PATH);
    return fill_in_template(out, template, ctl);
}

/* ---- sign-ins ---- */

/* Appends what no setting and no option changes. */
static int fill_in_sign_ins(struct ctl *ctl, const char *template, struct buf *out)
{
    (void)ctl;
    buf_puts(out, template);
    return CTL_OK;
}

/* ---- the verb ---- */

static const struct gateway {
    const char *name;
    const char *template;
    int (*fill)(struct ctl *ctl, const char *template, struct buf *out);
    const char *takes; /* the options of this kind */
} gateways[] = {
#define GATEWAY(name, template, fill, takes) {name, template_##template, fill, takes},
    GATEWAYS(GATEWAY)
#undef GATEWAY
};

#define N_GATEWAYS (sizeof gateways / sizeof gateways[0])

#define OPTION(member) {#member, offsetof(struct ctl_options, member)}

static const struct {
    const char *name;
    size_t at;
} gateway_options[] = {
    OPTION(user),  OPTION(account), OPTION(domain),      OPTION(certificates),
    OPTION(route), OPTION(url),     OPTION(application), OPTION(socket),
};

#define N_OPTIONS (sizeof gateway_options / sizeof gateway_options[0])

static const char *option_given(const struct ctl_options *options, size_t i)
{
    return *(const char *const *)((const char *)options + gateway_options[i].at);
}

/* Refuses the options that this kind does not use. */
static int refuse_foreign_options(const struct gateway *gateway, const struct ctl_options *options)
{
    for (size_t i = 0; i < N_OPTIONS; i++) {
        const char *at = strstr(gateway->takes, gateway_options[i].name);

        if (option_given(options, i) && !(at && at[strlen(gateway_options[i].name)] == ' '))
            return ctl_misuse("'%s' takes no --%s", gateway->name, gateway_options[i].name);
    }
    return CTL_OK;
}

static int unknown_gateway(const char *name)
{
    struct buf known = {0};
    int status;

    for (size_t i = 0; i < N_GATEWAYS; i++)
        buf_printf(&known, "%s%s", i > 0 ? ", " : "", gateways[i].name);
    status = ctl_misuse("unknown gateway '%s'; choose one of: %s", name, buf_text(&known).s);
    buf_free(&known);
    return status;
}

int ctl_gateway_config(struct ctl *ctl)
{
    const struct ctl_options *options = &ctl->options;
    struct buf out = {0};
    const char *why;
    size_t i = 0;
    int status;

    while (i < N_GATEWAYS && strcmp(gateways[i].name, options->argument) != 0)
        i++;
    if (i == N_GATEWAYS)
        return unknown_gateway(options->argument);
    status = refuse_foreign_options(&gateways[i], options);
    if (status != CTL_OK)
        return status;
    if (options->domain && !domain_valid(text_of(options->domain), &why))
        return ctl_misuse("--domain '%s' is not accepted: %s", options->domain, why);
    buf_printf(&out, "# Printed by 'aditctl gateway-config %s", options->argument);
    fill_in_option(&out, "conf", options->conf_path);
    for (size_t option = 0; option < N_OPTIONS; option++)
        fill_in_option(&out, gateway_options[option].name, option_given(options, option));
    buf_puts(&out, "'.  If the settings change, print it again.\n");
    status = gateways[i].fill(ctl, gateways[i].template, &out);
    if (status == CTL_OK && out.failed)
        status = ctl_fail("out of memory");
    if (status == CTL_OK)
        listing_print_file(ctl, "configuration", buf_text(&out));
    buf_free(&out);
    return status;
}
