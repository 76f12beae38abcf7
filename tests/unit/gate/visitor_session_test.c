/* SPDX-License-Identifier: MIT */
/* Tests of sessions: what opens, for whom, and for how long. */
#include "gate/visitor_session.h"

#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "crypt/key.h"
#include "gate/packed.h"
#include "keys.h"
#include "suites.h"

#define NOW 1700000000

static struct text emails[] = {{.s = "ann@example.com", .len = 15},
                               {.s = "a@example.org", .len = 13}};
static struct text teams[] = {{.s = "org/team", .len = 8}, {.s = "", .len = 0}};

static const struct visitor_session full = {
    .id = {0, 1, 255},
    .issued = NOW,
    .seen = NOW + 1,
    .checked = NOW + 2,
    .client_id = {.s = "client", .len = 6},
    .incarnation = INT64_C(9007199254740991),
    .prefix = {.s = "p_", .len = 2},
    .asked = {.items = teams, .n = 1, .given = true},
    .identity = {.known = IDENTITY_EMAILS | IDENTITY_TEAMS,
                 .subject = {.s = "17", .len = 2},
                 .name = {.s = "ann", .len = 3},
                 .emails = {.items = emails, .n = 2, .given = true},
                 .teams = {.items = teams, .n = 2, .given = true},
                 .is_narrowed = true,
                 .narrowed_to = {1, 2, 3}},
    .token = {.s = "gho_x", .len = 5},
    .refresh = {.s = "ghr_y", .len = 5},
    .n_renewed = UINT32_MAX,
};

static struct text sealed_as(const struct sealed_place *at, const struct visitor_session *session)
{
    static struct buf out;
    struct error err;

    buf_clear(&out);
    ck_assert(visitor_session_seal(keys, at, session, &keys_arena, &out, &err));
    return buf_text(&out);
}

static void expect_lists_equal(const struct text_list *a, const struct text_list *b)
{
    ck_assert_uint_eq(a->n, b->n);
    for (size_t i = 0; i < a->n; i++) {
        ck_assert(text_eq(a->items[i], b->items[i]));
        ck_assert_int_eq(a->items[i].s[a->items[i].len], '\0');
    }
}

static void expect_identities_equal(const struct visitor_session *a,
                                    const struct visitor_session *b)
{
    ck_assert(text_eq(a->identity.subject, b->identity.subject));
    ck_assert(text_eq(a->identity.name, b->identity.name));
    expect_lists_equal(&a->identity.emails, &b->identity.emails);
    expect_lists_equal(&a->identity.organizations, &b->identity.organizations);
    expect_lists_equal(&a->identity.teams, &b->identity.teams);
    ck_assert_int_eq(a->identity.is_narrowed, b->identity.is_narrowed);
    ck_assert_mem_eq(a->identity.narrowed_to, b->identity.narrowed_to, IDENTITY_LISTS_LEN);
    ck_assert_uint_eq(a->identity.known, b->identity.known);
    expect_lists_equal(&a->asked, &b->asked);
    ck_assert(text_eq(a->token, b->token));
    ck_assert(text_eq(a->refresh, b->refresh));
    ck_assert_uint_eq(a->n_renewed, b->n_renewed);
}

static void expect_opened(struct text value, const struct visitor_session *wanted)
{
    struct visitor_session session;
    struct error err;

    ck_assert(visitor_session_open(keys, &keys_place, value, &keys_arena, &session, &err));
    ck_assert_mem_eq(session.id, wanted->id, VISITOR_SESSION_ID_LEN);
    ck_assert_int_eq(session.issued, wanted->issued);
    ck_assert_int_eq(session.seen, wanted->seen);
    ck_assert_int_eq(session.checked, wanted->checked);
    ck_assert(text_eq(session.client_id, wanted->client_id));
    ck_assert_int_eq(session.incarnation, wanted->incarnation);
    ck_assert(text_eq(session.prefix, wanted->prefix));
    ck_assert_int_eq(session.is_in_row, wanted->is_in_row);
    ck_assert_int_eq(session.is_stranger, wanted->is_stranger);
    if (!wanted->is_in_row)
        expect_identities_equal(&session, wanted);
    else
        expect_identities_equal(&session, &(struct visitor_session){.seen = 0});
}

