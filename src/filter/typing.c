/* SPDX-License-Identifier: MIT */
/* The rules of types: which operands an operator takes, and what equals null. */
#include "filter/typing.h"

#include "base/time.h"
#include "filter/lex.h"

const char *filter_type_words(enum filter_type type)
{
    static const char *const words[] = {
        [FILTER_BOOL] = "true or false", [FILTER_INT] = "an integer", [FILTER_STRING] = "a string",
        [FILTER_TIME] = "a time",        [FILTER_STRINGS] = "a list", [FILTER_OBJECT] = "an object",
        [FILTER_NULL] = "null",
    };

    return words[type];
}

struct filter_node *filter_make(const struct filter_maker *maker, struct filter_node node)
{
    struct filter_node *made = arena_alloc(maker->arena, sizeof *made);

    if (!made) {
        error_set(maker->err, ERR_OUT_OF_MEMORY);
        return NULL;
    }
    *made = node;
    return made;
}

static struct filter_node *no_node(bool refused)
{
    (void)refused;
    return NULL;
}

bool filter_expect(const struct filter_maker *maker, const struct filter_node *node,
                   enum filter_type type)
{
    return node->type == type ||
           filter_refuse(maker->err, node->offset, "expected %s, found %s", filter_type_words(type),
                         filter_type_words(node->type));
}

static struct filter_node *make_operator(const struct filter_maker *maker, enum filter_op op,
                                         const struct filter_node *left,
                                         const struct filter_node *right)
{
    return filter_make(
        maker,
        (struct filter_node){
            .op = op, .type = FILTER_BOOL, .offset = left->offset, .left = left, .right = right});
}

struct filter_node *filter_make_not(const struct filter_maker *maker, size_t offset,
                                    const struct filter_node *operand)
{
    if (!filter_expect(maker, operand, FILTER_BOOL))
        return NULL;
    return filter_make(
        maker, (struct filter_node){
                   .op = FILTER_NOT, .type = FILTER_BOOL, .offset = offset, .left = operand});
}

struct filter_node *filter_make_size(const struct filter_maker *maker, size_t offset,
                                     const struct filter_node *operand)
{
    if (operand->type != FILTER_STRING && operand->type != FILTER_STRINGS)
        return no_node(filter_refuse(maker->err, operand->offset,
                                     "expected a string or a list, found %s",
                                     filter_type_words(operand->type)));
    return filter_make(
        maker, (struct filter_node){
                   .op = FILTER_SIZE, .type = FILTER_INT, .offset = offset, .left = operand});
}

static struct filter_node *make_bool(const struct filter_maker *maker, size_t offset, bool value)
{
    return filter_make(
        maker, (struct filter_node){
                   .op = FILTER_LITERAL, .type = FILTER_BOOL, .offset = offset, .number = value});
}

struct filter_node *filter_make_moved(const struct filter_maker *maker,
                                      const struct filter_node *time, int64_t us)
{
    struct filter_node moved = *time;
    const int64_t most = TIME_MAX - TIME_MIN;

    if (!filter_expect(maker, time, FILTER_TIME))
        return NULL;
    /* Both are at most some 10,000 years, so that the sum does not overflow. */
    moved.number += us;
    if (time->op == FILTER_LITERAL ? moved.number < TIME_MIN || moved.number > TIME_MAX
                                   : moved.number < -most || moved.number > most)
        return no_node(
            filter_refuse(maker->err, time->offset, "expected a time in the years 1 to 9999"));
    return filter_make(maker, moved);
}

/* Returns null and "" as what they equal on a side of this type: the empty string or the empty
 * list.  Returns other nodes as they are. */
