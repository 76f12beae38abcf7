/* SPDX-License-Identifier: MIT */
/* Tests of key files, and of secrets that open only in their own place. */
#include "keyring/keyring.h"

#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/inotify.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/clock.h"
#include "cases.h"
#include "crypt/crypt.h"
#include "suites.h"

#define KEY_0 "0000000000000000000000000000000000000000000000000000000000000000"
#define KEY_1 "1111111111111111111111111111111111111111111111111111111111111111"

static char dir[64];
static char path[96];

static void set_up(void)
{
    const char *tmp = getenv("TMPDIR");

    snprintf(dir, sizeof dir, "%.32s/adit-keyring.XXXXXX", tmp ? tmp : "/tmp");
    ck_assert_ptr_nonnull(mkdtemp(dir));
    snprintf(path, sizeof path, "%s/key", dir);
}

static void tear_down(void)
{
    unlink(path);
    rmdir(dir);
}

static void write_file(const char *bytes, size_t len, mode_t mode)
{
    FILE *file = fopen(path, "w");

    ck_assert_ptr_nonnull(file);
    ck_assert_uint_eq(fwrite(bytes, 1, len, file), len);
    ck_assert_int_eq(fclose(file), 0);
    ck_assert_int_eq(chmod(path, mode), 0);
}

static struct keyring *load(const char *content)
{
    char reason[256] = "";
    struct keyring *keyring;

    write_file(content, strlen(content), 0600);
    keyring = keyring_load(path, reason, sizeof reason);
    ck_assert_msg(keyring != NULL, "%s", reason);
    return keyring;
}

/* ---- files ---- */

static const struct keyring_place place = {
    .column = "t.c",
    .account_id = {.s = "ac_1", .len = 4},
    .ids = {{.s = "e", .len = 1}, {.s = "r", .len = 1}},
    .position = 1,
};

static void expect_sealing_key(struct keyring *keyring, const struct test_case *test)
{
    struct arena arena = {0};
    struct buf wanted = {0};
    struct text key_id;
    struct text sealed;
    struct error err;

    cases_unescape(&wanted, test->expected + 3);
    ck_assert(keyring_seal(keyring, &place, text_of("s"), &arena, &key_id, &sealed, &err));
    ck_assert_msg(text_eq(key_id, buf_text(&wanted)), "%s:%d: %s", test->file, test->line,
                  key_id.s);
    buf_free(&wanted);
    arena_free(&arena);
}

/* The reason names the file and the line, and quotes nothing from the file. */
static void expect_reason(const char *reason, const struct test_case *test)
{
    char line[128];
    long number = strtol(test->expected + 5, NULL, 10);
    const char *part = strchr(test->expected + 5, ' ') + 1;

    if (number > 0)
        snprintf(line, sizeof line, "%s:%ld: ", path, number);
    else
        snprintf(line, sizeof line, "%s: ", path);
    ck_assert_msg(strncmp(reason, line, strlen(line)) == 0 && strstr(reason, part), "%s:%d: %s",
                  test->file, test->line, reason);
    ck_assert_msg(!strstr(reason, "0000000"), "%s:%d: %s", test->file, test->line, reason);
}

static void check_file(const struct test_case *test)
{
    char reason[512] = "";
    struct keyring *keyring;
    bool bad = strncmp(test->expected, "bad: ", 5) == 0;

    write_file(test->input, test->input_len, 0600);
    keyring = keyring_load(path, reason, sizeof reason);
    ck_assert_msg((keyring == NULL) == bad, "%s:%d: %s (%s)", test->file, test->line, reason,
                  test->why);
    if (bad)
        expect_reason(reason, test);
    else
        expect_sealing_key(keyring, test);
    keyring_free(keyring);
}

START_TEST(files_of_case_file)
{
    cases_run("keyrings.cases", check_file);
}
END_TEST

