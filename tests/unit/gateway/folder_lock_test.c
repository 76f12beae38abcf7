/* SPDX-License-Identifier: MIT */
/* Tests of the locks of the daemon's folders: other daemons are kept out, and other users cannot
 * take them. */
#include "gateway/folder_lock.h"

#include <check.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "folder.h"
#include "gateway/state.h"
#include "gateway/whole_file.h"
#include "suites.h"

#define MAX_HELD 16

static int folder_fd;

/* Other users may read the folder. */
static void setup(void)
{
    folder_make();
    ck_assert_int_eq(chmod(folder, 0755), 0);
    folder_fd = open(folder, O_RDONLY | O_DIRECTORY);
    ck_assert_int_ge(folder_fd, 0);
}

static void teardown(void)
{
    close(folder_fd);
    folder_remove();
}

/* Locks what other users may open for reading: the folder, and files in it.  Returns how many. */
static size_t lock_as_others(int held[MAX_HELD])
{
    DIR *files = opendir(folder);
    struct dirent *entry;
    size_t n = 0;

    ck_assert_ptr_nonnull(files);
    while ((entry = readdir(files)) != NULL) {
        struct stat status;
        int fd = openat(folder_fd, entry->d_name, O_RDONLY | O_NOFOLLOW);

        ck_assert_int_ge(fd, 0);
        ck_assert_int_eq(fstat(fd, &status), 0);
        if ((status.st_mode & S_IROTH) != 0 && n < MAX_HELD && flock(fd, LOCK_EX | LOCK_NB) == 0)
            held[n++] = fd;
        else
            close(fd);
    }
    closedir(files);
    return n;
}

START_TEST(others_cannot_keep_the_edges_from_being_written)
{
    int held[MAX_HELD];
    int fd = whole_file_lock(folder);
    size_t n;

    ck_assert_int_ge(fd, 0);
    ck_assert_int_eq(whole_file_lock(folder), -1);
    ck_assert_int_eq(errno, EWOULDBLOCK);
    close(fd);
    n = lock_as_others(held);
    ck_assert_uint_gt(n, 0);
    fd = whole_file_lock(folder);
    ck_assert_int_ge(fd, 0);
    close(fd);
    while (n > 0)
        close(held[--n]);
}
END_TEST

START_TEST(others_cannot_keep_the_daemon_from_starting)
{
    struct state state;
    const char *what = "";
    int held[MAX_HELD];
    size_t n;

    ck_assert_msg(state_open(&state, folder, &what), "%s", what);
    state_close(&state);
    n = lock_as_others(held);
    ck_assert_uint_gt(n, 0);
    ck_assert_msg(state_open(&state, folder, &what), "%s", what);
    state_close(&state);
    while (n > 0)
        close(held[--n]);
}
END_TEST

START_TEST(a_copied_lock_becomes_the_daemons_own)
{
    struct stat status;
    int fd;

    folder_write(".lock", text_of(""));
    ck_assert_int_eq(chmod(folder_path(".lock"), 0644), 0);
    fd = folder_lock(folder_fd);
    ck_assert_int_ge(fd, 0);
    ck_assert_int_eq(fstat(fd, &status), 0);
    ck_assert_int_eq(status.st_mode & 07777, 0600);
    close(fd);
}
END_TEST

START_TEST(something_else_in_the_place_of_the_lock)
{
    folder_write("file", text_of(""));
    ck_assert_int_eq(symlink("file", folder_path(".lock")), 0);
    ck_assert_int_eq(folder_lock(folder_fd), -1);
    ck_assert_int_eq(errno, ELOOP);
    ck_assert_int_eq(unlink(folder_path(".lock")), 0);
    ck_assert_int_eq(mkfifo(folder_path(".lock"), 0600), 0);
    ck_assert_int_eq(folder_lock(folder_fd), -1);
    ck_assert_int_eq(errno, EPERM);
    ck_assert_int_eq(unlink(folder_path(".lock")), 0);
    if (geteuid() != 0)
        return;
    folder_write(".lock", text_of(""));
    ck_assert_int_eq(chown(folder_path(".lock"), 65534, 65534), 0);
    ck_assert_int_eq(folder_lock(folder_fd), -1);
    ck_assert_int_eq(errno, EPERM);
}
END_TEST

Suite *gateway_folder_lock_suite(void)
{
    Suite *suite = suite_create("gateway/folder_lock");
    TCase *tcase = tcase_create("locks");

    tcase_add_checked_fixture(tcase, setup, teardown);
    tcase_add_test(tcase, others_cannot_keep_the_edges_from_being_written);
    tcase_add_test(tcase, others_cannot_keep_the_daemon_from_starting);
    tcase_add_test(tcase, a_copied_lock_becomes_the_daemons_own);
    tcase_add_test(tcase, something_else_in_the_place_of_the_lock);
    suite_add_tcase(suite, tcase);
    return suite;
}
