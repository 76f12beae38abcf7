/* SPDX-License-Identifier: MIT */
/* Options of a line of authorized_keys(5).
 *
 * Each host is one that acl_target_read() accepted: letters, digits, '.', '-' and '_', or the
 * colons and digits of an IPv6 address.  So no stored text can end the quotes or the line.
 *
 * In a host of a permitlisten, '*' stands for any number of any characters.  So "*.d" permits the
 * names that "bind:*.d" permits, and texts that are no names and resolve to no address.  Only if d
 * ends in a number, such a text may be an address: "*.0.1" matches "::0.0.0.1", which is "::1".  No
 * permitlisten is written for these rules. */
#include "model/ssh_options.h"

#include "base/ascii.h"
#include "base/number.h"
#include "model/acl_targets.h"

#define PORT_MAX 65535

/* ---- ports ---- */

static bool add_port(struct ssh_domain_ports *ports, unsigned short port, const char **why)
{
    for (size_t i = 0; i < ports->n; i++) {
        if (ports->ports[i] == port)
            return true;
    }
    if (ports->n == SSH_DOMAIN_PORTS_MAX) {
        *why = "there are more than 16 ports";
        return false;
    }
    ports->ports[ports->n++] = port;
    return true;
}

bool ssh_domain_ports_read(struct text words, struct ssh_domain_ports *out, const char **why)
{
    size_t from = 0;

    *out = (struct ssh_domain_ports){.any = text_eq(words, text_of("*"))};
    if (out->any)
        return true;
    for (size_t to = 0; to <= words.len; to++) {
        struct text word;
        uint64_t port;

        if (to < words.len && !ascii_is_blank(words.s[to]))
            continue;
        word = text_part(words, from, to);
        from = to + 1;
        if (word.len == 0)
            continue;
        if (word.s[0] == '0' || !number_read(word, 10, PORT_MAX, &port)) {
            *why = "expected '*', or ports from 1 to 65535 with spaces between them";
            return false;
        }
        if (!add_port(out, (unsigned short)port, why))
            return false;
    }
    *why = "there is no port; expected '*', or ports from 1 to 65535 with spaces between them";
    return out->n > 0;
}

/* ---- options ---- */

const char ssh_options_no_memory[] = "out of memory";

static double share_of_limits(size_t n_listens, size_t bytes)
{
    double listens = (double)n_listens / SSH_LISTENS_MAX;
    double length = (double)bytes / SSH_OPTIONS_MAX;

    return listens > length ? listens : length;
}

double ssh_options_share(struct text_list rules)
{
    size_t bytes = 0;

    for (size_t i = 0; i < rules.n; i++)
        bytes += rules.items[i].len;
    return share_of_limits(rules.n, bytes);
}

bool ssh_options_fit(struct text_list rules)
{
    return ssh_options_share(rules) <= 1;
}

/* What is written, and the first reason to stop. */
struct options {
    struct buf *out;
    size_t n_listens;
    const char *fault;
};

/* Port 0: every port. */
static void add_listen(struct options *options, const char *before, struct text host,
                       const char *after, unsigned short port)
{
    struct buf *out = options->out;

    if (options->fault)
        return;
    if (options->n_listens++ == SSH_LISTENS_MAX) {
        options->fault = "there are more than 4096 distinct permitlisten";
        return;
    }
    if (options->n_listens == 1)
        buf_puts(out, ",port-forwarding");
    buf_puts(out, ",permitlisten=\"");
    buf_puts(out, before);
    buf_add(out, host.s, host.len);
    buf_puts(out, after);
    if (port)
        buf_uint(out, port);
    else
        buf_puts(out, "*");
    buf_puts(out, "\"");
}

static void add_domain(struct options *options, const struct acl_target *domain,
                       const struct ssh_domain_ports *ports)
{
    const char *before = domain->any_below ? "*." : "";

    if (domain->any_below && domain_ends_in_number(domain->name))
        return;
    if (ports->any)
        add_listen(options, before, domain->name, ":", 0);
    for (size_t i = 0; i < ports->n; i++)
        add_listen(options, before, domain->name, ":", ports->ports[i]);
}

/* Returns whether a rule for the domain of the same name opens the port of the address. */
static bool domain_opens(const struct acl_targets *targets, const struct acl_target *address,
                         const struct ssh_domain_ports *ports)
{
    bool opens = ports->any;

    for (size_t i = 0; i < ports->n; i++)
        opens = opens || ports->ports[i] == address->port;
    return opens && acl_targets_have_domain(targets, address->name);
}

static void add_ipv6(struct options *options, const struct acl_target *address, bool is_first)
{
    char form[IPV6_TEXT_SIZE];

    ipv6_write(address->ipv6, form);
    if (is_first)
        add_listen(options, "[", text_of(form), "]:", address->port);
    if (!text_eq(address->name, text_of(form)))
        add_listen(options, "[", address->name, "]:", address->port);
}

static void add_targets(struct options *options, const struct acl_targets *targets,
                        const struct ssh_domain_ports *ports)
{
    const struct acl_sorted_target *last = NULL;

    for (size_t i = 0; i < targets->n && !options->fault; i++) {
        const struct acl_sorted_target *item = &targets->items[i];
        bool is_first = !last || !text_eq(last->key, item->key);

        if (!is_first && text_eq(last->target.name, item->target.name))
            continue;
        if (item->target.kind == ACL_DOMAIN)
            add_domain(options, &item->target, ports);
        else if (item->target.is_ipv6)
            add_ipv6(options, &item->target, is_first);
        else if (!domain_opens(targets, &item->target, ports))
            add_listen(options, "", item->target.name, ":", item->target.port);
        last = item;
    }
}

/* Does what ssh_options_write() does.  Returns the reason, or NULL. */
static const char *write_options(struct options *options, struct text_list rules,
                                 const struct ssh_domain_ports *ports)
{
    struct acl_targets targets = {0};
    struct buf *out = options->out;
    size_t start = out->len;

    buf_puts(out, "restrict");
    if (acl_permits_everything(rules))
        buf_puts(out, ",port-forwarding");
    else if (acl_targets_read(rules, &targets))
        add_targets(options, &targets, ports);
    else
        options->fault = ssh_options_no_memory;
    if (!options->fault && out->len - start > SSH_OPTIONS_MAX)
        options->fault = "the options are longer than 200 KiB";
    if (!options->fault && out->failed)
        options->fault = ssh_options_no_memory;
    acl_targets_free(&targets);
    if (options->fault)
        buf_cut(out, start);
    return options->fault;
}

bool ssh_options_write(struct buf *out, struct text_list rules,
                       const struct ssh_domain_ports *ports, const char **why)
{
    struct options options = {.out = out};

    *why = write_options(&options, rules, ports);
    return !*why;
}

bool ssh_options_measure(struct text_list rules, const struct ssh_domain_ports *ports,
                         double *share)
{
    struct buf out = {0};
    struct options options = {.out = &out};
    const char *why = write_options(&options, rules, ports);

    *share = why ? 2 : share_of_limits(options.n_listens, out.len);
    buf_free(&out);
    return why != ssh_options_no_memory;
}
