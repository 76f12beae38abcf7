/* SPDX-License-Identifier: MIT */
/* Looking for the texts that a member is compared with. */
#include <string.h>

#include "filter/filter.h"

struct search {
    const char *member;
    bool (*is_wanted)(const void *context, struct text text);
    const void *context;
    size_t *offset;
};

static bool is_member(const struct filter_node *node, const char *member)
{
    return node->op == FILTER_MEMBER && strcmp(node->member->name, member) == 0;
}

static struct text find_in_literal(const struct search *search, const struct filter_node *literal)
{
    *search->offset = literal->offset;
    if (literal->op != FILTER_LITERAL)
        return (struct text){0};
    if (literal->type == FILTER_STRING && search->is_wanted(search->context, literal->text))
        return literal->text;
    for (size_t i = 0; literal->type == FILTER_STRINGS && i < literal->texts.n; i++) {
        if (search->is_wanted(search->context, literal->texts.items[i]))
            return literal->texts.items[i];
    }
    return (struct text){0};
}

/* A tree is at most FILTER_MAX_HEIGHT high. */
static struct text find_below(const struct search *search, const struct filter_node *node)
{
    const bool compares = node->op == FILTER_EQ || node->op == FILTER_NE || node->op == FILTER_IN;
    struct text found = {0};

    if (compares && is_member(node->left, search->member))
        found = find_in_literal(search, node->right);
    else if (compares && is_member(node->right, search->member))
        found = find_in_literal(search, node->left);
    if (!found.s && node->left)
        found = find_below(search, node->left);
    if (!found.s && node->right)
        found = find_below(search, node->right);
    return found;
}

struct text filter_find_text(const struct filter_node *root, const char *member,
                             bool (*is_wanted)(const void *context, struct text text),
                             const void *context, size_t *offset)
{
    const struct search search = {
        .member = member, .is_wanted = is_wanted, .context = context, .offset = offset};

    return find_below(&search, root);
}
