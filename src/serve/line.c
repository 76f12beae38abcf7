/* SPDX-License-Identifier: MIT */
/* The line of requests that wait for lanes: which of them starts next. */
#include "base/clock.h"
#include "serve/loop.h"

/* Long work leaves one lane free for shorter work. */
#define RESERVED_LANES 1

/* A scan may keep its lane for seconds, and its account may send any number.  So this many of a
 * worker run at a time, and of one account. */
#define MOST_SCANS 2
#define MOST_SCANS_OF_ACCOUNT 1

/* The others wait for their account's turn: this many, and of one key.  Each of them occupies a
 * connection, and the places of all are limited.  They are not counted by account: anybody can make
 * a key that names an account of others, and would take its places.  Anybody can make many keys,
 * too, but has few networks.  So if too many wait, the network with the most has to give way, and
 * of several keys there the one with the most. */
#define MOST_WAITING_SCANS 48
#define MOST_WAITING_SCANS_OF_KEY 16

/* What waits for a place knows no turns either.  So if the places of all are taken and the line
 * does not move, the same goes for all requests but probes: of an address with so many, or a wider
 * network with its times as many, one gives way to each connection that comes.  A line that moves
 * passes a full place on sooner. */
#define MOST_WAITING_OF_ADDRESS 16
#define SLOW_LINE_MS 250

/* A write may wait for a row's lock for 2 s, and its account may send any number.  So long work of
 * an account that has kept a lane for so long lately leaves half of the lanes to others, if others
 * were seen lately. */
#define KEEPS_LANE_MS 250
#define LATELY_MS 30000

bool serve_line_has_spare_lane(const struct serve *serve)
{
    return serve->n_free > (serve->n_lanes > RESERVED_LANES ? RESERVED_LANES : 0);
}

/* ---- what a request is ---- */

static struct text find_variable(const struct serve_connection *connection, const char *name)
{
    return serve_intake_find(&connection->peer.intake, name);
}

static enum request_work sort(struct serve_connection *connection, struct text method,
                              struct text path, struct text query)
{
    if (!connection->is_sorted)
        connection->work = connection->serve->callbacks->sort(method, path, query);
    connection->is_sorted = true;
    return connection->work;
}

enum request_work serve_line_work_of(struct serve_connection *connection)
{
    if (connection->is_sorted)
        return connection->work;
    return sort(connection, find_variable(connection, "REQUEST_METHOD"),
                find_variable(connection, "PATH_INFO"), find_variable(connection, "QUERY_STRING"));
}

static enum request_work work_of_lane(const struct serve_lane *lane)
{
    const struct request *request = &lane->request;

    return sort(lane->connection, text_of(request->method), text_of(request->path),
                text_of(request->query));
}

/* Only a request with a query can be a scan, so most need not be sorted to tell. */
static bool is_scan_in_lane(const struct serve_lane *lane)
{
    return lane->connection && lane->request.query[0] && work_of_lane(lane) == REQUEST_SCAN;
}

static bool is_scan(struct serve_connection *connection)
{
    if (!connection->is_sorted && find_variable(connection, "QUERY_STRING").len == 0)
        return false;
    return serve_line_work_of(connection) == REQUEST_SCAN;
}

/* As serve_cgi_end() finds it. */
static struct text find_authorization(const struct serve_connection *connection)
{
    struct text found = find_variable(connection, "HTTP_AUTHORIZATION");

    return text_present(found) ? found : find_variable(connection, "REDIRECT_HTTP_AUTHORIZATION");
}

/* ---- whose it is ---- */

/* Anybody can make a key that names an account of others, and would take its turns and its place.
 * So a request counts for the account only if an answer has shown that its key is good; until then,
 * for its address.  Numbers of addresses begin here. */
#define OF_ADDRESS (UINT64_C(1) << 32)

static struct request_caller *good_key_place(struct serve *serve,
                                             const struct request_caller *caller)
{
    return &serve->good_keys[caller->key % SERVE_N_GOOD_KEYS];
}

static bool is_good_key(struct serve *serve, const struct request_caller *caller)
{
    const struct request_caller *good = good_key_place(serve, caller);

    return caller->key != 0 && good->key == caller->key && good->account == caller->account;
}

