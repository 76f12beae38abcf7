/* SPDX-License-Identifier: MIT */
/* The count of lanes that wait for providers, in all, and for each address and visitor. */
#include "gate/waiting.h"

#include "base/base62.h"
#include "base/clock.h"
#include "http/header.h"

/* Visitors who are signed in may have so many requests of one page wait for one answer.  The other
 * lanes are for those who sign in. */
#define FOLLOWING_MAX (GATE_WAITING_MAX * 3 / 4)

/* The other lanes are for checks of visitors who are signed in already, and whom the lists let in:
 * sign-ins from many addresses must not end what these work on. */
#define STRANGERS_MAX (GATE_WAITING_MAX * 7 / 8)

/* The modules of an account with one provider have at most so many eighths of the lanes that no
 * others have, and of these for strangers: a provider that answers slowly keeps nobody else
 * waiting, and whom an open module lets in is no stranger. */
#define MODULES_SHARE 7
#define MODULES_STRANGERS_SHARE 6

const char waiting_fault[] = "too many requests wait for providers, in all, of this visitor or of "
                             "this address, or memory is "
                             "short";

/* Behind a proxy of this machine, all visitors have its address, or none: they are not told apart.
 */
static struct address_network address_of(const struct gate_call *call)
{
    const char *text = header_client_address(call->request);
    const struct address_network unknown = {.is_known = false};
    struct address_network network;

    if (!text)
        return unknown;
    network = address_network_of(text_of(text));
    return network.is_loopback ? unknown : network;
}

/* Eighths of the lanes that no other network of the same width has. */
static const int shares[ADDRESS_N_WIDTHS] = {4, 5, 6};

/* ... and that no other visitor has. */
#define VISITOR_SHARE 4

/* One that has fewer lanes than this has an eighth more of an address: no other visitor of it has
 * them all. */
#define FEW_LANES 4

static int n_strangers(const struct gate_worker *worker)
{
    int n = 0;

    for (int i = 0; i < worker->n_waiting; i++)
        n += !worker->waiting[i].is_admitted;
    return n;
}

/* Strangers of its network do not count against a visitor whom the lists have let in. */
static int n_own(const struct gate_worker *worker, const struct gate_waiting *wanted,
                 unsigned char n_bytes)
{
    const struct address_network own = address_widen(&wanted->from, n_bytes);
    int n = 0;

    for (int i = 0; i < worker->n_waiting; i++) {
        const struct gate_waiting *other = &worker->waiting[i];
        const struct address_network network = address_widen(&other->from, n_bytes);

        n += address_same_network(&network, &own) && (other->is_admitted || !wanted->is_admitted);
    }
    return n;
}

static bool has_share(int left, int own, int eighths)
{
    return own < ((left + own) * eighths + 7) / 8;
}

static bool has_lane_of_modules(const struct gate_worker *worker, const struct gate_waiting *wanted,
                                int left)
{
    int n = 0, n_of_strangers = 0;

    for (int i = 0; i < worker->n_waiting; i++) {
        if (worker->waiting[i].asks_for != wanted->asks_for)
            continue;
        n++;
        n_of_strangers += !worker->waiting[i].is_admitted;
    }
    return wanted->asks_for == 0 ||
           (has_share(left, n, MODULES_SHARE) &&
            (wanted->is_admitted || has_share(left, n_of_strangers, MODULES_STRANGERS_SHARE)));
}

/* A visitor may have many addresses, and as many sessions. */
static int n_of_visitor(const struct gate_worker *worker, uint64_t visitor)
{
    int n = 0;

    for (int i = 0; i < worker->n_waiting; i++)
        n += worker->waiting[i].visitor == visitor;
    return n;
}

/* An address has at most its share of the lanes that no other one has: so whoever has several
 * leaves some, too. */
static bool has_lane(const struct gate_worker *worker, const struct gate_waiting *wanted)
{
    int left = GATE_WAITING_MAX - worker->n_waiting;
    int n = n_of_visitor(worker, wanted->visitor);
    int more = wanted->is_admitted && n < FEW_LANES ? 1 : 0;

    if (left == 0 || (!wanted->is_admitted && n_strangers(worker) >= STRANGERS_MAX) ||
        !has_lane_of_modules(worker, wanted, left) ||
        (wanted->visitor != 0 && !has_share(left, n, VISITOR_SHARE)))
        return false;
    for (size_t i = 0; wanted->from.is_known && i < address_n_widths(&wanted->from); i++) {
        if (!has_share(left, n_own(worker, wanted, address_widths[i].n_bytes), shares[i] + more))
            return false;
    }
    return true;
}

