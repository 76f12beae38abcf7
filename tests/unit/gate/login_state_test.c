/* SPDX-License-Identifier: MIT */
/* Tests of the states of logins, and of ways back. */
#include <check.h>
#include <stdlib.h>

#include "cases.h"
#include "crypt/key.h"
#include "gate/login_state.h"
#include "gate/packed.h"
#include "keys.h"
#include "suites.h"

#define NOW 1700000000
#define ID "AAAAAAAAAAAAAAAAAAAAAA"
#define VERIFIER "-_-_-_-_-_-_-_-_-_-_-_-_-_-_-_-_-_-_-_-_-_8"

static struct login_state new_state(const char *way_back)
{
    struct login_state state;

    ck_assert(login_state_new(&state, NOW, text_of(way_back)));
    return state;
}

static bool opens(struct text value, struct login_state *state)
{
    struct error err = {.code = ERR_INTERNAL};

    if (login_state_open(keys, &keys_place, value, &keys_arena, state, &err))
        return true;
    ck_assert_int_eq(err.code, ERR_NONE);
    return false;
}

static struct text sealed_state(const struct login_state *state)
{
    static struct buf out;
    struct error err;

    buf_clear(&out);
    ck_assert(login_state_seal(keys, &keys_place, state, &keys_arena, &out, &err));
    return buf_text(&out);
}

START_TEST(new_states)
{
    struct login_state a = new_state("/a?b");
    struct login_state b = new_state("//evil.example");
    unsigned char bytes[64];
    size_t len;

    ck_assert(crypt_key_base64url_decode(a.id, strlen(a.id), bytes, &len));
    ck_assert_uint_eq(len, 16);
    ck_assert(crypt_key_base64url_decode(a.code_verifier, strlen(a.code_verifier), bytes, &len));
    ck_assert_uint_eq(len, 32);
    ck_assert_int_eq(a.issued, NOW);
    ck_assert_str_eq(a.way_back.s, "/a?b");
    ck_assert_str_eq(b.way_back.s, "/");
    ck_assert_str_ne(a.id, b.id);
    ck_assert_str_ne(a.code_verifier, b.code_verifier);
}
END_TEST

START_TEST(states_sealed_and_opened)
{
    char way_back[LOGIN_WAY_BACK_IN_COOKIE_MAX + 2];
    struct login_state state;
    struct login_state opened;
    struct text value;

    memset(way_back, '/', sizeof way_back);
    memset(way_back + 1, 'a', sizeof way_back - 2);
    way_back[LOGIN_WAY_BACK_IN_COOKIE_MAX] = '\0';
    state = new_state(way_back);
    value = sealed_state(&state);
    ck_assert_uint_lt(value.len, 1700);
    ck_assert(opens(value, &opened));
    ck_assert_str_eq(opened.id, state.id);
    ck_assert_str_eq(opened.code_verifier, state.code_verifier);
    ck_assert_int_eq(opened.issued, NOW);
    ck_assert_str_eq(opened.way_back.s, way_back);
    ck_assert(!opened.is_in_row);
    /* A longer one is somewhere else. */
    way_back[LOGIN_WAY_BACK_IN_COOKIE_MAX] = 'a';
    way_back[LOGIN_WAY_BACK_IN_COOKIE_MAX + 1] = '\0';
    state = new_state(way_back);
    ck_assert_str_eq(state.way_back.s, "/");
    state.is_in_row = true;
    ck_assert(opens(sealed_state(&state), &opened));
    ck_assert(opened.is_in_row);
}
END_TEST

START_TEST(bound_to_place_and_purpose)
{
    struct login_state state = new_state("/");
    struct visitor_session session = {.identity.subject = text_of("1")};
    struct sealed_place other = keys_place;
    struct text value = sealed_state(&state);
    struct buf out = {0};
    struct error err = {.code = ERR_INTERNAL};

    ck_assert(!visitor_session_open(keys, &keys_place, value, &keys_arena, &session, &err));
    ck_assert_int_eq(err.code, ERR_NONE);
    other.route_id = text_of("route-2");
    err.code = ERR_INTERNAL;
    ck_assert(!login_state_open(keys, &other, value, &keys_arena, &state, &err));
    ck_assert_int_eq(err.code, ERR_NONE);
    ck_assert(visitor_session_seal(keys, &keys_place, &session, &keys_arena, &out, &err));
    ck_assert(!opens(buf_text(&out), &state));
    buf_free(&out);
}
END_TEST

