/* SPDX-License-Identifier: MIT */
/* What the gate counts. */
#include "gate/counts.h"

#include <inttypes.h>
#include <sys/mman.h>

#include "base/clock.h"
#include "base/exposition.h"

static const char *const outcome_names[COUNTS_N_OUTCOMES] = {
    [COUNTS_PASSED] = "passed",
    [COUNTS_OPEN] = "open",
    [COUNTS_UNASKED] = "without_module",
    [COUNTS_SENT] = "sent",
    [COUNTS_SIGNED_IN] = "signed_in",
    [COUNTS_PAGE(HTML_PAGE_SIGN_OUT)] = "sign_out",
    [COUNTS_PAGE(HTML_PAGE_SIGNED_OUT)] = "signed_out",
    [COUNTS_PAGE(HTML_PAGE_NOT_ALLOWED)] = "not_allowed",
    [COUNTS_PAGE(HTML_PAGE_NO_PROVIDER)] = "no_provider",
    [COUNTS_PAGE(HTML_PAGE_NO_MODULE)] = "no_module",
    [COUNTS_PAGE(HTML_PAGE_NOT_SET_UP)] = "not_set_up",
    [COUNTS_PAGE(HTML_PAGE_CHECK_AWAY)] = "check_away",
    [COUNTS_PAGE(HTML_PAGE_PROVIDER_AWAY)] = "provider_away",
    [COUNTS_PAGE(HTML_PAGE_LOGIN_FAILED)] = "failed",
    [COUNTS_PAGE(HTML_PAGE_NOT_READY)] = "not_ready",
};

static const char *const provider_outcome_names[PROVIDER_N_OUTCOMES] = {
    [PROVIDER_AWAY] = "away",
    [PROVIDER_REFUSED] = "refused",
    [PROVIDER_NOT_SET_UP] = "not_set_up",
    [PROVIDER_NOT_GIVEN] = "not_given",
    [PROVIDER_ANSWERED] = "answered",
};

/* Which outcomes checks and logins have: bits. */
#define BIT(outcome) (UINT32_C(1) << (outcome))
#define PAGE_BIT(page) BIT(COUNTS_PAGE(page))
#define CHECK_OUTCOMES                                                                             \
    (BIT(COUNTS_PASSED) | BIT(COUNTS_OPEN) | BIT(COUNTS_UNASKED) | BIT(COUNTS_SENT) |              \
     PAGE_BIT(HTML_PAGE_NOT_ALLOWED) | PAGE_BIT(HTML_PAGE_NO_PROVIDER) |                           \
     PAGE_BIT(HTML_PAGE_NO_MODULE) | PAGE_BIT(HTML_PAGE_NOT_SET_UP) |                              \
     PAGE_BIT(HTML_PAGE_CHECK_AWAY) | PAGE_BIT(HTML_PAGE_NOT_READY))
#define LOGIN_OUTCOMES                                                                             \
    (BIT(COUNTS_SENT) | BIT(COUNTS_SIGNED_IN) | PAGE_BIT(HTML_PAGE_NOT_ALLOWED) |                  \
     PAGE_BIT(HTML_PAGE_NOT_SET_UP) | PAGE_BIT(HTML_PAGE_PROVIDER_AWAY) |                          \
     PAGE_BIT(HTML_PAGE_LOGIN_FAILED) | PAGE_BIT(HTML_PAGE_NOT_READY))

/* A list alone that is not given is no outcome of all questions. */
#define QUESTION_OUTCOMES                                                                          \
    (BIT(PROVIDER_AWAY) | BIT(PROVIDER_REFUSED) | BIT(PROVIDER_NOT_SET_UP) | BIT(PROVIDER_ANSWERED))

static size_t shared_size(size_t n)
{
    return sizeof(struct counts_of_all) + n * sizeof(struct counts);
}

struct counts_of_all *counts_new(size_t n)
{
    struct counts_of_all *all =
        mmap(NULL, shared_size(n), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);

    if (all == MAP_FAILED)
        return NULL;
    all->n = n;
    all->started_ms = clock_wall_ms();
    return all;
}

void counts_free(struct counts_of_all *all, size_t n)
{
    if (all)
        munmap(all, shared_size(n));
}

void counts_check(struct counts *counts, size_t outcome)
{
    if (counts)
        metrics_add(&counts->checks[outcome], 1);
}

void counts_login(struct counts *counts, size_t outcome)
{
    if (counts)
        metrics_add(&counts->logins[outcome], 1);
}

void counts_question(struct counts *counts, enum provider_outcome outcome, int64_t begun_us)
{
    if (!counts)
        return;
    metrics_add(&counts->questions[outcome], 1);
    metrics_observe(&counts->question_time, clock_steady_us() - begun_us);
}

/* ---- the text ---- */

static void add_counts(const struct counts_of_all *all, struct counts *total)
{
    uint64_t *sums = (uint64_t *)total;

    *total = (struct counts){.checks = {0}};
    for (size_t i = 0; i < all->n; i++) {
        const uint64_t *numbers = (const uint64_t *)&all->of[i];

        for (size_t at = 0; at < sizeof *total / sizeof *sums; at++)
            sums[at] += metrics_get(&numbers[at]);
    }
}

/* The values of a label "outcome". */
struct outcomes {
    const char *const *names;
    size_t n;
    uint32_t which; /* bits of those that the counter always has */
};

/* Writes a counter with the label "outcome". */
static void put_outcomes(struct buf *out, const char *name, const struct outcomes *outcomes,
                         const uint64_t *counts)
{
    for (size_t i = 0; i < outcomes->n; i++) {
        if (outcomes->which >> i & 1 || counts[i] > 0)
            buf_printf(out, "%s{outcome=\"%s\"} %" PRIu64 "\n", name, outcomes->names[i],
                       counts[i]);
    }
}

void counts_write(struct buf *out, const struct counts_of_all *all)
{
    static const struct outcomes of_checks = {outcome_names, COUNTS_N_OUTCOMES, CHECK_OUTCOMES};
    static const struct outcomes of_logins = {outcome_names, COUNTS_N_OUTCOMES, LOGIN_OUTCOMES};
    static const struct outcomes of_questions = {provider_outcome_names, PROVIDER_N_OUTCOMES,
                                                 QUESTION_OUTCOMES};
    struct counts total;

    add_counts(all, &total);
    exposition_begin(out, "adit_gate_build_info", "gauge", "1; the label is the version.");
    buf_puts(out, "adit_gate_build_info{version=\"" PACKAGE_VERSION "\"} 1\n");
    exposition_time(out, "adit_gate_start_time_seconds",
                    "When adit-gate started, in seconds since 1970.", all->started_ms);
    exposition_begin(out, "adit_gate_checks_total", "counter",
                     "Requests that the gate decided about.");
    put_outcomes(out, "adit_gate_checks_total", &of_checks, total.checks);
    exposition_begin(out, "adit_gate_logins_total", "counter",
                     "Visitors that came back from a provider.");
    put_outcomes(out, "adit_gate_logins_total", &of_logins, total.logins);
    exposition_begin(out, "adit_gate_provider_questions_total", "counter",
                     "Times that a provider was asked about a visitor.");
    put_outcomes(out, "adit_gate_provider_questions_total", &of_questions, total.questions);
    exposition_begin(out, "adit_gate_provider_question_duration_seconds", "histogram",
                     "How long a provider took for all answers about a visitor.");
    exposition_histogram(out, "adit_gate_provider_question_duration_seconds", "",
                         &total.question_time);
}