static const struct filter_node *make_unset(const struct filter_maker *maker,
                                            const struct filter_node *node, enum filter_type type)
{
    struct filter_node unset = {.op = FILTER_LITERAL, .type = type, .offset = node->offset};
    bool is_empty = node->op == FILTER_LITERAL && node->type == FILTER_STRING && !node->text.len;

    if (type == FILTER_STRINGS && (node->type == FILTER_NULL || is_empty))
        unset.texts.given = true;
    else if (type == FILTER_STRING && node->type == FILTER_NULL)
        unset.text = text_of("");
    else
        return node;
    return filter_make(maker, unset);
}

static struct filter_node *refuse_types(const struct filter_maker *maker,
                                        const struct filter_node *left,
                                        const struct filter_node *right)
{
    const char *hint = "";

    if (left->type == FILTER_NULL)
        return no_node(filter_expect(maker, left, right->type));
    if (left->type == FILTER_TIME && right->type == FILTER_STRING)
        hint = "; write timestamp(\"...\")";
    else if (left->type == FILTER_STRINGS && right->type == FILTER_STRING)
        hint = "; write \"...\" in the list";
    return no_node(
        filter_refuse(maker->err, right->offset, "expected %s as at the left, found %s%s",
                      filter_type_words(left->type), filter_type_words(right->type), hint));
}

static bool is_true(enum filter_op op, int64_t left, int64_t right)
{
    switch (op) {
    case FILTER_EQ:
        return left == right;
    case FILTER_NE:
        return left != right;
    case FILTER_LT:
        return left < right;
    case FILTER_LE:
        return left <= right;
    case FILTER_GT:
        return left > right;
    default:
        return left >= right;
    }
}

static enum filter_op turned(enum filter_op op)
{
    switch (op) {
    case FILTER_LT:
        return FILTER_GT;
    case FILTER_LE:
        return FILTER_GE;
    case FILTER_GT:
        return FILTER_LT;
    case FILTER_GE:
        return FILTER_LE;
    default:
        return op;
    }
}

/* Returns the comparison of a member with a whole second. */
static struct filter_node *compare_second(const struct filter_maker *maker, enum filter_op op,
                                          const struct filter_node *member, int64_t second)
{
    struct filter_node literal = {
        .op = FILTER_LITERAL, .type = FILTER_TIME, .offset = member->offset, .number = second};
    const struct filter_node *right = filter_make(maker, literal);

    return right ? make_operator(maker, op, member, right) : NULL;
}

/* Rewrites a comparison of a member, as the API shows it, into one of the time that is stored.  It
 * is shown without its fraction: it is before t if what is stored is before the next second from t
 * on. */
static struct filter_node *compare_member(const struct filter_maker *maker, enum filter_op op,
                                          const struct filter_node *member, int64_t us)
{
    int64_t from = time_ceiling(us);
    int64_t next = time_floor(us) + TIME_SECOND_US;
    const struct filter_node *low;
    const struct filter_node *high;

    switch (op) {
    case FILTER_LT:
        return compare_second(maker, FILTER_LT, member, from);
    case FILTER_GE:
        return compare_second(maker, FILTER_GE, member, from);
    case FILTER_LE:
        return compare_second(maker, FILTER_LT, member, next);
    case FILTER_GT:
        return compare_second(maker, FILTER_GE, member, next);
    default:
        break;
    }
    if (from == next)
        return make_bool(maker, member->offset, op == FILTER_NE);
    low = compare_second(maker, op == FILTER_EQ ? FILTER_GE : FILTER_LT, member, from);
    high = compare_second(maker, op == FILTER_EQ ? FILTER_LT : FILTER_GE, member, next);
    if (!low || !high)
        return NULL;
    return make_operator(maker, op == FILTER_EQ ? FILTER_AND : FILTER_OR, low, high);
}