static void expect_none(const struct sealed_place *at, struct text value, const char *what)
{
    struct visitor_session session = full;
    struct error err = {.code = ERR_INTERNAL};

    ck_assert_msg(!visitor_session_open(keys, at, value, &keys_arena, &session, &err), "%s", what);
    ck_assert_msg(err.code == ERR_NONE, "%s: %d", what, (int)err.code);
    ck_assert_mem_eq(&session, &full, sizeof full);
}

/* ---- sealing ---- */

START_TEST(sealed_and_opened)
{
    struct visitor_session least = {
        .identity.subject = text_of("1"), .client_id = text_of(""), .prefix = text_of("")};
    struct visitor_session in_row = full;

    expect_opened(sealed_as(&keys_place, &full), &full);
    expect_opened(sealed_as(&keys_place, &least), &least);
    in_row.is_in_row = true;
    expect_opened(sealed_as(&keys_place, &in_row), &in_row);
    ck_assert_uint_lt(sealed_as(&keys_place, &in_row).len, 160);
    in_row.is_stranger = least.is_stranger = true;
    expect_opened(sealed_as(&keys_place, &in_row), &in_row);
    expect_opened(sealed_as(&keys_place, &least), &least);
}
END_TEST

/* Of whatever place, and with a key that came into the file since it was read. */
START_TEST(sessions_are_known_by_their_keys)
{
    static char other[1024];
    struct text value = sealed_as(&keys_place, &full);
    struct keyring *kept = keys;

    memcpy(other, value.s, value.len + 1);
    ck_assert(visitor_session_looks_sealed(keys, value));
    ck_assert(!visitor_session_looks_sealed(keys, text_part(value, 1, value.len)));
    keys_write("new " KEYS_1 "\n", 0600);
    keys = NULL;
    keys_load();
    value = sealed_as(&keys_place, &full);
    ck_assert(visitor_session_looks_sealed(kept, value));
    ck_assert(!visitor_session_looks_sealed(keys, text_of(other)));
    keyring_free(kept);
}
END_TEST

START_TEST(values_are_plain_and_differ)
{
    char first[1024];
    struct text value = sealed_as(&keys_place, &full);

    ck_assert_uint_lt(value.len, sizeof first);
    memcpy(first, value.s, value.len + 1);
    ck_assert_uint_eq(strspn(first, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
                                    "0123456789-_"),
                      value.len);
    ck_assert_str_ne(sealed_as(&keys_place, &full).s, first);
}
END_TEST

START_TEST(bound_to_its_place)
{
    struct text value = sealed_as(&keys_place, &full);
    struct sealed_place others[] = {keys_place, keys_place, keys_place, keys_place, keys_place};

    others[0].account_id = text_of("ac_2");
    others[1].edge_id = text_of("edge-2");
    others[2].route_id = text_of("route-2");
    others[3].provider = 2;
    others[4].edge_id = keys_place.route_id;
    others[4].route_id = keys_place.edge_id;
    for (size_t i = 0; i < sizeof others / sizeof others[0]; i++)
        expect_none(&others[i], value, "another place");
    expect_opened(value, &full);
}
END_TEST

/* Every bit of the value that base64url can hold. */
START_TEST(altered_and_cut)
{
    struct text value = sealed_as(&keys_place, &full);
    char copy[1024];

    ck_assert_uint_lt(value.len, sizeof copy);
    for (size_t i = 0; i < value.len; i++) {
        for (int bit = 0; bit < 8; bit++) {
            memcpy(copy, value.s, value.len + 1);
            copy[i] = (char)(copy[i] ^ 1 << bit);
            expect_none(&keys_place, (struct text){.s = copy, .len = value.len}, copy);
        }
    }
    memcpy(copy, value.s, value.len + 1);
    for (size_t len = 0; len < value.len; len++)
        expect_none(&keys_place, (struct text){.s = copy, .len = len}, "cut");
    for (const char *more = "A=.-"; *more; more++) {
        copy[value.len] = *more;
        expect_none(&keys_place, (struct text){.s = copy, .len = value.len + 1}, "longer");
    }
}
END_TEST

