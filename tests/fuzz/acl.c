/* SPDX-License-Identifier: MIT */
/* Fuzz target: bind rules.  The input is a target and rules, each with a NUL at its end. */
#include "model/acl.h"

#include <strings.h>

#include "fuzz.h"
#include "model/domain.h"

#define MAX_RULES 8
#define BIND "bind:"
#define BIND_LEN 5

static bool is_everything(struct text rule)
{
    return text_eq(rule, text_of("*")) || text_eq(rule, text_of(BIND "*"));
}

static bool is_valid(struct text rule)
{
    const char *why = NULL;
    bool ok = acl_rule_valid(rule, &why);

    MUST(ok || (why && is_plain(text_of(why))));
    return ok;
}

/* Returns whether the text is a rule, also if it may no longer be stored. */
static bool is_rule(struct text rule)
{
    struct acl_target target;
    const char *why = NULL;
    bool ok = acl_rule_read(rule, &target, &why);

    MUST(ok || !is_valid(rule));
    return ok;
}

static bool one_permits(struct text rule, struct text target)
{
    return acl_permits((struct text_list){.items = &rule, .n = 1, .given = true}, target);
}

/* Returns a copy with the case of all letters changed from a byte on, which the caller frees. */
static char *swap_case(struct text text, size_t from)
{
    char *copy = malloc(text.len + 1);

    MUST(copy);
    memcpy(copy, text.s, text.len + 1);
    for (size_t i = from; i < text.len; i++) {
        if ((copy[i] | 0x20) >= 'a' && (copy[i] | 0x20) <= 'z')
            copy[i] = (char)(copy[i] ^ 0x20);
    }
    return copy;
}

/* Returns "bind:" and the target, which the caller frees. */
static char *rule_for(struct text target)
{
    char *rule = malloc(BIND_LEN + target.len + 1);

    MUST(rule);
    /* NOLINTNEXTLINE(bugprone-not-null-terminated-result): the target ends it */
    memcpy(rule, BIND, BIND_LEN);
    memcpy(rule + BIND_LEN, target.s, target.len + 1);
    return rule;
}

/* Only labels, which contain '=', are case-sensitive. */
static void look_at_case(struct text rule, struct text target)
{
    bool permits = one_permits(rule, target);
    bool valid = is_valid(rule);
    char *other_rule;
    char *other_target;

    if (memchr(rule.s, '=', rule.len) || memchr(target.s, '=', target.len))
        return;
    other_rule = swap_case(rule, BIND_LEN);
    other_target = swap_case(target, 0);
    MUST(one_permits(text_of(other_rule), target) == permits);
    MUST(one_permits(rule, text_of(other_target)) == permits);
    MUST(is_valid(text_of(other_rule)) == valid);
    free(other_rule);
    free(other_target);
}

static bool has(struct text text, char byte)
{
    return memchr(text.s, byte, text.len) != NULL;
}

/* The rule of domains in other words: the names are equal, or the target is one or more bytes, a
 * dot and the rule's suffix. */
static void look_at_domains(struct text rule, struct text target)
{
    struct text name = {.s = rule.s + BIND_LEN, .len = rule.len - BIND_LEN};
    bool wanted;

    if (has(name, ':') || has(name, '=') || has(target, ':') || has(target, '='))
        return;
    if (name.s[0] == '*')
        wanted = target.len >= name.len &&
                 strcasecmp(target.s + target.len - (name.len - 1), name.s + 1) == 0;
    else
        wanted = strcasecmp(target.s, name.s) == 0;
    MUST(one_permits(rule, target) == wanted);
}

static void look_at_pair(struct text rule, struct text target, bool target_valid)
{
    bool permits = one_permits(rule, target);

    if (target_valid && is_valid(rule) && !is_everything(rule) && !is_everything(target))
        look_at_domains(rule, target);

    if (is_everything(rule))
        MUST(permits);
    else
        MUST(!permits || (is_rule(rule) && target_valid));
    if (rule.len >= BIND_LEN)
        look_at_case(rule, target);
}

/* A rule permits its own target, and all targets that this target as a rule permits. */
static void look_at_own_target(struct text rule, struct text target, bool target_valid)
{
    struct text own = {.s = rule.s + BIND_LEN, .len = rule.len - BIND_LEN};
    char *as_rule;

    if (is_valid(rule))
        MUST(one_permits(rule, own));
    as_rule = rule_for(target);
    if (target_valid && one_permits(rule, target) && one_permits(text_of(as_rule), own))
        MUST(one_permits(rule, own) || !is_valid(rule));
    free(as_rule);
}

/* If rule a permits the target of rule b, and b permits a target, then a permits it. */
static void look_at_chain(const struct text_list *rules, struct text target)
{
    for (size_t i = 0; i < rules->n; i++) {
        for (size_t j = 0; j < rules->n; j++) {
            struct text a = rules->items[i];
            struct text b = rules->items[j];

            if (b.len < BIND_LEN || !is_valid(b) || is_everything(b))
                continue;
            b.s += BIND_LEN;
            b.len -= BIND_LEN;
            if (one_permits(a, b) && one_permits(rules->items[j], target))
                MUST(one_permits(a, target));
        }
    }
}

/* A list permits a target if one of its rules does.  No rule denies a target. */
static void look_at_list(struct text_list rules, struct text target)
{
    bool any = false;

    MUST(acl_permits((struct text_list){.given = true}, target));
    for (size_t i = 0; i < rules.n; i++) {
        struct text_list shorter = {.items = rules.items, .n = i + 1, .given = true};

        any = any || one_permits(rules.items[i], target);
        MUST(acl_permits(shorter, target) == any);
    }
    look_at_chain(&rules, target);
}

static void look_at_grammar(struct text text)
{
    const char *why = NULL;
    unsigned char value[IPV6_SIZE], again[IPV6_SIZE];
    char written[IPV6_TEXT_SIZE];

    if (domain_valid(text, &why))
        MUST(text.len >= 1 && text.len <= DOMAIN_MAX && is_plain(text) && !strchr(text.s, '*'));
    else
        MUST(why && *why);
    if (ipv4_valid(text))
        MUST(domain_looks_like_ipv4(text) && text.len <= 15);
    if (ipv6_read(text, value)) {
        ipv6_write(value, written);
        MUST(ipv6_read(text_of(written), again) && memcmp(again, value, IPV6_SIZE) == 0);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct input input = input_of(data, size);
    char *target = take_string(&input);
    char *target_rule = rule_for(text_of(target));
    struct text items[MAX_RULES];
    struct text_list rules = {.items = items, .given = true};
    bool target_valid = is_rule(text_of(target_rule));

    look_at_grammar(text_of(target));
    look_at_pair(text_of(target_rule), text_of(target), target_valid);
    look_at_own_target(text_of(target_rule), text_of(target), target_valid);
    while (rules.n < MAX_RULES && input.left > 0) {
        struct text rule = text_of(take_string(&input));

        items[rules.n++] = rule;
        look_at_pair(rule, text_of(target), target_valid);
        if (rule.len >= BIND_LEN)
            look_at_own_target(rule, text_of(target), target_valid);
    }
    look_at_list(rules, text_of(target));
    if (target_valid && rules.n > 0 && acl_permits(rules, text_of(target)))
        accepted();
    for (size_t i = 0; i < rules.n; i++)
        free((char *)(uintptr_t)items[i].s);
    free(target_rule);
    free(target);
    return 0;
}