START_TEST(every_bit_counts)
{
    struct login_state state = new_state("/");
    struct text value = sealed_state(&state);
    char copy[512];

    ck_assert_uint_lt(value.len, sizeof copy);
    for (size_t i = 0; i < value.len; i++) {
        for (int bit = 0; bit < 8; bit++) {
            memcpy(copy, value.s, value.len + 1);
            copy[i] = (char)(copy[i] ^ 1 << bit);
            ck_assert(!opens((struct text){.s = copy, .len = value.len}, &state));
        }
    }
}
END_TEST

/* Seals a state as the parts say. */
static bool parts_open(int layout, const char *id, const char *verifier, const char *way_back)
{
    struct login_state state;
    struct buf bytes = {0};
    bool ok;

    packed_put_number(&bytes, (uint64_t)layout);
    buf_puts(&bytes, id);
    buf_puts(&bytes, verifier);
    packed_put_number(&bytes, NOW);
    packed_put_text(&bytes, text_of(way_back));
    packed_put_number(&bytes, 0);
    ok = opens(keys_seal("gate.state", buf_text(&bytes)), &state);
    buf_free(&bytes);
    return ok;
}

START_TEST(sealed_states_are_read_strictly)
{
    ck_assert(parts_open(2, ID, VERIFIER, "/"));
    ck_assert(!parts_open(1, ID, VERIFIER, "/"));
    ck_assert(!parts_open(2, ID "A", VERIFIER, "/"));
    ck_assert(!parts_open(2, ID, "", "/"));
    ck_assert(!parts_open(2, "AAAAAAAAAAAAAAAAAAAAA.", VERIFIER, "/"));
    ck_assert(!parts_open(2, ID, "&_-_-_-_-_-_-_-_-_-_-_-_-_-_-_-_-_-_-_-_-_8", "/"));
    ck_assert(!parts_open(2, ID, VERIFIER, "//evil.example"));
    ck_assert(!parts_open(2, ID, VERIFIER, ""));
}
END_TEST

START_TEST(states_last_ten_minutes)
{
    struct login_state state = new_state("/");

    ck_assert(login_state_lasts(&state, NOW));
    ck_assert(login_state_lasts(&state, NOW + 599));
    ck_assert(!login_state_lasts(&state, NOW + 600));
    ck_assert(login_state_lasts(&state, NOW - 60));
    ck_assert(!login_state_lasts(&state, NOW - 61));
}
END_TEST

/* The text has memory of its own, so that a sanitizer sees a read past its end. */
static void expect_way_back(const struct test_case *test)
{
    char *copy = malloc(test->input_len ? test->input_len : 1);
    bool good = strcmp(test->expected, "good") == 0;

    ck_assert_ptr_nonnull(copy);
    ck_assert_msg(good || strcmp(test->expected, "bad") == 0, "%s:%d", test->file, test->line);
    memcpy(copy, test->input, test->input_len);
    ck_assert_msg(login_way_back_valid((struct text){.s = copy, .len = test->input_len}) == good,
                  "%s:%d: %s (%s)", test->file, test->line, test->input, test->why);
    free(copy);
}

START_TEST(ways_back)
{
    static char longest[LOGIN_WAY_BACK_MAX + 1];

    memset(longest, 'a', sizeof longest);
    longest[0] = '/';
    ck_assert(login_way_back_valid((struct text){longest, LOGIN_WAY_BACK_MAX}));
    ck_assert(!login_way_back_valid((struct text){longest, LOGIN_WAY_BACK_MAX + 1}));
    cases_run("ways_back.cases", expect_way_back);
    ck_assert(!login_way_back_valid((struct text){.s = NULL}));
}
END_TEST

Suite *gate_login_state_suite(void)
{
    Suite *suite = suite_create("gate/login_state");
    TCase *tcase = tcase_create("login_state");

    tcase_add_checked_fixture(tcase, keys_make, keys_remove);
    tcase_add_test(tcase, new_states);
    tcase_add_test(tcase, states_sealed_and_opened);
    tcase_add_test(tcase, bound_to_place_and_purpose);
    tcase_add_test(tcase, every_bit_counts);
    tcase_add_test(tcase, sealed_states_are_read_strictly);
    tcase_add_test(tcase, states_last_ten_minutes);
    tcase_add_test(tcase, ways_back);
    suite_add_tcase(suite, tcase);
    return suite;
}