START_TEST(values_that_are_none)
{
    static const char *const values[] = {
        "",
        "A",
        "AA",
        "====",
        "\"\"",
        "AWs",
        "QGs",
        "AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA",
        "_________________________________________________________________",
        "AWsAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA"};
    char *longest = malloc(SEALED_COOKIE_MAX + 100000);

    for (size_t i = 0; i < sizeof values / sizeof values[0]; i++)
        expect_none(&keys_place, text_of(values[i]), values[i]);
    expect_none(&keys_place, (struct text){.s = NULL}, "absent");
    memset(longest, 'A', SEALED_COOKIE_MAX + 100000);
    expect_none(&keys_place, (struct text){.s = longest, .len = SEALED_COOKIE_MAX}, "long");
    expect_none(&keys_place, (struct text){.s = longest, .len = SEALED_COOKIE_MAX + 100000},
                "too long");
    free(longest);
}
END_TEST

START_TEST(keys_rotated_and_removed)
{
    char copy[1024];
    struct text value = sealed_as(&keys_place, &full);
    struct visitor_session session;
    struct error err;

    memcpy(copy, value.s, value.len + 1);
    value.s = copy;
    keys_write("new " KEYS_1 "\nk " KEYS_0 "\n", 0600);
    keys_load();
    expect_opened(value, &full);
    keys_write("new " KEYS_1 "\n", 0600);
    keys_load();
    expect_none(&keys_place, value, "its key is gone");
    keys_write("k " KEYS_1 "\n", 0600);
    expect_none(&keys_place, value, "another key of its id");
    keys_write("new " KEYS_1 "\n", 0600);
    keys_load();
    keys_write("k " KEYS_0 "\nnew " KEYS_1 "\n", 0604);
    ck_assert(!visitor_session_open(keys, &keys_place, value, &keys_arena, &session, &err));
    ck_assert_int_eq(err.code, ERR_SECRET_UNREADABLE);
    keys_write("k " KEYS_0 "\nnew " KEYS_1 "\n", 0600);
    expect_opened(value, &full);
}
END_TEST

START_TEST(no_seal_without_a_key_file)
{
    struct buf out = {0};
    struct error err;

    keys_write("nonsense", 0600);
    ck_assert(!visitor_session_seal(keys, &keys_place, &full, &keys_arena, &out, &err));
    ck_assert_int_eq(err.code, ERR_SECRET_NOT_SEALED);
    ck_assert_uint_eq(out.len, 0);
    buf_free(&out);
}
END_TEST

/* Seals bytes as a session's.  full.id is in the clear. */
static struct text sealed_bytes(const struct buf *bytes)
{
    static struct buf out;
    struct text sealed = keys_seal("gate.session", buf_text(bytes));
    char id[VISITOR_SESSION_ID_SIZE];

    crypt_key_base64url_encode(full.id, VISITOR_SESSION_ID_LEN, id);
    buf_clear(&out);
    buf_puts(&out, id);
    buf_add(&out, sealed.s, sealed.len);
    return buf_text(&out);
}

START_TEST(sealed_bytes_are_read_strictly)
{
    struct buf bytes = {0};
    size_t whole;

    packed_put_number(&bytes, 5);
    buf_add(&bytes, (const char *)full.id, VISITOR_SESSION_ID_LEN);
    for (int i = 0; i < 3; i++)
        packed_put_number(&bytes, NOW);
    packed_put_text(&bytes, full.client_id);
    packed_put_number(&bytes, (uint64_t)full.incarnation);
    packed_put_text(&bytes, full.prefix);
    packed_put_number(&bytes, 0);
    packed_put_text(&bytes, full.identity.subject);
    packed_put_optional(&bytes, full.identity.name);
    packed_put_number(&bytes, full.identity.known);
    packed_put_list(&bytes, &full.identity.emails);
    packed_put_list(&bytes, &full.identity.organizations);
    packed_put_list(&bytes, &full.identity.teams);
    packed_put_number(&bytes, 1);
    buf_add(&bytes, (const char *)full.identity.narrowed_to, IDENTITY_LISTS_LEN);
    packed_put_list(&bytes, &full.asked);
    packed_put_optional(&bytes, full.token);
    packed_put_optional(&bytes, full.refresh);
    packed_put_number(&bytes, full.n_renewed);
    whole = bytes.len;
    buf_add(&bytes, "", 1);
    expect_none(&keys_place, sealed_bytes(&bytes), "a byte too many");
    while (bytes.len > 0) {
        buf_cut(&bytes, bytes.len - 1);
        if (bytes.len == whole)
            ck_assert(visitor_session_open(keys, &keys_place, sealed_bytes(&bytes), &keys_arena,
                                           &(struct visitor_session){.seen = 0},
                                           &(struct error){.code = ERR_NONE}));
        else
            expect_none(&keys_place, sealed_bytes(&bytes), "bytes are missing");
    }
    buf_add(&bytes, "\x01", 1);
    expect_none(&keys_place, sealed_bytes(&bytes), "another layout");
    buf_free(&bytes);
}
END_TEST

