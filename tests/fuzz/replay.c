/* SPDX-License-Identifier: MIT */
/* Runs a target on its inputs, tests/cases/fuzz/<target>.cases, as part of `make check`. */
#include <errno.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "cases.h"
#include "fuzz.h"

#define INPUTS "fuzz/" FUZZ_TARGET ".cases"
#define NAME_SIZE 256
#define MAX_SIZE (1024 * 1024)

static size_t n_accepted;
static char *at; /* the name of the input that runs */
static struct buf verdicts;
static int n_good;
static int n_wrong;

void fuzz_accepted(void)
{
    n_accepted++;
}

/* Runs a copy of its exact size, so that a sanitizer sees a read past its end.  An input counts
 * once, even if several parts of it are accepted. */
static const char *run(const void *data, size_t size)
{
    size_t before = n_accepted;
    uint8_t *copy;

    MUST(size <= MAX_SIZE);
    copy = malloc(size ? size : 1);
    MUST(copy);
    if (size > 0)
        memcpy(copy, data, size);
    LLVMFuzzerTestOneInput(copy, size);
    free(copy);
    return n_accepted > before ? "accepted" : "refused";
}

/* ---- inputs of the source tree ---- */

static void run_case(const struct test_case *test)
{
    const char *verdict;

    snprintf(at, NAME_SIZE, "%s", test->why);
    verdict = run(test->input, test->input_len);
    n_good += strcmp(verdict, "accepted") == 0;
    buf_printf(&verdicts, "%s\n", verdict);
    if (strcmp(verdict, test->expected) != 0) {
        fprintf(stderr, "%s:%d: %s: %s, expected: %s\n", test->file, test->line, test->why, verdict,
                test->expected);
        n_wrong++;
    }
}

/* Writes what the target said in place of what was expected. */
static void write_verdicts(void)
{
    char path[4096];
    struct buf out = {0};
    const char *verdict = verdicts.data;
    char *line = NULL;
    size_t size = 0;
    FILE *file;

    snprintf(path, sizeof path, "%s/%s", getenv("CASES_DIR"), INPUTS);
    file = fopen(path, "re");
    MUST(file);
    while (getline(&line, &size, file) >= 0) {
        if (line[0] == '#' || line[0] == '\n') {
            buf_puts(&out, line);
        } else {
            buf_add(&out, verdict, strcspn(verdict, "\n"));
            buf_puts(&out, strchr(line, '\t'));
            verdict += strcspn(verdict, "\n") + 1;
        }
    }
    free(line);
    fclose(file);
    file = fopen(path, "we");
    MUST(file && fwrite(out.data, 1, out.len, file) == out.len);
    MUST(fclose(file) == 0);
    buf_free(&out);
}

/* Returns whether each input is accepted or refused as the file says, and at least one accepted. */
static bool run_inputs(void)
{
    const char *write = getenv("ADIT_GOLDEN");
    int n = cases_each(INPUTS, run_case);

    *at = '\0';
    if (write && strcmp(write, "write") == 0)
        write_verdicts();
    else if (n_wrong > 0)
        fprintf(stderr, "look at them with ADIT_GOLDEN=write and git diff\n");
    buf_free(&verdicts);
    printf("%s: %d inputs, %d of them accepted\n", FUZZ_TARGET, n, n_good);
    return n_good > 0 && n_wrong == 0;
}

/* Runs in a child process, so that the parent can name an input that ends it. */
static bool watch_inputs(void)
{
    pid_t child;
    int status = 0;

    at = mmap(NULL, NAME_SIZE, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    MUST(at != MAP_FAILED);
    child = fork();
    MUST(child >= 0);
    if (child == 0)
        exit(run_inputs() ? EXIT_SUCCESS : EXIT_FAILURE);
    MUST(waitpid(child, &status, 0) == child);
    if (status != 0)
        fprintf(stderr, "%s: failed%s%s\n", FUZZ_TARGET, *at ? ", last at " : "", at);
    return status == 0;
}

/* ---- files ---- */

static void run_file(const char *path)
{
    FILE *file = fopen(path, "rbe");
    struct stat st;
    char *data;

    if (!file || fstat(fileno(file), &st) != 0) {
        fprintf(stderr, "%s: %s\n", path, strerror(errno));
        exit(EXIT_FAILURE);
    }
    data = malloc((size_t)st.st_size + 1);
    MUST(data && fread(data, 1, (size_t)st.st_size, file) == (size_t)st.st_size);
    fclose(file);
    printf("%s: %s\n", path, run(data, (size_t)st.st_size));
    free(data);
}

/* Usage: fuzz_<target> [FILE...].  Without arguments it runs the inputs below CASES_DIR. */
int main(int argc, char **argv)
{
    for (int i = 1; i < argc; i++)
        run_file(argv[i]);
    return argc > 1 || watch_inputs() ? EXIT_SUCCESS : EXIT_FAILURE;
}