static struct filter_node *compare_times(const struct filter_maker *maker, enum filter_op op,
                                         const struct filter_node *left,
                                         const struct filter_node *right)
{
    struct filter_node *member;
    struct filter_node plain;
    int64_t us;

    /* Both are literals, or one member. */
    if (left->op == right->op && left->member == right->member)
        return make_bool(maker, left->offset, is_true(op, left->number, right->number));
    if (left->op == FILTER_LITERAL)
        return compare_times(maker, turned(op), right, left);
    if (right->op != FILTER_LITERAL && left->number != right->number)
        return no_node(
            filter_refuse(maker->err, right->offset, "expected a time that no member is part of"));
    /* The member stands alone at the left: the other side moves the other way. */
    us = right->number - left->number;
    if (us < TIME_MIN)
        us = TIME_MIN;
    if (us > TIME_MAX)
        us = TIME_MAX + 1;
    plain = *left;
    plain.number = 0;
    member = filter_make(maker, plain);
    if (!member)
        return NULL;
    if (right->op != FILTER_LITERAL) {
        plain = *right;
        plain.number = 0;
        right = filter_make(maker, plain);
        return right ? make_operator(maker, op, member, right) : NULL;
    }
    return compare_member(maker, op, member, us);
}

static struct filter_node *make_equality(const struct filter_maker *maker, enum filter_op op,
                                         const struct filter_node *left,
                                         const struct filter_node *right)
{
    if (left->type == FILTER_NULL && right->type == FILTER_OBJECT)
        return make_operator(maker, op, right, left);
    if (left->type == FILTER_OBJECT && right->type == FILTER_NULL)
        return make_operator(maker, op, left, right);
    if (left->type == FILTER_OBJECT || right->type == FILTER_OBJECT)
        return no_node(filter_refuse(maker->err,
                                     left->type == FILTER_OBJECT ? right->offset : left->offset,
                                     "expected null: an object is compared with null only"));
    if (left->type == FILTER_NULL && right->type == FILTER_NULL)
        return make_bool(maker, left->offset, op == FILTER_EQ);
    left = make_unset(maker, left, right->type);
    right = left ? make_unset(maker, right, left->type) : NULL;
    if (!right)
        return NULL;
    if (left->type != right->type)
        return refuse_types(maker, left, right);
    if (left->type == FILTER_TIME)
        return compare_times(maker, op, left, right);
    return make_operator(maker, op, left, right);
}

static struct filter_node *make_order(const struct filter_maker *maker, enum filter_op op,
                                      const struct filter_node *left,
                                      const struct filter_node *right)
{
    if (left->type == FILTER_STRINGS || left->type == FILTER_OBJECT || left->type == FILTER_NULL)
        return no_node(filter_refuse(maker->err, left->offset,
                                     "expected a string, a number, a time, or true or false: %s "
                                     "has no order",
                                     filter_type_words(left->type)));
    if (left->type != right->type)
        return refuse_types(maker, left, right);
    if (left->type == FILTER_TIME)
        return compare_times(maker, op, left, right);
    return make_operator(maker, op, left, right);
}

struct filter_node *filter_make_binary(const struct filter_maker *maker, enum filter_op op,
                                       const struct filter_node *left,
                                       const struct filter_node *right)
{
    switch (op) {
    case FILTER_AND:
    case FILTER_OR:
        if (!filter_expect(maker, left, FILTER_BOOL) || !filter_expect(maker, right, FILTER_BOOL))
            return NULL;
        break;
    case FILTER_EQ:
    case FILTER_NE:
        return make_equality(maker, op, left, right);
    case FILTER_LT:
    case FILTER_LE:
    case FILTER_GT:
    case FILTER_GE:
        return make_order(maker, op, left, right);
    case FILTER_IN:
        left = make_unset(maker, left, FILTER_STRING);
        if (!left || !filter_expect(maker, left, FILTER_STRING) ||
            !filter_expect(maker, right, FILTER_STRINGS))
            return NULL;
        break;
    default:
        if (!filter_expect(maker, left, FILTER_STRING) ||
            !filter_expect(maker, right, FILTER_STRING))
            return NULL;
        break;
    }
    return make_operator(maker, op, left, right);
}