/* The id in the clear finds a row.  So a session with another session's row would escape its own
 * end. */
START_TEST(ids_in_the_clear)
{
    struct visitor_session other = full;
    struct text value = sealed_as(&keys_place, &full);
    char wanted[VISITOR_SESSION_ID_SIZE];
    char id[VISITOR_SESSION_ID_SIZE] = "";
    char copy[1024];

    crypt_key_base64url_encode(full.id, VISITOR_SESSION_ID_LEN, wanted);
    ck_assert(visitor_session_peek(value, id));
    ck_assert_str_eq(id, wanted);
    ck_assert_uint_lt(value.len, sizeof copy);
    memcpy(copy, value.s, value.len + 1);
    other.id[0] ^= 1;
    memcpy(copy, sealed_as(&keys_place, &other).s, VISITOR_SESSION_ID_SIZE - 1);
    expect_none(&keys_place, text_of(copy), "another session's id");
    ck_assert(!visitor_session_peek(text_of(""), id));
    ck_assert(!visitor_session_peek(text_of("AAAAAAAAAAAAAAAAAAAAAA"), id));
    ck_assert(!visitor_session_peek(text_of("AAAAAAAAAAAAAAAAAAAAAAx"), id));
    memcpy(copy, value.s, value.len + 1);
    memcpy(copy, "AAAAAAAAAAAAAAAAAAAAAA", VISITOR_SESSION_ID_SIZE - 1);
    ck_assert(visitor_session_peek(text_of(copy), id));
    memcpy(copy, "AAAAAAAAAAAAAAAAAAAAAB", VISITOR_SESSION_ID_SIZE - 1);
    ck_assert(!visitor_session_peek(text_of(copy), id));
    memcpy(copy, "AAAAAAAAAAA.AAAAAAAAAA", VISITOR_SESSION_ID_SIZE - 1);
    ck_assert(!visitor_session_peek(text_of(copy), id));
}
END_TEST

/* What has another form or length is not asked for: other hosts can set many such cookies. */
START_TEST(what_looks_like_a_session)
{
    struct visitor_session least = {
        .identity.subject = text_of("1"), .client_id = text_of(""), .prefix = text_of("")};
    struct text value = sealed_as(&keys_place, &least);
    static char copy[SEALED_COOKIE_MAX + 100];
    char id[VISITOR_SESSION_ID_SIZE];

    ck_assert(visitor_session_peek(value, id));
    memcpy(copy, value.s, value.len + 1);
    ck_assert(!visitor_session_peek((struct text){copy, VISITOR_SESSION_ID_SIZE + 60}, id));
    for (const char *wrong = ".=+ \"%"; *wrong; wrong++) {
        copy[value.len - 1] = *wrong;
        ck_assert(!visitor_session_peek((struct text){copy, value.len}, id));
    }
    memset(copy + value.len - 1, 'A', sizeof copy - value.len);
    ck_assert(visitor_session_peek(
        (struct text){copy, VISITOR_SESSION_ID_SIZE - 1 + SEALED_COOKIE_MAX}, id));
    ck_assert(!visitor_session_peek(
        (struct text){copy, VISITOR_SESSION_ID_SIZE + SEALED_COOKIE_MAX}, id));
    /* No length of a key's id. */
    for (size_t n = 0; n < 2; n++) {
        static const char *const lengths[] = {"AAAA", "QWAA"};

        for (size_t i = 0; lengths[n][i]; i++)
            copy[VISITOR_SESSION_ID_SIZE - 1 + i] = lengths[n][i];
        ck_assert(!visitor_session_peek((struct text){copy, value.len}, id));
    }
}
END_TEST

START_TEST(no_session_without_a_subject)
{
    struct visitor_session session = full;

    session.identity.subject = text_of("");
    expect_none(&keys_place, sealed_as(&keys_place, &session), "no subject");
}
END_TEST

START_TEST(times_out_of_range)
{
    struct visitor_session session = full;

    session.issued = -1;
    expect_none(&keys_place, sealed_as(&keys_place, &session), "before 1970");
    session.issued = 253402300799;
    expect_opened(sealed_as(&keys_place, &session), &session);
    session.issued++;
    expect_none(&keys_place, sealed_as(&keys_place, &session), "after 9999");
}
END_TEST

