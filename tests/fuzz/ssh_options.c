/* SPDX-License-Identifier: MIT */
/* Fuzz target: options of sshd.  The input is the ports of domains and rules, each with a NUL at
 * its end. */
#include "model/ssh_options.h"

#include "base/arena.h"
#include "fuzz.h"
#include "model/acl_cover.h"

#define MAX_RULES 64
#define LISTEN ",permitlisten=\""

/* Returns whether one of the ports of domains is the port, or all are. */
static bool is_domain_port(const struct ssh_domain_ports *ports, const char *port)
{
    if (strcmp(port, "*") == 0)
        return ports->any;
    for (size_t i = 0; i < ports->n; i++) {
        if (ports->ports[i] == atol(port))
            return true;
    }
    return false;
}

/* A host and a port in text: the rules permit the address, or the domain. */
static void look_at_listen(struct text listen, struct text_list rules,
                           const struct ssh_domain_ports *ports)
{
    char copy[300];
    char *colon;
    bool permitted;

    MUST(listen.len < sizeof copy);
    memcpy(copy, listen.s, listen.len);
    copy[listen.len] = '\0';
    permitted = acl_permits(rules, listen);
    colon = strrchr(copy, ':');
    MUST(colon);
    if (is_domain_port(ports, colon + 1))
        permitted = permitted || acl_permits(rules, text_part(listen, 0, (size_t)(colon - copy)));
    MUST(permitted);
    MUST(strspn(copy, "abcdefghijklmnopqrstuvwxyz0123456789.-_:[]*") == listen.len);
    /* sshd's patterns: the only wildcard is the one of a domain. */
    *colon = '\0';
    MUST(strcspn(copy, "*") == strlen(copy) || strncmp(copy, "*.", 2) == 0);
    MUST(!strchr(copy + 1, '*'));
    MUST(copy[0] != '*' || !domain_ends_in_number(text_of(copy)));
}

/* The line has nothing but the options that the rules permit. */
static void look_at_options(struct text options, struct text_list rules,
                            const struct ssh_domain_ports *ports)
{
    struct text rest = options;
    size_t n_listens = 0;

    MUST(text_begins(rest, "restrict"));
    rest = text_part(rest, strlen("restrict"), rest.len);
    if (rest.len == 0)
        return;
    MUST(text_begins(rest, ",port-forwarding"));
    rest = text_part(rest, strlen(",port-forwarding"), rest.len);
    for (; rest.len > 0; n_listens++) {
        const char *quote;
        size_t len;

        MUST(text_begins(rest, LISTEN));
        rest = text_part(rest, strlen(LISTEN), rest.len);
        quote = memchr(rest.s, '"', rest.len);
        MUST(quote);
        len = (size_t)(quote - rest.s);
        look_at_listen(text_part(rest, 0, len), rules, ports);
        rest = text_part(rest, len + 1, rest.len);
    }
    /* Port forwarding without permitlisten permits everything. */
    MUST((n_listens == 0) == acl_permits_everything(rules));
}

/* Returns whether the options have the text, which ends at the quote. */
static bool has_listen(struct text options, const char *host, unsigned port)
{
    char wanted[400];

    snprintf(wanted, sizeof wanted, LISTEN "%s:%u\"", host, port);
    return strstr(options.s, wanted) != NULL;
}

/* What a well-formed rule permits, the options permit, too. */
static void look_at_rule(struct text rule, struct text options,
                         const struct ssh_domain_ports *ports)
{
    struct acl_target target;
    const char *why;
    char host[300];

    if (!acl_rule_read(rule, &target, &why) || target.kind == ACL_EVERYTHING ||
        target.kind == ACL_LABEL)
        return;
    if (target.any_below && domain_ends_in_number(target.name))
        return;
    snprintf(host, sizeof host, "%s%.*s%s",
             target.any_below ? "*."
             : target.is_ipv6 ? "["
                              : "",
             (int)target.name.len, target.name.s, target.is_ipv6 ? "]" : "");
    for (char *c = host; *c; c++)
        *c = *c >= 'A' && *c <= 'Z' ? (char)(*c + 0x20) : *c;
    if (target.kind == ACL_ADDRESS && !ports->any)
        MUST(has_listen(options, host, target.port));
    for (size_t i = 0; i < ports->n && target.kind == ACL_DOMAIN; i++)
        MUST(has_listen(options, host, ports->ports[i]));
}

static bool covers(struct text_list now, struct text_list before)
{
    struct acl_cover cover;
    bool includes;

    MUST(acl_cover_read(now, &cover));
    includes = acl_cover_includes(&cover, before);
    acl_cover_free(&cover);
    return includes;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct input input = input_of(data, size);
    char *words = take_string(&input);
    struct ssh_domain_ports ports;
    struct text items[MAX_RULES];
    struct text_list rules = {.items = items, .given = true};
    struct text_list united;
    struct arena arena = {0};
    struct buf out = {0};
    const char *why = NULL;

    if (!ssh_domain_ports_read(text_of(words), &ports, &why))
        MUST(why && is_plain(text_of(why)));
    while (rules.n < MAX_RULES && input.left > 0)
        items[rules.n++] = text_of(take_string(&input));
    MUST(acl_unite(&rules, 1, &arena, &united));
    MUST(united.n > 0 && covers(united, rules) && covers(rules, united));
    MUST(ssh_options_write(&out, united, &ports, &why));
    look_at_options(buf_text(&out), rules, &ports);
    for (size_t i = 0; i < rules.n && !acl_permits_everything(rules); i++)
        look_at_rule(items[i], buf_text(&out), &ports);
    if (strstr(out.data, LISTEN))
        accepted();
    for (size_t i = 0; i < rules.n; i++)
        free((char *)(uintptr_t)items[i].s);
    free(words);
    buf_free(&out);
    arena_free(&arena);
    return 0;
}
