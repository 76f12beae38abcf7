/* SPDX-License-Identifier: MIT */
/* Turns of a worker's lanes. */
#include "gate/turn.h"

#include <stddef.h>

#include "base/clock.h"

static void join_turns(struct turns *turns, struct turn *turn)
{
    struct turn **at = &turns->first;

    while (*at)
        at = &(*at)->next;
    turn->next = NULL;
    *at = turn;
}

/* Whoever is first now waits for nothing else. */
static void leave_turns(struct turns *turns, struct turn *turn)
{
    struct turn **at = &turns->first;

    while (*at != turn)
        at = &(*at)->next;
    *at = turn->next;
    if (turns->first)
        turns->first->wait->wake(turns->first->wait->context);
}

static bool is_of_modules(const struct turn *turn, const struct turn *other)
{
    return turn->asks_for == other->asks_for;
}

static bool is_of_network(const struct turn *turn, const struct turn *other)
{
    return is_of_modules(turn, other) && turn->from == other->from;
}

static bool is_of_visitor(const struct turn *turn, const struct turn *other)
{
    return is_of_modules(turn, other) && turn->visitor != 0 && turn->visitor == other->visitor;
}

/* Moves those that are like one behind all others. */
static void move_back(struct turns *turns, const struct turn *one,
                      bool (*is_like)(const struct turn *, const struct turn *))
{
    struct turn *moved = NULL;
    struct turn **moved_end = &moved;
    struct turn **end = &turns->first;

    for (struct turn *turn = turns->first; turn; turn = turn->next) {
        struct turn ***to = is_like(turn, one) ? &moved_end : &end;

        **to = turn;
        *to = &turn->next;
    }
    *moved_end = NULL;
    *end = moved;
}

/* The loop resumes all lanes that are woken or due before it goes round.  So whoever is first waits
 * once more, until a time that may have passed, and a lane that is woken has no turn yet. */
bool turn_await(struct turns *turns, struct turn *turn, int64_t deadline_ms)
{
    const struct wait *wait = turn->wait;
    bool is_in_time, is_woken;

    join_turns(turns, turn);
    do {
        int64_t due_ms = turns->first == turn ? turns->last_ms + 1 : deadline_ms;

        is_woken = wait->until(wait->context, -1, 0, clock_earlier(due_ms, deadline_ms));
        is_in_time = clock_steady_ms() < deadline_ms;
    } while (is_in_time && (is_woken || turns->first != turn));
    if (is_in_time) {
        turns->last_ms = clock_steady_ms();
        move_back(turns, turn, is_of_modules);
        move_back(turns, turn, is_of_network);
        move_back(turns, turn, is_of_visitor);
    }
    leave_turns(turns, turn);
    return is_in_time;
}