START_TEST(modes_of_the_file)
{
    static const struct {
        mode_t mode;
        bool good;
    } cases[] = {{0400, true},  {0600, true},  {0640, true},  {0440, true},
                 {0604, false}, {0644, false}, {0602, false}, {0666, false}};

    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        char reason[256] = "";
        struct keyring *keyring;

        write_file("k " KEY_0 "\n", 67, 0600);
        ck_assert_int_eq(chmod(path, cases[i].mode), 0);
        keyring = keyring_load(path, reason, sizeof reason);
        ck_assert_msg((keyring != NULL) == cases[i].good, "%o: %s", cases[i].mode, reason);
        ck_assert(cases[i].good || strstr(reason, "others") != NULL);
        keyring_free(keyring);
        chmod(path, 0600);
    }
}
END_TEST

START_TEST(files_that_are_none)
{
    char reason[256] = "";

    ck_assert_ptr_null(keyring_load(path, reason, sizeof reason));
    ck_assert_msg(strstr(reason, path) && strstr(reason, "aditctl secrets init"), "%s", reason);
    ck_assert_ptr_null(keyring_load(dir, reason, sizeof reason));
    ck_assert_msg(strstr(reason, "not a file") != NULL, "%s", reason);
    ck_assert_ptr_null(keyring_load("/dev/null", reason, sizeof reason));
    keyring_free(NULL);
}
END_TEST

START_TEST(new_file)
{
    char reason[256] = "";
    char before[128] = "";
    char after[128] = "";
    struct keyring *keyring;
    struct stat status;
    FILE *file;

    umask(0);
    ck_assert_msg(keyring_create(path, reason, sizeof reason), "%s", reason);
    ck_assert_int_eq(stat(path, &status), 0);
    ck_assert_uint_eq(status.st_mode & 07777, 0600);
    keyring = keyring_load(path, reason, sizeof reason);
    ck_assert_msg(keyring != NULL, "%s", reason);
    keyring_free(keyring);
    /* An existing file stays unchanged. */
    file = fopen(path, "r");
    ck_assert(file && fgets(before, sizeof before, file));
    fclose(file);
    ck_assert(!keyring_create(path, reason, sizeof reason));
    file = fopen(path, "r");
    ck_assert(file && fgets(after, sizeof after, file));
    fclose(file);
    ck_assert_str_eq(before, after);
}
END_TEST

/* ---- sealing ---- */

struct sealed {
    struct text key_id;
    struct text bytes;
};

static struct sealed seal(struct keyring *keyring, struct text secret, struct arena *arena)
{
    struct sealed sealed;
    struct error err;

    ck_assert(keyring_seal(keyring, &place, secret, arena, &sealed.key_id, &sealed.bytes, &err));
    ck_assert_uint_eq(sealed.bytes.len, secret.len + CRYPT_SEAL_OVERHEAD);
    return sealed;
}

static void expect_unsealed(struct keyring *keyring, const char *cause)
{
    struct arena arena = {0};
    struct sealed sealed;
    struct error err;

    ck_assert(!keyring_seal(keyring, &place, text_of("hush"), &arena, &sealed.key_id, &sealed.bytes,
                            &err));
    ck_assert_int_eq(err.code, ERR_SECRET_NOT_SEALED);
    ck_assert_msg(strstr(err.cause, cause), "%s", err.cause);
    arena_free(&arena);
}

static bool open_at(struct keyring *keyring, const struct keyring_place *at,
                    const struct sealed *sealed, struct text *secret, struct arena *arena,
                    struct error *err)
{
    return keyring_open(keyring, at, sealed->key_id, sealed->bytes, arena, secret, err);
}

static void expect_unreadable(struct keyring *keyring, const struct keyring_place *at,
                              const struct sealed *sealed, const char *cause)
{
    struct arena arena = {0};
    struct text secret = {0};
    struct error err = {.code = ERR_NONE};

    ck_assert_msg(!open_at(keyring, at, sealed, &secret, &arena, &err), "%s", cause);
    ck_assert_int_eq(err.code, ERR_SECRET_UNREADABLE);
    ck_assert_msg(strstr(err.cause, cause) != NULL, "%s", err.cause);
    ck_assert_ptr_null(strstr(err.cause, "hush"));
    ck_assert_str_eq(err.msg, "");
    ck_assert_ptr_null(secret.s);
    arena_free(&arena);
}