static uint32_t number_of_modules(const struct gate_call *call)
{
    const struct text account_id = call->place.account_id;

    return account_id.s ? crc32_of(account_id.s, account_id.len) + (uint32_t)call->place.provider
                        : 0;
}

uint64_t waiting_visitor(const struct gate_call *call, const struct identity *who)
{
    return text_hash(who->subject) + number_of_modules(call);
}

static struct gate_waiting waiting_of(const struct gate_call *call,
                                      const struct visitor_session *session)
{
    return (struct gate_waiting){.from = address_of(call),
                                 .asks_for = number_of_modules(call),
                                 .visitor = session ? waiting_visitor(call, &session->identity) : 0,
                                 .is_admitted = session && !session->is_stranger};
}

static bool begin_waiting(struct gate_call *call, const struct visitor_session *session)
{
    struct gate_worker *worker = call->lane->worker;
    const struct gate_waiting wanted = waiting_of(call, session);

    if (!has_lane(worker, &wanted))
        return false;
    worker->waiting[worker->n_waiting++] = wanted;
    call->waiting = wanted;
    return true;
}

/* Ends what this call has begun. */
static void end_waiting(struct gate_call *call)
{
    struct gate_worker *worker = call->lane->worker;
    const struct gate_waiting *own = &call->waiting;
    int at = 0;

    while (at < worker->n_waiting && (worker->waiting[at].is_admitted != own->is_admitted ||
                                      worker->waiting[at].asks_for != own->asks_for ||
                                      worker->waiting[at].visitor != own->visitor ||
                                      !address_same_network(&worker->waiting[at].from, &own->from)))
        at++;
    if (at < worker->n_waiting)
        worker->waiting[at] = worker->waiting[--worker->n_waiting];
}

bool waiting_follow(struct gate_call *call, const struct visitor_session *session)
{
    struct gate_worker *worker = call->lane->worker;

    if (worker->n_following >= FOLLOWING_MAX || !begin_waiting(call, session))
        return false;
    worker->n_following++;
    return true;
}

void waiting_unfollow(struct gate_call *call)
{
    call->lane->worker->n_following--;
    end_waiting(call);
}

/* The widest network: whoever has many addresses of it has one turn. */
static uint32_t number_of_network(const struct address_network *from)
{
    const struct address_network widest =
        address_widen(from, address_widths[ADDRESS_N_WIDTHS - 1].n_bytes);

    return crc32_of(widest.bytes, sizeof widest.bytes);
}

struct fetcher *waiting_begin_fetch(struct gate_call *call, const struct visitor_session *session)
{
    struct gate_worker *worker = call->lane->worker;
    const struct gate_waiting own = waiting_of(call, session);
    const struct turn turn = {.wait = &call->lane->wait,
                              .asks_for = own.asks_for,
                              .from = number_of_network(&own.from),
                              .visitor = own.visitor};
    struct fetcher *fetcher;

    if (!begin_waiting(call, session))
        return NULL;
    fetcher = fetcher_new(&turn, &worker->turns, worker->gate->authorities);
    if (!fetcher)
        end_waiting(call);
    return fetcher;
}

void waiting_end_fetch(struct gate_call *call, struct fetcher *fetcher)
{
    if (!fetcher)
        return;
    end_waiting(call);
    fetcher_free(fetcher);
}

/* ---- rows, and questions ---- */

static bool is_past(const struct gate_stored *stored)
{
    return stored->since_ms == 0 || clock_steady_ms() - stored->since_ms >= WAITING_STORED_MS;
}

/* Whose: all zero, but its network or its visitor. */
static void begin_anew(struct gate_stored *stored, const struct gate_stored *whose)
{
    *stored = *whose;
    stored->since_ms = clock_steady_ms();
}

static int count_stored(const struct gate_stored *stored)
{
    int n = 0;

    for (int cause = 0; cause < GATE_N_CAUSES; cause++)
        n += stored->n[cause];
    return is_past(stored) ? -1 : n;
}

/* Returns what is counted of somebody, or NULL. */
static struct gate_stored *find_stored(struct gate_stored all[GATE_STORED_MAX],
                                       const struct gate_stored *whose)
{
    for (size_t i = 0; i < GATE_STORED_MAX; i++) {
        if (!is_past(&all[i]) && all[i].visitor == whose->visitor &&
            address_same_network(&all[i].from, &whose->from))
            return &all[i];
    }
    return NULL;
}

