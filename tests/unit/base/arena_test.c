/* SPDX-License-Identifier: MIT */
/* Tests of the arena. */
#include "base/arena.h"

#include <check.h>
#include <stdalign.h>
#include <stdint.h>

#include "suites.h"

static bool all_are(char byte, const char *s, size_t len)
{
    for (size_t i = 0; i < len; i++) {
        if (s[i] != byte)
            return false;
    }
    return true;
}

/* Allocates sizes around the alignment and around a block, and fills each.  If two shared a byte,
 * the later one would not be zero, or the earlier one would have changed. */
static void take_and_fill(struct arena *arena, int n)
{
    char *pieces[64];
    size_t sizes[64];

    ck_assert_int_le(n, 64);
    for (int i = 0; i < n; i++) {
        sizes[i] = (size_t)i * (size_t)i * 11 % 20000 + 1;
        pieces[i] = arena_alloc(arena, sizes[i]);
        ck_assert_ptr_nonnull(pieces[i]);
        ck_assert_uint_eq((uintptr_t)pieces[i] % alignof(max_align_t), 0);
        ck_assert(all_are(0, pieces[i], sizes[i]));
        memset(pieces[i], i + 1, sizes[i]);
    }
    for (int i = 0; i < n; i++)
        ck_assert_msg(all_are((char)(i + 1), pieces[i], sizes[i]), "piece %d", i);
}

START_TEST(pieces_are_zero_and_apart)
{
    struct arena arena = {0};

    take_and_fill(&arena, 64);
    arena_free(&arena);
}
END_TEST

START_TEST(reset_zeroes_what_is_given_again)
{
    struct arena arena = {0};

    for (int i = 0; i < 20; i++) {
        take_and_fill(&arena, 1 + i * 3);
        arena_reset(&arena);
    }
    arena_free(&arena);
}
END_TEST

/* A secret does not outlive its request: the bytes are zero right after the reset.  The arena keeps
 * the block, so reading there is allowed. */
START_TEST(reset_wipes)
{
    static const char secret[] = "hunter2 hunter2 hunter2";
    struct arena arena = {0};
    char *copy = arena_copy(&arena, secret, sizeof secret - 1);
    char *again;

    ck_assert_str_eq(copy, secret);
    arena_reset(&arena);
    ck_assert(all_are(0, copy, sizeof secret));
    again = arena_alloc(&arena, sizeof secret);
    ck_assert_ptr_eq(again, copy);
    arena_free(&arena);
}
END_TEST

START_TEST(reset_keeps_one_block)
{
    struct arena arena = {0};
    void *first = arena_alloc(&arena, 100);

    ck_assert_ptr_nonnull(arena_alloc(&arena, 1000000));
    ck_assert_ptr_nonnull(arena_alloc(&arena, 1000000));
    arena_reset(&arena);
    ck_assert_ptr_nonnull(arena.block);
    ck_assert_ptr_eq(arena_alloc(&arena, 100), first);
    arena_free(&arena);
    ck_assert_ptr_null(arena.block);
}
END_TEST

START_TEST(remembers_failures)
{
    struct arena arena = {0};

    ck_assert_ptr_nonnull(arena_alloc(&arena, 10));
    ck_assert(!arena.failed);
    ck_assert_ptr_null(arena_array(&arena, SIZE_MAX / 2, 3));
    ck_assert(arena.failed);
    ck_assert_ptr_nonnull(arena_alloc(&arena, 10));
    ck_assert(arena.failed);
    arena_reset(&arena);
    ck_assert(!arena.failed);
    ck_assert_ptr_null(arena_alloc(&arena, SIZE_MAX));
    ck_assert(arena.failed);
    arena_free(&arena);
}
END_TEST

START_TEST(empty_arena)
{
    struct arena arena = {0};

    arena_reset(&arena);
    ck_assert_ptr_null(arena.block);
    arena_free(&arena);
    ck_assert_ptr_null(arena.block);
    ck_assert_ptr_nonnull(arena_alloc(&arena, 0));
    arena_free(&arena);
    ck_assert_ptr_nonnull(arena_alloc(&arena, 1));
    arena_free(&arena);
}
END_TEST

START_TEST(pieces_of_nothing_are_apart)
{
    struct arena arena = {0};

    ck_assert_ptr_ne(arena_alloc(&arena, 0), arena_alloc(&arena, 0));
    arena_free(&arena);
}
END_TEST

START_TEST(sizes_that_overflow)
{
    struct arena arena = {0};

    ck_assert_ptr_null(arena_alloc(&arena, SIZE_MAX));
    ck_assert_ptr_null(arena_alloc(&arena, SIZE_MAX - 15));
    ck_assert_ptr_null(arena_array(&arena, SIZE_MAX, 2));
    ck_assert_ptr_null(arena_array(&arena, SIZE_MAX / 8 + 2, 8));
    ck_assert_ptr_null(arena_array(&arena, (SIZE_MAX >> 33) + 1, (size_t)1 << 33));
    ck_assert_ptr_nonnull(arena_alloc(&arena, 1));
    arena_free(&arena);
}
END_TEST

START_TEST(arrays)
{
    struct arena arena = {0};
    char *array = arena_array(&arena, 1000, 40);

    ck_assert(all_are(0, array, 40000));
    ck_assert_ptr_nonnull(arena_array(&arena, 0, 8));
    ck_assert_ptr_nonnull(arena_array(&arena, 8, 0));
    arena_free(&arena);
}
END_TEST

START_TEST(copies)
{
    struct arena arena = {0};
    char *copy = arena_copy(&arena, "a\0bcd", 4);

    ck_assert_mem_eq(copy, "a\0bc\0", 5);
    ck_assert_str_eq(arena_copy(&arena, "abc", 0), "");
    ck_assert_str_eq(arena_copy(&arena, NULL, 0), "");
    arena_free(&arena);
}
END_TEST

Suite *arena_suite(void)
{
    Suite *suite = suite_create("base/arena");
    TCase *tests = tcase_create("arena");

    tcase_add_test(tests, pieces_are_zero_and_apart);
    tcase_add_test(tests, reset_zeroes_what_is_given_again);
    tcase_add_test(tests, reset_wipes);
    tcase_add_test(tests, reset_keeps_one_block);
    tcase_add_test(tests, empty_arena);
    tcase_add_test(tests, remembers_failures);
    tcase_add_test(tests, pieces_of_nothing_are_apart);
    tcase_add_test(tests, sizes_that_overflow);
    tcase_add_test(tests, arrays);
    tcase_add_test(tests, copies);
    suite_add_tcase(suite, tests);
    return suite;
}