/* ---- rows ---- */

START_TEST(identities_for_rows)
{
    struct visitor_session session = {.is_in_row = true, .issued = NOW};
    struct buf bytes = {0};
    struct text whole;

    memcpy(session.id, full.id, sizeof session.id);
    visitor_session_write_identity(&bytes, &full);
    whole = buf_text(&bytes);
    ck_assert(visitor_session_read_identity(whole, &keys_arena, &session));
    expect_identities_equal(&session, &full);
    ck_assert_int_eq(session.checked, full.checked);
    ck_assert(session.is_in_row);
    ck_assert_int_eq(session.issued, NOW);
    session.id[0] ^= 1;
    ck_assert(!visitor_session_read_identity(whole, &keys_arena, &session));
    session.id[0] ^= 1;
    for (size_t len = 0; len < whole.len; len++)
        ck_assert(!visitor_session_read_identity(text_part(whole, 0, len), &keys_arena, &session));
    buf_add(&bytes, "", 1);
    ck_assert(!visitor_session_read_identity(buf_text(&bytes), &keys_arena, &session));
    expect_identities_equal(&session, &full);
    buf_free(&bytes);
}
END_TEST

/* A refresh token may be good once only, so an older one never replaces a newer one. */
START_TEST(newer_tokens_win)
{
    const struct visitor_session elsewhere = {
        .token = text_of("b"), .refresh = text_of("s"), .n_renewed = 2, .seen = NOW};
    struct visitor_session session = {
        .token = text_of("a"), .refresh = text_of("r"), .n_renewed = 1};

    visitor_session_take_tokens(&session, &elsewhere);
    ck_assert(text_eq(session.token, text_of("b")));
    ck_assert(text_eq(session.refresh, text_of("s")));
    ck_assert_uint_eq(session.n_renewed, 2);
    ck_assert_int_eq(session.seen, 0);
    for (session.n_renewed = 2; session.n_renewed < 4; session.n_renewed++) {
        session.token = text_of("c");
        visitor_session_take_tokens(&session, &elsewhere);
        ck_assert(text_eq(session.token, text_of("c")));
    }
}
END_TEST

/* The clocks of hosts differ: times do not tell who was told last. */
START_TEST(what_was_said_elsewhere_wins)
{
    const struct visitor_session elsewhere = {
        .checked = NOW, .identity = {.name = text_of("new")}, .is_stranger = true};

    for (int64_t checked = NOW - 1; checked <= NOW + 1; checked++) {
        struct visitor_session session = {.checked = checked, .identity = {.name = text_of("old")}};

        ck_assert(visitor_session_differs(&session, &elsewhere));
        visitor_session_take_over(&session, &elsewhere);
        ck_assert(!visitor_session_differs(&session, &elsewhere));
        ck_assert_int_eq(session.checked, checked > NOW ? checked : NOW);
        ck_assert(!session.is_stranger);
    }
}
END_TEST

START_TEST(a_row_has_a_limit)
{
    static char token[VISITOR_SESSION_ROW_MAX];
    struct visitor_session session = full;
    struct visitor_session read = full;
    struct buf bytes = {0};

    memset(token, 't', sizeof token);
    session.token = (struct text){.s = token, .len = VISITOR_SESSION_ROW_MAX - 1000};
    visitor_session_write_identity(&bytes, &session);
    session.token.len += VISITOR_SESSION_ROW_MAX - bytes.len;
    buf_clear(&bytes);
    visitor_session_write_identity(&bytes, &session);
    ck_assert_uint_eq(bytes.len, VISITOR_SESSION_ROW_MAX);
    ck_assert(visitor_session_read_identity(buf_text(&bytes), &keys_arena, &read));
    session.token.len++;
    buf_clear(&bytes);
    visitor_session_write_identity(&bytes, &session);
    ck_assert(!visitor_session_read_identity(buf_text(&bytes), &keys_arena, &read));
    buf_free(&bytes);
}
END_TEST

/* ---- how long ---- */

static bool lasts(uint32_t inactivity, uint32_t maximum, int64_t now)
{
    struct visitor_session_limits limits = {.inactivity_timeout = inactivity,
                                            .maximum_duration = maximum};
    struct visitor_session session = {.issued = NOW, .seen = NOW + 100, .checked = NOW};

    return visitor_session_lasts(&session, &limits, now);
}