START_TEST(sealed_and_opened)
{
    static const char *const secrets[] = {"hush", "a", "", "\xC3\xA9\n\"\\"};
    struct keyring *keyring = load("k " KEY_0 "\n");
    struct arena arena = {0};

    for (size_t i = 0; i < sizeof secrets / sizeof secrets[0]; i++) {
        struct sealed sealed = seal(keyring, text_of(secrets[i]), &arena);
        struct text secret;
        struct error err;

        ck_assert(open_at(keyring, &place, &sealed, &secret, &arena, &err));
        ck_assert(text_eq(secret, text_of(secrets[i])));
        ck_assert_int_eq(secret.s[secret.len], '\0');
    }
    arena_free(&arena);
    keyring_free(keyring);
}
END_TEST

/* Each part of the place counts, and no text can move from one part to the next. */
START_TEST(bound_to_its_place)
{
    struct keyring *keyring = load("k " KEY_0 "\n");
    struct arena arena = {0};
    struct sealed sealed = seal(keyring, text_of("hush"), &arena);
    struct keyring_place others[] = {place, place, place, place, place, place, place, place, place};

    others[0].column = "t.d";
    others[1].account_id = text_of("ac_2");
    others[2].ids[0] = text_of("f");
    others[3].ids[1] = text_of("s");
    others[4].position = 2;
    others[5].ids[0] = text_of("r");
    others[5].ids[1] = text_of("e");
    others[6].ids[0] = text_of("er");
    others[6].ids[1] = text_of("");
    others[7].account_id = text_of("ac_1e");
    others[7].ids[0] = text_of("");
    others[8].salt = (const unsigned char *)"0123456789abcdef";
    for (size_t i = 0; i < sizeof others / sizeof others[0]; i++)
        expect_unreadable(keyring, &others[i], &sealed, "was not sealed for this row");
    arena_free(&arena);
    keyring_free(keyring);
}
END_TEST

/* With a salt, a seal has a key of its own, which only that salt gives. */
START_TEST(a_key_of_its_own)
{
    struct keyring *keyring = load("k " KEY_0 "\n");
    struct arena arena = {0};
    unsigned char salt[KEYRING_SALT_LEN + 1] = "0123456789abcdef";
    struct keyring_place salted = place;
    struct sealed sealed = {.bytes = {.len = 0}};
    struct text secret;
    struct error err;

    salted.salt = salt;
    ck_assert(keyring_seal(keyring, &salted, text_of("hush"), &arena, &sealed.key_id, &sealed.bytes,
                           &err));
    ck_assert(keyring_open(keyring, &salted, sealed.key_id, sealed.bytes, &arena, &secret, &err));
    ck_assert(text_eq(secret, text_of("hush")));
    expect_unreadable(keyring, &place, &sealed, "was not sealed for this row");
    for (size_t i = 0; i < KEYRING_SALT_LEN; i++) {
        salt[i] ^= 1;
        expect_unreadable(keyring, &salted, &sealed, "was not sealed for this row");
        salt[i] ^= 1;
    }
    arena_free(&arena);
    keyring_free(keyring);
}
END_TEST

START_TEST(altered_and_cut)
{
    struct keyring *keyring = load("k " KEY_0 "\n");
    struct arena arena = {0};
    struct sealed sealed = seal(keyring, text_of("hush"), &arena);
    char copy[64];
    struct sealed altered = {sealed.key_id, {copy, sealed.bytes.len}};

    ck_assert_uint_le(sealed.bytes.len, sizeof copy);
    for (size_t i = 0; i < sealed.bytes.len; i++) {
        memcpy(copy, sealed.bytes.s, sealed.bytes.len);
        copy[i] ^= 1;
        expect_unreadable(keyring, &place, &altered, "altered");
    }
    memcpy(copy, sealed.bytes.s, sealed.bytes.len);
    for (altered.bytes.len = 0; altered.bytes.len < sealed.bytes.len; altered.bytes.len++)
        expect_unreadable(keyring, &place, &altered,
                          altered.bytes.len < CRYPT_SEAL_OVERHEAD ? "is truncated" : "altered");
    arena_free(&arena);
    keyring_free(keyring);
}
END_TEST