void serve_line_note_answer(const struct serve_connection *connection,
                            const struct response *response)
{
    struct serve *serve = connection->serve;
    const struct request_caller *caller = &connection->caller;

    if (!connection->has_caller)
        return;
    if (response->payer != 0)
        *good_key_place(serve, caller) = *caller;
    else if (response->status == 401 && is_good_key(serve, caller))
        *good_key_place(serve, caller) = (struct request_caller){.key = 0};
}

/* Of a request in the line; it keeps the numbers once it has a lane. */
static struct request_caller caller_of(struct serve_connection *connection)
{
    const struct serve_callbacks *callbacks = connection->serve->callbacks;

    if (!connection->has_caller && callbacks->caller) {
        connection->caller = callbacks->caller(find_authorization(connection),
                                               find_variable(connection, "REMOTE_ADDR"));
        connection->account = is_good_key(connection->serve, &connection->caller)
                                  ? connection->caller.account
                                  : OF_ADDRESS + connection->caller.networks[0];
    }
    connection->has_caller = true;
    return connection->caller;
}

static uint64_t account_of(struct serve_connection *connection)
{
    (void)caller_of(connection);
    return connection->account;
}

static size_t turn_place(uint64_t account)
{
    return account % SERVE_N_TURNS + (account < OF_ADDRESS ? 0 : SERVE_N_TURNS);
}

static bool is_of_address(struct serve_connection *connection)
{
    return account_of(connection) >= OF_ADDRESS;
}

/* Each kind of work has turns of its own.  Whoever does two kinds would else be the latest again
 * and again by the one, and lose each turn of the other to who does that alone. */
static uint64_t *turn_of(struct serve *serve, struct serve_connection *connection)
{
    return &serve->turns[serve_line_work_of(connection)][turn_place(account_of(connection))];
}

/* A key that is not known to be good takes no turn of one that is. */
static uint64_t *turn_of_key(struct serve *serve, struct serve_connection *connection)
{
    const size_t place =
        caller_of(connection).key % SERVE_N_TURNS + (is_of_address(connection) ? SERVE_N_TURNS : 0);

    return &serve->key_turns[serve_line_work_of(connection)][place];
}

/* ---- what may start ---- */

static bool does_short_work(const struct serve_lane *lane)
{
    return lane->connection && work_of_lane(lane) >= REQUEST_SHORT;
}

/* Returns whether long work may start.  It takes the last free lane if another lane does short
 * work. Otherwise short requests could take each lane that becomes free, and long ones, and what
 * other workers offer, would wait for ever. */
bool serve_line_may_start_long(const struct serve *serve)
{
    if (serve_line_has_spare_lane(serve) || serve->n_free == 0)
        return serve->n_free > 0;
    for (size_t i = 0; i < serve->n_lanes; i++) {
        if (does_short_work(&serve->lanes[i]))
            return true;
    }
    return false;
}

/* Returns how many scans run.  Sets *n_of_account: those of this account. */
static int count_scans(const struct serve *serve, uint64_t account, int *n_of_account)
{
    int n = 0;

    *n_of_account = 0;
    for (size_t i = 0; i < serve->n_lanes; i++) {
        const struct serve_lane *lane = &serve->lanes[i];

        if (!is_scan_in_lane(lane))
            continue;
        n++;
        *n_of_account += lane->connection->account == account;
    }
    return n;
}

bool serve_line_may_scan(const struct serve *serve, uint64_t account)
{
    int n_of_account;

    return count_scans(serve, account, &n_of_account) < MOST_SCANS &&
           n_of_account < MOST_SCANS_OF_ACCOUNT;
}

/* Returns whether scans of others keep this one waiting, and none of its own account. */
static bool waits_for_others(const struct serve *serve, struct serve_connection *connection)
{
    int n_of_account;

    return count_scans(serve, account_of(connection), &n_of_account) >= MOST_SCANS &&
           n_of_account < MOST_SCANS_OF_ACCOUNT;
}

static bool was_lately(int64_t at_ms)
{
    return at_ms != 0 && clock_left_ms(at_ms + LATELY_MS) > 0;
}

static bool keeps_lane(const struct serve_connection *connection)
{
    return clock_left_ms(connection->since_ms + KEEPS_LANE_MS) == 0;
}

/* Returns whether the account's requests keep lanes now, or did lately. */
static bool keeps_lanes(const struct serve *serve, uint64_t account)
{
    bool keeps = was_lately(serve->kept_ms[turn_place(account)]);

    for (size_t i = 0; i < serve->n_lanes && !keeps; i++) {
        const struct serve_connection *connection = serve->lanes[i].connection;

        keeps = connection && connection->account == account && keeps_lane(connection);
    }
    return keeps;
}