START_TEST(durations_to_the_second)
{
    ck_assert(lasts(0, 0, NOW + VISITOR_SESSION_LASTS_MAX - 1));
    ck_assert(!lasts(0, 0, NOW + VISITOR_SESSION_LASTS_MAX));
    ck_assert(!lasts(UINT32_MAX, UINT32_MAX, NOW + VISITOR_SESSION_LASTS_MAX));
    ck_assert(lasts(UINT32_MAX, UINT32_MAX, NOW + VISITOR_SESSION_LASTS_MAX - 1));
    ck_assert(lasts(0, 500, NOW + 499));
    ck_assert(!lasts(0, 500, NOW + 500));
    ck_assert(!lasts(0, 500, NOW + 501));
    ck_assert(lasts(50, 0, NOW + 149));
    ck_assert(!lasts(50, 0, NOW + 150));
    ck_assert(lasts(50, 500, NOW + 149));
    ck_assert(!lasts(50, 120, NOW + 120));
    ck_assert(lasts(0, 101, NOW + 100));
    ck_assert(!lasts(0, 1, NOW + 100));
}
END_TEST

START_TEST(the_clock_was_set_back)
{
    struct visitor_session_limits none = {.maximum_duration = 0};
    struct visitor_session session = {.issued = NOW, .seen = NOW, .checked = NOW};

    ck_assert(visitor_session_lasts(&session, &none, NOW - 60));
    ck_assert(!visitor_session_lasts(&session, &none, NOW - 61));
    session.seen++;
    ck_assert(!visitor_session_lasts(&session, &none, NOW - 60));
    session.seen--;
    session.checked++;
    ck_assert(!visitor_session_lasts(&session, &none, NOW - 60));
    ck_assert(!visitor_session_lasts(&session, &none, 0));
}
END_TEST

START_TEST(checks_are_due)
{
    struct visitor_session_limits limits = {.auth_check_interval = 30};
    struct visitor_session session = {.issued = NOW, .seen = NOW + 20, .checked = NOW + 10};

    ck_assert(!visitor_session_needs_check(&session, &limits, NOW + 39));
    ck_assert(visitor_session_needs_check(&session, &limits, NOW + 40));
    ck_assert(visitor_session_needs_check(&session, &limits, NOW + 4000));
    limits.auth_check_interval = 0;
    ck_assert(!visitor_session_needs_check(&session, &limits, NOW + 4000));
}
END_TEST

START_TEST(new_ids_differ)
{
    unsigned char a[VISITOR_SESSION_ID_LEN] = {0};
    unsigned char b[VISITOR_SESSION_ID_LEN] = {0};

    ck_assert(visitor_session_new_id(a) && visitor_session_new_id(b));
    ck_assert_mem_ne(a, b, sizeof a);
}
END_TEST

Suite *gate_visitor_session_suite(void)
{
    Suite *suite = suite_create("gate/visitor_session");
    TCase *tcase = tcase_create("visitor_session");

    tcase_add_checked_fixture(tcase, keys_make, keys_remove);
    tcase_add_test(tcase, sealed_and_opened);
    tcase_add_test(tcase, sessions_are_known_by_their_keys);
    tcase_add_test(tcase, values_are_plain_and_differ);
    tcase_add_test(tcase, bound_to_its_place);
    tcase_add_test(tcase, altered_and_cut);
    tcase_add_test(tcase, values_that_are_none);
    tcase_add_test(tcase, keys_rotated_and_removed);
    tcase_add_test(tcase, no_seal_without_a_key_file);
    tcase_add_test(tcase, sealed_bytes_are_read_strictly);
    tcase_add_test(tcase, ids_in_the_clear);
    tcase_add_test(tcase, what_looks_like_a_session);
    tcase_add_test(tcase, no_session_without_a_subject);
    tcase_add_test(tcase, times_out_of_range);
    tcase_add_test(tcase, identities_for_rows);
    tcase_add_test(tcase, newer_tokens_win);
    tcase_add_test(tcase, what_was_said_elsewhere_wins);
    tcase_add_test(tcase, a_row_has_a_limit);
    tcase_add_test(tcase, durations_to_the_second);
    tcase_add_test(tcase, the_clock_was_set_back);
    tcase_add_test(tcase, checks_are_due);
    tcase_add_test(tcase, new_ids_differ);
    suite_add_tcase(suite, tcase);
    return suite;
}