/* A new first key seals.  The old key still opens until it is removed. */
START_TEST(rotation)
{
    struct keyring *old = load("old " KEY_0 "\n");
    struct arena arena = {0};
    struct sealed sealed = seal(old, text_of("hush"), &arena);
    struct keyring *both = load("new " KEY_1 "\nold " KEY_0 "\n");
    struct keyring *new;
    struct keyring *renamed;
    struct text secret;
    struct error err;

    ck_assert(text_eq(sealed.key_id, text_of("old")));
    ck_assert(text_eq(seal(both, text_of("hush"), &arena).key_id, text_of("new")));
    new = load("new " KEY_1 "\n");
    renamed = load("old " KEY_1 "\n");
    unlink(path); /* otherwise the keyrings would read it again */
    ck_assert(open_at(both, &place, &sealed, &secret, &arena, &err));
    ck_assert(text_eq(secret, text_of("hush")));
    expect_unreadable(new, &place, &sealed, "key 'old': ");
    expect_unreadable(renamed, &place, &sealed, "under key 'old'");
    sealed.key_id = (struct text){0};
    expect_unreadable(both, &place, &sealed, "key '': ");
    arena_free(&arena);
    keyring_free(old);
    keyring_free(both);
    keyring_free(new);
    keyring_free(renamed);
}
END_TEST

/* A keyring reads its file again for a key that it lacks, and checks the file again. */
START_TEST(file_read_again)
{
    struct keyring *keyring = load("old " KEY_0 "\n");
    struct keyring *both = load("new " KEY_1 "\nold " KEY_0 "\n");
    struct arena arena = {0};
    struct sealed sealed = seal(both, text_of("hush"), &arena);
    struct text secret;
    struct error err;

    write_file("old " KEY_0 "\n", 69, 0600);
    expect_unreadable(keyring, &place, &sealed,
                      "key 'new': the key file does not contain this key");
    write_file("nonsense", 8, 0600);
    expect_unreadable(keyring, &place, &sealed, ":1: ");
    write_file("new " KEY_1 "\n", 69, 0604);
    expect_unreadable(keyring, &place, &sealed, "others may read or write it");
    ck_assert_str_eq(keyring_first(keyring), "old");
    write_file("new " KEY_1 "\nold " KEY_0 "\n", 138, 0600);
    ck_assert(open_at(keyring, &place, &sealed, &secret, &arena, &err));
    ck_assert(text_eq(secret, text_of("hush")));
    ck_assert_str_eq(keyring_first(keyring), "new");
    arena_free(&arena);
    keyring_free(keyring);
    keyring_free(both);
}
END_TEST

static bool finds(struct keyring *keyring, const char *id)
{
    struct error err;
    bool has = false;

    ck_assert(keyring_look_up(keyring, text_of(id), &has, &err));
    return has;
}

/* A key that was removed is not there.  Without a file that can be read nobody knows. */
START_TEST(keys_looked_up)
{
    struct keyring *keyring = load("a " KEY_0 "\n");
    struct error err;
    bool has;

    ck_assert(finds(keyring, "a"));
    ck_assert(!finds(keyring, "b"));
    ck_assert(!finds(keyring, ""));
    keyring_free(load("b " KEY_1 "\nc " KEY_0 "\n"));
    ck_assert(!finds(keyring, "a"));
    ck_assert(finds(keyring, "b"));
    unlink(path);
    for (const char *id = "cd"; *id; id++) {
        ck_assert(!keyring_look_up(keyring, (struct text){id, 1}, &has, &err));
        ck_assert_int_eq(err.code, ERR_SECRET_UNREADABLE);
        ck_assert_msg(strstr(err.cause, path) != NULL, "%s", err.cause);
    }
    keyring_free(load("b " KEY_1 "\n"));
    ck_assert(finds(keyring, "b"));
    ck_assert(!finds(keyring, "c"));
    keyring_free(keyring);
}
END_TEST