/* Returns whether the account's long work has its half of the lanes.  Short work of one key keeps
 * no long work of another waiting. */
static bool has_its_lanes(const struct serve *serve, uint64_t account)
{
    size_t n = 0;

    for (size_t i = 0; i < serve->n_lanes; i++) {
        const struct serve_lane *lane = &serve->lanes[i];

        n += lane->connection && lane->connection->account == account && !does_short_work(lane);
    }
    return n >= serve->n_lanes / 2;
}

/* Returns whether long work waits until less of its account keeps lanes. */
static bool waits_for_own(const struct serve *serve, struct serve_connection *connection)
{
    return was_lately(serve->mixed_ms) && keeps_lanes(serve, account_of(connection)) &&
           serve_line_work_of(connection) < REQUEST_SHORT &&
           has_its_lanes(serve, account_of(connection));
}

static bool may_start(const struct serve *serve, struct serve_connection *connection,
                      bool may_start_long)
{
    if (may_start_long)
        return (!is_scan(connection) || serve_line_may_scan(serve, account_of(connection))) &&
               !waits_for_own(serve, connection);
    switch (serve_line_work_of(connection)) {
    case REQUEST_INSTANT:
        return true;
    case REQUEST_PROBE:
    case REQUEST_SHORT:
        return serve->n_free > 0;
    case REQUEST_SCAN:
    case REQUEST_LONG:
        break;
    }
    return false;
}

/* A probe goes before all others, but not twice in a row: anybody may send them. */
static bool is_urgent(const struct serve *serve, struct serve_connection *connection)
{
    return !serve->has_probed && serve_line_work_of(connection) == REQUEST_PROBE;
}

/* Each account in turn: the one whose last request of that work started first goes next.  So do the
 * keys of an account.  A key's requests of a work stay in their order. */
static bool has_next_turn(struct serve *serve, struct serve_connection *connection,
                          struct serve_connection *other)
{
    if (is_urgent(serve, connection) || is_urgent(serve, other))
        return !is_urgent(serve, other);
    if (*turn_of(serve, connection) != *turn_of(serve, other))
        return *turn_of(serve, connection) < *turn_of(serve, other);
    return *turn_of_key(serve, connection) < *turn_of_key(serve, other);
}

struct serve_connection *serve_line_next(struct serve *serve)
{
    struct serve_connection *next = NULL;
    bool may_start_long;

    if (serve->n_line == 0)
        return NULL;
    may_start_long = serve_line_may_start_long(serve);
    for (size_t i = 0; i < serve->n_line; i++) {
        struct serve_connection *connection = serve->line[i];

        if (may_start(serve, connection, may_start_long) &&
            (!next || has_next_turn(serve, connection, next)))
            next = connection;
    }
    return next;
}

void serve_line_note_start(struct serve *serve, struct serve_connection *connection)
{
    /* The answer may show that its key is good, too. */
    uint64_t account = account_of(connection);

    if (account < OF_ADDRESS && account != serve->latest_account) {
        serve->mixed_ms = serve->latest_account ? clock_steady_ms() : 0;
        serve->latest_account = account;
    }
    /* Behind a scan, others of its account wait for seconds: its key's turn counts. */
    if (serve->n_line < 2 && !is_scan(connection))
        return;
    *turn_of(serve, connection) = ++serve->turn;
    *turn_of_key(serve, connection) = serve->turn;
    serve->has_probed = serve_line_work_of(connection) == REQUEST_PROBE;
}

void serve_line_note_end(struct serve *serve, const struct serve_connection *connection)
{
    if (keeps_lane(connection))
        serve->kept_ms[turn_place(connection->account)] = clock_steady_ms();
}

bool serve_line_may_offer(const struct serve *serve, struct serve_connection *connection)
{
    if (!serve_line_may_start_long(serve))
        return true;
    if (waits_for_own(serve, connection))
        return false;
    if (!is_scan(connection))
        return true;
    return !connection->was_offered && waits_for_others(serve, connection);
}

uint64_t serve_line_scans_for(const struct serve_connection *connection)
{
    return connection->has_caller ? connection->account : 0;
}