/* The same, or begins to count.  If too many have something, the one with least is forgotten. */
static struct gate_stored *stored_of(struct gate_stored all[GATE_STORED_MAX],
                                     const struct gate_stored *whose)
{
    struct gate_stored *stored = find_stored(all, whose);
    struct gate_stored *least = &all[0];

    if (stored)
        return stored;
    for (size_t i = 1; i < GATE_STORED_MAX; i++) {
        if (count_stored(&all[i]) < count_stored(least))
            least = &all[i];
    }
    begin_anew(least, whose);
    return least;
}

/* Returns whether neither the address nor one of its wider networks has its most. */
static bool may_cause(struct gate_call *call, enum gate_cause cause, int most)
{
    struct gate_worker *worker = call->lane->worker;
    const struct address_network from = address_of(call);

    for (size_t i = 0; from.is_known && i < address_n_widths(&from); i++) {
        const struct gate_stored whose = {.from = address_widen(&from, address_widths[i].n_bytes)};
        const struct gate_stored *stored = find_stored(worker->stored, &whose);

        if (stored && stored->n[cause] >= most * address_widths[i].times)
            return false;
    }
    return true;
}

static void count_cause(struct gate_call *call, enum gate_cause cause)
{
    struct gate_worker *worker = call->lane->worker;
    const struct address_network from = address_of(call);

    for (size_t i = 0; from.is_known && i < address_n_widths(&from); i++) {
        const struct gate_stored whose = {.from = address_widen(&from, address_widths[i].n_bytes)};

        stored_of(worker->stored, &whose)->n[cause]++;
    }
}

bool waiting_may_use(struct gate_call *call)
{
    if (!may_cause(call, GATE_LOGINS, WAITING_LOGINS_MAX))
        return false;
    count_cause(call, GATE_LOGINS);
    return true;
}

static struct gate_stored *visitor_of(struct gate_call *call, const struct identity *who)
{
    const struct gate_stored whose = {.visitor = waiting_visitor(call, who)};

    return stored_of(call->lane->worker->visitors, &whose);
}

/* A page behind one route can send a visitor's browser to sign in again and again: that takes
 * nothing from the visitor's other routes. */
bool waiting_may_leave_row(struct gate_call *call, const struct identity *who)
{
    const uint64_t route = text_hash(call->place.edge_id) * 31 + text_hash(call->place.route_id);
    const struct gate_stored whose = {.visitor = waiting_visitor(call, who) * 31 + route};
    struct gate_stored *visitor = stored_of(call->lane->worker->visitors, &whose);

    if (visitor->n[GATE_ROWS] >= WAITING_VISITOR_ROWS_MAX)
        return false;
    visitor->n[GATE_ROWS]++;
    return true;
}

const char *waiting_why_not_ask(struct gate_call *call, const struct visitor_session *session)
{
    if (visitor_of(call, &session->identity)->n[GATE_CHECKS] >= WAITING_VISITOR_CHECKS_MAX)
        return "too many checks of this visitor in 10 minutes";
    if (session->is_stranger && !may_cause(call, GATE_CHECKS, WAITING_CHECKS_MAX))
        return "too many checks of this address in 10 minutes";
    return NULL;
}

void waiting_count_question(struct gate_call *call, const struct visitor_session *session)
{
    visitor_of(call, &session->identity)->n[GATE_CHECKS]++;
    if (session->is_stranger)
        count_cause(call, GATE_CHECKS);
}

/* Whoever has several addresses leaves some rows to others, too. */
static bool has_row(struct gate_call *call, int left)
{
    const struct address_network from = address_of(call);

    for (size_t i = 0; from.is_known && i < address_n_widths(&from); i++) {
        const struct gate_stored whose = {.from = address_widen(&from, address_widths[i].n_bytes)};
        const struct gate_stored *stored = find_stored(call->lane->worker->stored, &whose);

        if (!has_share(left, stored ? stored->n[GATE_WAYS_BACK] : 0, address_widths[i].times))
            return false;
    }
    return left > 0;
}

bool waiting_may_keep(struct gate_call *call)
{
    static const struct gate_stored all;
    struct gate_stored *in_all = &call->lane->worker->stored_in_all;

    if (is_past(in_all))
        begin_anew(in_all, &all);
    if (!has_row(call, WAITING_WAYS_BACK_IN_ALL_MAX - in_all->n[GATE_WAYS_BACK]) ||
        !may_cause(call, GATE_WAYS_BACK, WAITING_WAYS_BACK_MAX))
        return false;
    count_cause(call, GATE_WAYS_BACK);
    in_all->n[GATE_WAYS_BACK]++;
    return true;
}
