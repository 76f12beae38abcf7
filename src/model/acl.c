/* SPDX-License-Identifier: MIT */
/* Bind rules. */
#include "model/acl.h"

#include <stdint.h>
#include <stdlib.h>

#include "base/ascii.h"
#include "model/acl_targets.h"
#include "model/domain.h"

#define BIND "bind:"
#define BIND_LEN 5

static bool is_bind_rule(struct text rule)
{
    return text_begins(rule, BIND);
}

static bool names_everything(struct text rule)
{
    return text_eq(rule, text_of("*")) || text_eq(rule, text_of(BIND "*"));
}

static bool stands_at(struct text text, size_t at, const char *wanted)
{
    return text_begins(text_part(text, at, text.len), wanted);
}

static bool parts_rules(char c)
{
    return ascii_is_space(c) || c == ',' || c == ';';
}

/* Returns whether a text that is not a rule lists several rules, or several targets after "bind:".
 */
static bool is_list(struct text rule)
{
    bool has_first = false;
    bool is_parted = false;

    for (size_t i = 0; i < rule.len; i++) {
        if (is_parted && stands_at(rule, i, BIND))
            return true;
        is_parted = has_first && parts_rules(rule.s[i]);
        has_first = has_first || !parts_rules(rule.s[i]);
    }
    return is_bind_rule(rule) && memchr(rule.s, ',', rule.len) && !memchr(rule.s, '=', rule.len);
}

static bool is_url(struct text rule)
{
    for (size_t i = BIND_LEN - 1; i < rule.len && is_bind_rule(rule); i++) {
        if (stands_at(rule, i, "://"))
            return true;
    }
    return false;
}

bool acl_rule_read(struct text rule, struct acl_target *target, const char **why)
{
    if (names_everything(rule)) {
        *target = (struct acl_target){.kind = ACL_EVERYTHING};
        return true;
    }
    if (is_bind_rule(rule))
        return acl_target_read(text_part(rule, BIND_LEN, rule.len), target, why);
    *why = "the rule does not begin with 'bind:' in lowercase";
    return false;
}

/* Returns whether the target is digits only.  That is a domain by its grammar, but no name is like
 * that: a port was meant. */
static bool is_port(const struct acl_target *target)
{
    return target->kind == ACL_DOMAIN && !target->any_below &&
           domain_looks_like_ipv4(target->name) && !memchr(target->name.s, '.', target->name.len);
}

bool acl_rule_valid(struct text rule, const char **why)
{
    struct acl_target target;

    if (acl_rule_read(rule, &target, why)) {
        if (!is_port(&target))
            return true;
        *why = "the target is a port without a host. Give both, 'bind:localhost:9000'";
        return false;
    }
    if (is_list(rule))
        *why = "the string contains several rules. Make each rule a string of its "
               "own: [\"bind:a.example\", \"bind:b.example\"]";
    else if (is_url(rule))
        *why = "the target is a URL. Give its host, 'bind:a.example', or its host and "
               "port, 'bind:a.example:443'";
    return false;
}

/* ---- judging ---- */

bool acl_permitting(struct text_list rules, struct text target, struct text *rule)
{
    struct acl_target asked;
    const char *why;
    bool well_formed = acl_target_read(target, &asked, &why);

    *rule = (struct text){0};
    for (size_t i = 0; i < rules.n; i++) {
        struct acl_target own;

        /* A malformed rule permits nothing. */
        if (!acl_rule_read(rules.items[i], &own, &why))
            continue;
        if (own.kind == ACL_EVERYTHING || (well_formed && acl_target_permits(&own, &asked))) {
            *rule = rules.items[i];
            return true;
        }
    }
    return rules.n == 0;
}

bool acl_permits(struct text_list rules, struct text target)
{
    struct text rule;

    return acl_permitting(rules, target, &rule);
}

/* ---- uniting ---- */

bool acl_permits_everything(struct text_list rules)
{
    for (size_t i = 0; i < rules.n; i++) {
        if (names_everything(rules.items[i]))
            return true;
    }
    return rules.n == 0;
}

/* A rule, its place in all lists, and its group: equal rules are in one. */
struct placed_rule {
    struct text rule;
    size_t place;
    size_t group;
};

static int compare_rules(struct text a, struct text b)
{
    if (!a.s || !b.s)
        return (a.s != NULL) - (b.s != NULL);
    return text_cmp(a, b);
}

static int by_rule_and_place(const void *left, const void *right)
{
    const struct placed_rule *a = left;
    const struct placed_rule *b = right;
    int order = compare_rules(a->rule, b->rule);

    return order ? order : (a->place > b->place) - (a->place < b->place);
}

/* Marks the places of rules that stand at an earlier place, too.  Rules are put into n groups by
 * their hash, and each group is sorted: so rules that were made to collide cost one sort.
 * starts[n + 1] is all zero. */
static void mark_repeated(const struct placed_rule *rules, size_t n, struct placed_rule *grouped,
                          size_t *starts, bool *repeated)
{
    for (size_t i = 0; i < n; i++)
        starts[rules[i].group]++;
    for (size_t i = 1; i <= n; i++)
        starts[i] += starts[i - 1];
    /* Each group fills from its end.  Then its start is where it begins. */
    for (size_t i = 0; i < n; i++)
        grouped[--starts[rules[i].group]] = rules[i];
    for (size_t i = 0; i < n; i++) {
        size_t len = starts[i + 1] - starts[i];

        if (len > 1)
            qsort(&grouped[starts[i]], len, sizeof *grouped, by_rule_and_place);
    }
    for (size_t i = 1; i < n; i++)
        repeated[grouped[i].place] = grouped[i - 1].group == grouped[i].group &&
                                     compare_rules(grouped[i - 1].rule, grouped[i].rule) == 0;
}

/* Returns the distinct ones of n rules, more than none, in their order.  Returns false if memory
 * runs out. */
static bool keep_distinct(struct placed_rule *rules, size_t n, struct arena *arena,
                          struct text_list *out)
{
    struct placed_rule *grouped = arena_array(arena, n, sizeof *grouped);
    size_t *starts = arena_array(arena, n + 1, sizeof *starts);
    bool *repeated = arena_array(arena, n, sizeof *repeated);

    out->items = arena_array(arena, n, sizeof *out->items);
    if (!grouped || !starts || !repeated || !out->items)
        return false;
    mark_repeated(rules, n, grouped, starts, repeated);
    for (size_t i = 0; i < n; i++) {
        if (!repeated[i])
            out->items[out->n++] = rules[i].rule;
    }
    return true;
}

bool acl_unite(const struct text_list *lists, size_t n, struct arena *arena, struct text_list *out)
{
    bool everything = false;
    size_t n_rules = 0;
    struct placed_rule *rules;

    *out = (struct text_list){.given = true};
    for (size_t i = 0; i < n; i++) {
        everything = everything || acl_permits_everything(lists[i]);
        n_rules += lists[i].n;
    }
    if (everything) {
        out->items = arena_alloc(arena, sizeof *out->items);
        if (out->items)
            out->items[out->n++] = text_of("*");
        return out->items;
    }
    rules = arena_array(arena, n_rules, sizeof *rules);
    if (!rules)
        return false;
    for (size_t i = 0, place = 0; i < n; i++) {
        for (size_t j = 0; j < lists[i].n; j++, place++) {
            struct text rule = lists[i].items[j];

            rules[place] = (struct placed_rule){rule, place, text_hash(rule) % n_rules};
        }
    }
    return keep_distinct(rules, n_rules, arena, out);
}
