/* SPDX-License-Identifier: MIT */
/* The table of accounts whose changes are read. */
#include "gateway/follow.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Returns where an account is or belongs. */
static size_t find_account(const struct follows *follows, const char *account_id)
{
    size_t low = 0, high = follows->n;

    while (low < high) {
        size_t middle = low + (high - low) / 2;

        if (strcmp(follows->items[middle].account_id, account_id) < 0)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

struct follow *follows_find(const struct follows *follows, const char *account_id)
{
    size_t place = find_account(follows, account_id);

    if (place == follows->n || strcmp(follows->items[place].account_id, account_id) != 0)
        return NULL;
    return &follows->items[place];
}

static struct follow *add_follow(struct follows *follows, const char *account_id)
{
    size_t place = find_account(follows, account_id);
    struct follow *follow;

    if (follows->n == follows->cap) {
        size_t cap = follows->cap ? follows->cap * 2 : 8;
        struct follow *items = realloc(follows->items, cap * sizeof *items);

        if (!items)
            return NULL;
        follows->items = items;
        follows->cap = cap;
    }
    follow = &follows->items[place];
    memmove(follow + 1, follow, (follows->n - place) * sizeof *follow);
    if (place <= follows->at && follows->n > 0)
        follows->at++;
    follows->n++;
    *follow = (struct follow){.is_away = false};
    snprintf(follow->account_id, sizeof follow->account_id, "%s", account_id);
    return follow;
}

static bool want(struct follows *follows, const char *account_id)
{
    struct follow *follow;

    if (!account_id[0])
        return true;
    follow = follows_find(follows, account_id);
    if (!follow)
        follow = add_follow(follows, account_id);
    if (follow)
        follow->is_wanted = true;
    return follow != NULL;
}

static void remove_unwanted(struct follows *follows)
{
    size_t n = 0, at = 0;

    for (size_t i = 0; i < follows->n; i++) {
        if (i == follows->at)
            at = n;
        if (follows->items[i].is_wanted)
            follows->items[n++] = follows->items[i];
        else
            buf_free(&follows->items[i].mark);
    }
    follows->n = n;
    follows->at = at < n ? at : 0;
}

bool follows_renew(struct follows *follows, const struct ssh_sessions *sessions,
                   const char *account_id)
{
    bool ok;

    for (size_t i = 0; i < follows->n; i++)
        follows->items[i].is_wanted = false;
    ok = want(follows, account_id);
    for (size_t i = 0; i < sessions->n; i++)
        ok = (sessions->items[i]->is_ending || want(follows, sessions->items[i]->account_id)) && ok;
    remove_unwanted(follows);
    return ok;
}

void follow_note_answer(struct follow *follow, struct text mark)
{
    buf_clear(&follow->mark);
    buf_add(&follow->mark, mark.s, mark.len);
    if (follow->mark.failed)
        buf_clear(&follow->mark);
    follow->is_away = false;
}

void follow_note_failure(struct follow *follow)
{
    follow->is_away = true;
    buf_clear(&follow->mark);
}

size_t follows_count_away(const struct follows *follows)
{
    size_t n = 0;

    for (size_t i = 0; i < follows->n; i++)
        n += follows->items[i].is_away;
    return n;
}

void follows_free(struct follows *follows)
{
    for (size_t i = 0; i < follows->n; i++)
        buf_free(&follows->items[i].mark);
    free(follows->items);
    *follows = (struct follows){0};
}
