/* SPDX-License-Identifier: MIT */
/* Runs a target on every file of its corpus, as part of `make check`. */
#include <dirent.h>
#include <errno.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "fuzz.h"

#define PATH_SIZE 4096

static size_t n_accepted;

void fuzz_accepted(void)
{
    n_accepted++;
}

/* Returns the content of a file in memory of its exact size, which the caller frees. */
static uint8_t *read_whole(const char *path, size_t *size)
{
    FILE *file = fopen(path, "rb");
    uint8_t *data;
    struct stat st;

    if (!file || fstat(fileno(file), &st) != 0) {
        fprintf(stderr, "%s: %s\n", path, strerror(errno));
        exit(EXIT_FAILURE);
    }
    *size = (size_t)st.st_size;
    data = malloc(*size ? *size : 1);
    if (!data || fread(data, 1, *size, file) != *size) {
        fprintf(stderr, "%s: cannot read the file\n", path);
        exit(EXIT_FAILURE);
    }
    fclose(file);
    return data;
}

/* An input counts once, even if several parts of it are accepted. */
static bool run(const char *path)
{
    size_t before = n_accepted;
    size_t size;
    uint8_t *data = read_whole(path, &size);

    LLVMFuzzerTestOneInput(data, size);
    free(data);
    return n_accepted > before;
}

static int is_input(const struct dirent *entry)
{
    return entry->d_name[0] != '.';
}

/* Runs the files of a folder in the order of their names, and keeps the current one in *at.
 * Returns whether at least one was accepted. */
static bool run_folder(const char *folder, char *at)
{
    struct dirent **entries;
    int n = scandir(folder, &entries, is_input, alphasort);
    int n_good = 0;

    if (n < 0) {
        fprintf(stderr, "%s: %s\n", folder, strerror(errno));
        return false;
    }
    for (int i = 0; i < n; i++) {
        int len = snprintf(at, PATH_SIZE, "%s/%s", folder, entries[i]->d_name);

        MUST(len > 0 && len < PATH_SIZE);
        n_good += run(at);
        free(entries[i]);
    }
    free(entries);
    printf("%s: %d inputs, %d of them accepted\n", FUZZ_TARGET, n, n_good);
    return n > 0 && n_good > 0;
}

/* Runs in a child process, so that the parent can name an input that ends it. */
static bool watch_folder(const char *folder)
{
    char *at = mmap(NULL, PATH_SIZE, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    pid_t child;
    int status = 0;

    MUST(at != MAP_FAILED);
    child = fork();
    MUST(child >= 0);
    if (child == 0)
        exit(run_folder(folder, at) ? EXIT_SUCCESS : EXIT_FAILURE);
    MUST(waitpid(child, &status, 0) == child);
    if (status != 0)
        fprintf(stderr, "%s: failed%s%s\n", FUZZ_TARGET, *at ? ", last at " : "", at);
    return status == 0;
}

/* Usage: fuzz_<target> [FOLDER | FILE...].  Without arguments it runs the corpus of the source
 * tree, which `make check` names. */
int main(int argc, char **argv)
{
    const char *srcdir = getenv("srcdir");
    char folder[PATH_SIZE];
    struct stat st;

    if (argc > 1 && (stat(argv[1], &st) != 0 || !S_ISDIR(st.st_mode))) {
        for (int i = 1; i < argc; i++)
            printf("%s: %s\n", argv[i], run(argv[i]) ? "accepted" : "refused");
        return EXIT_SUCCESS;
    }
    snprintf(folder, sizeof folder, "%s/tests/fuzz/corpus/%s", srcdir ? srcdir : ".", FUZZ_TARGET);
    return watch_folder(argc > 1 ? argv[1] : folder) ? EXIT_SUCCESS : EXIT_FAILURE;
}
