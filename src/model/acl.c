/* SPDX-License-Identifier: MIT */
/* Bind rules. */
#include "model/acl.h"

#include <stdlib.h>

#include "base/ascii.h"
#include "model/acl_targets.h"

#define BIND "bind:"
#define BIND_LEN 5

static bool is_bind_rule(struct text rule)
{
    return text_begins(rule, BIND);
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
    if (text_eq(rule, text_of("*")) || text_eq(rule, text_of(BIND "*"))) {
        *target = (struct acl_target){.kind = ACL_EVERYTHING};
        return true;
    }
    if (is_bind_rule(rule))
        return acl_target_read(text_part(rule, BIND_LEN, rule.len), target, why);
    *why = "the rule does not begin with 'bind:' in lowercase." ACL_RULE_FORMS;
    return false;
}

bool acl_rule_valid(struct text rule, const char **why)
{
    struct acl_target target;

    if (acl_rule_read(rule, &target, why))
        return true;
    if (is_list(rule))
        *why = "the string contains several rules. Make each rule a string of its "
               "own: [\"bind:a.example\", \"bind:b.example\"]." ACL_RULE_FORMS;
    else if (is_url(rule))
        *why = "the target is a URL. Give its host, 'bind:a.example', or its host and "
               "port, 'bind:a.example:443'." ACL_RULE_FORMS;
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
        struct acl_target target;
        const char *why;

        if (acl_rule_read(rules.items[i], &target, &why) && target.kind == ACL_EVERYTHING)
            return true;
    }
    return rules.n == 0;
}

/* A rule and its place in all lists. */
struct placed_rule {
    struct text rule;
    size_t place;
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

/* Marks the places of rules that stand at an earlier place, too.  A hash table would be slow with
 * rules that were made to collide; sorting is not. */
static void mark_repeated(struct placed_rule *rules, size_t n, bool *repeated)
{
    qsort(rules, n, sizeof *rules, by_rule_and_place);
    for (size_t i = 1; i < n; i++)
        repeated[rules[i].place] = compare_rules(rules[i - 1].rule, rules[i].rule) == 0;
}

bool acl_unite(const struct text_list *lists, size_t n, struct arena *arena, struct text_list *out)
{
    bool everything = false;
    size_t n_rules = 0;
    struct placed_rule *sorted;
    bool *repeated;

    *out = (struct text_list){.given = true};
    for (size_t i = 0; i < n; i++) {
        everything = everything || acl_permits_everything(lists[i]);
        n_rules += lists[i].n;
    }
    out->items = arena_array(arena, everything ? 1 : n_rules, sizeof *out->items);
    if (out->items && everything)
        out->items[out->n++] = text_of("*");
    if (!out->items || everything)
        return out->items;
    sorted = arena_array(arena, n_rules, sizeof *sorted);
    repeated = arena_array(arena, n_rules, sizeof *repeated);
    if (!sorted || !repeated)
        return false;
    for (size_t i = 0, place = 0; i < n; i++) {
        for (size_t j = 0; j < lists[i].n; j++, place++)
            sorted[place] = (struct placed_rule){.rule = lists[i].items[j], .place = place};
    }
    mark_repeated(sorted, n_rules, repeated);
    for (size_t i = 0, place = 0; i < n; i++) {
        for (size_t j = 0; j < lists[i].n; j++, place++) {
            if (!repeated[place])
                out->items[out->n++] = lists[i].items[j];
        }
    }
    return true;
}

/* ---- covering ---- */

bool acl_covers(struct text_list now, struct text_list before)
{
    struct acl_targets had = {0};
    struct acl_targets has = {0};
    bool covers = false;

    if (acl_permits_everything(now))
        return true;
    if (acl_permits_everything(before))
        return false;
    if (acl_targets_read(before, &had) && acl_targets_read(now, &has)) {
        acl_targets_narrow(&has);
        covers = true;
        for (size_t i = 0; i < had.n && covers; i++)
            covers = acl_targets_permit(&has, &had.items[i]);
    }
    acl_targets_free(&had);
    acl_targets_free(&has);
    return covers;
}