bool serve_line_is_scan(struct serve_connection *connection, uint64_t *account)
{
    if (!is_scan(connection))
        return false;
    *account = account_of(connection);
    return true;
}

static bool may_give_way(struct serve_connection *connection, bool only_scans)
{
    return only_scans ? is_scan(connection) : serve_line_work_of(connection) != REQUEST_PROBE;
}

/* How many requests wait like one. */
struct alike {
    int n_of_network;
    int n_of_key; /* of these */
};

/* Counts what waits like this one: in its network of a width, and with its key there.  Keys that
 * are not known to be good are one. */
static struct alike count_like(const struct serve *serve, struct serve_connection *connection,
                               bool only_scans, size_t width)
{
    const uint32_t network = caller_of(connection).networks[width];
    const uint32_t key = connection->caller.key;
    struct alike alike = {0};

    for (size_t i = 0; i < serve->n_line; i++) {
        struct serve_connection *other = serve->line[i];

        if (!may_give_way(other, only_scans) || caller_of(other).networks[width] != network)
            continue;
        alike.n_of_network++;
        alike.n_of_key +=
            is_of_address(other) ? is_of_address(connection) : other->caller.key == key;
    }
    return alike;
}

/* The same in that of its networks that has most for its width. */
static struct alike count_most(const struct serve *serve, struct serve_connection *connection,
                               bool only_scans)
{
    const struct request_caller caller = caller_of(connection);
    struct alike most = {0};

    for (size_t i = 0; i < ADDRESS_N_WIDTHS && (i == 0 || caller.networks[i] != 0); i++) {
        struct alike alike = count_like(serve, connection, only_scans, i);

        alike.n_of_network *= ADDRESS_TIMES_MAX / address_widths[i].times;
        if (alike.n_of_network > most.n_of_network)
            most = alike;
    }
    return most;
}

/* Returns the request that gives way: the latest of those whose network, and whose key there, has
 * the most.  Returns NULL if no address has at_least. */
static struct serve_connection *find_surplus(const struct serve *serve, bool only_scans,
                                             int at_least)
{
    struct serve_connection *surplus = NULL;
    struct alike most = {.n_of_network = at_least * ADDRESS_TIMES_MAX};

    for (size_t i = 0; i < serve->n_line; i++) {
        struct serve_connection *connection = serve->line[i];
        struct alike alike;

        if (!may_give_way(connection, only_scans))
            continue;
        alike = count_most(serve, connection, only_scans);
        if (alike.n_of_network < most.n_of_network ||
            (alike.n_of_network == most.n_of_network && alike.n_of_key < most.n_of_key))
            continue;
        surplus = connection;
        most = alike;
    }
    return surplus;
}

static void refuse_surplus_scans(struct serve *serve)
{
    unsigned char n_of_keys[SERVE_N_TURNS] = {0};
    struct serve_connection *surplus;
    int n = 0;
    size_t at = 0;

    while (at < serve->n_line) {
        struct serve_connection *connection = serve->line[at];
        unsigned char *n_of_key;

        if (!is_scan(connection)) {
            at++;
            continue;
        }
        n_of_key = &n_of_keys[caller_of(connection).key % SERVE_N_TURNS];
        if (*n_of_key >= MOST_WAITING_SCANS_OF_KEY) {
            serve_connection_answer_at_once(connection);
            continue;
        }
        n++;
        ++*n_of_key;
        at++;
    }
    for (; n > MOST_WAITING_SCANS && (surplus = find_surplus(serve, true, 1)) != NULL; n--)
        serve_connection_answer_at_once(surplus);
}

/* Returns whether a request waits for long.  Scans wait for their turns though the line moves. */
static bool is_slow(const struct serve *serve)
{
    size_t at = 0;

    while (at < serve->n_line && is_scan(serve->line[at]))
        at++;
    return at < serve->n_line && clock_left_ms(serve->line[at]->since_ms + SLOW_LINE_MS) == 0;
}

void serve_line_refuse_surplus(struct serve *serve)
{
    struct serve_connection *surplus;

    if (serve->n_line <= MOST_WAITING_SCANS_OF_KEY)
        return;
    refuse_surplus_scans(serve);
    if (serve_connection_has_place(serve) || !is_slow(serve))
        return;
    surplus = find_surplus(serve, false, MOST_WAITING_OF_ADDRESS);
    if (surplus)
        serve_connection_answer_at_once(surplus);
}