/* Returns how often the file was opened since the last call. */
static int n_opened(int watch)
{
    char events[4096] __attribute__((aligned(__alignof__(struct inotify_event))));
    ssize_t len;
    int n = 0;

    while ((len = read(watch, events, sizeof events)) > 0) {
        for (ssize_t at = 0; at < len; at += (ssize_t)sizeof(struct inotify_event)) {
            const struct inotify_event *event = (const void *)(events + at);

            n += (event->mask & IN_OPEN) != 0;
        }
    }
    return n;
}

/* A stranger who names unknown keys does not make each request read the file. */
START_TEST(a_bad_file_is_not_read_each_time)
{
    struct keyring *keyring = load("a " KEY_0 "\n");
    int watch = inotify_init1(IN_CLOEXEC | IN_NONBLOCK);
    int64_t since_ms = clock_steady_ms();
    struct error err;
    bool has;

    write_file("nonsense", 8, 0600);
    ck_assert_int_ge(watch, 0);
    ck_assert_int_ge(inotify_add_watch(watch, path, IN_OPEN | IN_CLOSE), 0);
    for (int i = 0; i < 1000; i++) {
        ck_assert(!keyring_look_up(keyring, text_of("b"), &has, &err));
        ck_assert_ptr_nonnull(strstr(err.cause, ":1: "));
        expect_unsealed(keyring, ":1: ");
    }
    ck_assert_int_le(n_opened(watch), 1 + (int)((clock_steady_ms() - since_ms) / 1000));
    write_file("b " KEY_0 "\n", 67, 0604);
    ck_assert(!keyring_look_up(keyring, text_of("b"), &has, &err));
    ck_assert_int_eq(chmod(path, 0600), 0);
    ck_assert(finds(keyring, "b"));
    n_opened(watch);
    for (int i = 0; i < 1000; i++)
        ck_assert(!finds(keyring, "c"));
    ck_assert_int_eq(n_opened(watch), 0);
    close(watch);
    keyring_free(keyring);
}
END_TEST

/* A key that was removed from the file seals nothing. */
START_TEST(sealed_under_the_file_of_now)
{
    struct keyring *keyring = load("older " KEY_0 "\n");
    struct arena arena = {0};

    ck_assert(text_eq(seal(keyring, text_of("hush"), &arena).key_id, text_of("older")));
    write_file("new " KEY_1 "\n", 69, 0600);
    ck_assert(text_eq(seal(keyring, text_of("hush"), &arena).key_id, text_of("new")));
    /* With an invalid or missing file, nothing is sealed.  The next valid file counts. */
    write_file("nonsense", 8, 0600);
    expect_unsealed(keyring, ":1: ");
    unlink(path);
    expect_unsealed(keyring, "there is no such file");
    write_file("new " KEY_1 "\n", 69, 0600);
    ck_assert(text_eq(seal(keyring, text_of("hush"), &arena).key_id, text_of("new")));
    arena_free(&arena);
    keyring_free(keyring);
}
END_TEST

/* A sealed secret keeps its key's id, even if the file changes before it is sent. */
START_TEST(sealed_before_the_file_of_now)
{
    struct keyring *keyring = load("old " KEY_0 "\n");
    struct arena arena = {0};
    struct sealed first = seal(keyring, text_of("hush"), &arena);
    struct text secret;
    struct error err;

    write_file("new " KEY_1 "\nold " KEY_0 "\n", 138, 0600);
    ck_assert(text_eq(seal(keyring, text_of("hush"), &arena).key_id, text_of("new")));
    ck_assert(text_eq(first.key_id, text_of("old")));
    ck_assert(open_at(keyring, &place, &first, &secret, &arena, &err));
    arena_free(&arena);
    keyring_free(keyring);
}
END_TEST

START_TEST(key_added)
{
    struct keyring *keyring = load("# kept\nold " KEY_0 "\n");
    char reason[256] = "";
    struct stat status;

    keyring_free(keyring);
    ck_assert_int_eq(chmod(path, 0640), 0);
    for (int n = 1; n < 16; n++)
        ck_assert_msg(keyring_add(path, reason, sizeof reason), "%s", reason);
    ck_assert(!keyring_add(path, reason, sizeof reason));
    ck_assert_ptr_nonnull(strstr(reason, "contains 16 keys"));
    ck_assert_int_eq(stat(path, &status), 0);
    ck_assert_uint_eq(status.st_mode & 0777, 0640);
    keyring = keyring_load(path, reason, sizeof reason);
    ck_assert_msg(keyring != NULL, "%s", reason);
    ck_assert_uint_eq(strlen(keyring_first(keyring)), 8);
    keyring_free(keyring);
    unlink(path);
    ck_assert(!keyring_add(path, reason, sizeof reason));
    ck_assert_ptr_nonnull(strstr(reason, "there is no such file"));
}
END_TEST

/* The digest of a secret depends on its text, its place and the key, and on no other key. */
START_TEST(digests)
{
    const struct keyring_place other = {.column = "t.c", .account_id = text_of("ac_2")};
    struct keyring *keyring = load("new " KEY_1 "\nold " KEY_0 "\n");
    struct keyring *alone = load("old " KEY_0 "\n");
    char first[KEYRING_DIGEST_SIZE];
    char second[KEYRING_DIGEST_SIZE];
    struct error err;

    ck_assert(keyring_digest(keyring, &place, text_of(NULL), text_of("hush"), first, &err));
    ck_assert_str_eq(first, "old:530d62a0e3903400e74b2aee5ec9b483");
    ck_assert(keyring_digest(alone, &place, text_of("old"), text_of("hush"), second, &err));
    ck_assert_str_eq(second, first);
    ck_assert(keyring_digest(keyring, &place, text_of("new"), text_of("hush"), second, &err));
    ck_assert_str_ne(second + 4, first + 4);
    ck_assert(keyring_digest(keyring, &other, text_of(NULL), text_of("hush"), second, &err));
    ck_assert_str_ne(second, first);
    ck_assert(keyring_digest(keyring, &place, text_of(NULL), text_of("hush!"), second, &err));
    ck_assert_str_ne(second, first);
    ck_assert(!keyring_digest(alone, &place, text_of("new"), text_of("hush"), second, &err));
    ck_assert_int_eq(err.code, ERR_SECRET_UNREADABLE);
    keyring_free(alone);
    keyring_free(keyring);
}
END_TEST

Suite *keyring_suite(void)
{
    Suite *suite = suite_create("keyring/keyring");
    TCase *tcase = tcase_create("keyring");

    tcase_add_checked_fixture(tcase, set_up, tear_down);
    tcase_add_test(tcase, files_of_case_file);
    tcase_add_test(tcase, modes_of_the_file);
    tcase_add_test(tcase, files_that_are_none);
    tcase_add_test(tcase, new_file);
    tcase_add_test(tcase, sealed_and_opened);
    tcase_add_test(tcase, bound_to_its_place);
    tcase_add_test(tcase, a_key_of_its_own);
    tcase_add_test(tcase, altered_and_cut);
    tcase_add_test(tcase, rotation);
    tcase_add_test(tcase, file_read_again);
    tcase_add_test(tcase, keys_looked_up);
    tcase_add_test(tcase, a_bad_file_is_not_read_each_time);
    tcase_add_test(tcase, sealed_under_the_file_of_now);
    tcase_add_test(tcase, sealed_before_the_file_of_now);
    tcase_add_test(tcase, key_added);
    tcase_add_test(tcase, digests);
    suite_add_tcase(suite, tcase);
    return suite;
}
