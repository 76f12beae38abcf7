/* SPDX-License-Identifier: MIT */
/* What the rooms of the gate share. */
#ifndef ADIT_GATE_GATE_H
#define ADIT_GATE_GATE_H

#include "base/address.h"
#include "base/arena.h"
#include "base/log.h"
#include "base/wait.h"
#include "conf/conf.h"
#include "confined/confined.h"
#include "gate/authorities.h"
#include "gate/counts.h"
#include "gate/database.h"
#include "gate/fetch.h"
#include "gate/recheck.h"
#include "http/names.h"
#include "serve/kept.h"
#include "serve/request.h"
#include "keyring/keyring.h"

/* What all workers share, set up before they start. */
struct gate {
    struct conf conf;
    struct log_limit log_limit;
    struct keyring *keyring;
    struct authorities *authorities;
    struct http_names names;
    char *managed_secrets[OAUTH_N_PROVIDERS]; /* of [provider.NAME]; NULL: none */
    int listen_fd;
    int handover[2];
    struct kept kept;
    struct counts_of_all *counts; /* NULL: nothing is counted */
};

/* What a worker needs after it is confined. */
static inline struct confined_needs gate_needs(const struct gate *gate)
{
    return (struct confined_needs){.conf = &gate->conf,
                                   .conninfo = gate->conf.gate.conninfo,
                                   .ca_file = gate->conf.gate.ca_file};
}

/* The path below which the gate answers browsers itself. */
#define GATE_PATH "/_adit/"
#define GATE_CALLBACK GATE_PATH "callback"
#define GATE_LOGOUT GATE_PATH "logout"

/* Lanes of a worker that may wait for providers.  The others are for checks. */
#define GATE_WAITING_MAX 56

/* A lane that waits so. */
struct gate_waiting {
    struct address_network from; /* all zero: not told apart */
    uint32_t asks_for;           /* the module's account and provider, as a checksum; 0: unknown */
    uint64_t visitor;            /* see waiting_visitor(); 0: unknown, somebody signs in */
    bool is_admitted;            /* for a visitor who is signed in, and no stranger */
};

/* What visitors cause. */
enum gate_cause {
    GATE_LOGINS,    /* that came back */
    GATE_CHECKS,    /* questions about visitors; of an address: strangers */
    GATE_WAYS_BACK, /* long ones, which are stored */
    GATE_ROWS,      /* of a visitor at a route, by signing in and out */
    GATE_N_CAUSES
};

/* What an address, or a network of many, has caused lately, or a visitor from wherever. */
struct gate_stored {
    struct address_network from; /* all zero: a visitor, or all */
    uint64_t visitor;            /* see waiting.c; 0: an address, or all */
    int64_t since_ms;            /* on the steady clock; 0: unused */
    int n[GATE_N_CAUSES];
};

/* Addresses and networks that a worker remembers so, and visitors. */
#define GATE_STORED_MAX 512

/* A route without a module, of which a line tells. */
struct gate_told {
    uint64_t route; /* of its log_source */
    int64_t at_ms;  /* on the steady clock; 0: unused */
};

/* Such routes that a worker remembers. */
#define GATE_TOLD_MAX 64

/* A worker. */
struct gate_worker {
    const struct gate *gate;
    struct database *database;
    struct counts *counts; /* its own; NULL: nothing is counted */
    struct rechecks rechecks;
    struct turns turns; /* at providers' answers */
    struct gate_told told[GATE_TOLD_MAX];
    int n_waiting;   /* lanes that wait for a provider, or for another lane; see waiting.h */
    int n_following; /* those that wait for another lane */
    struct gate_waiting waiting[GATE_WAITING_MAX];
    struct gate_stored stored[GATE_STORED_MAX];
    struct gate_stored
        visitors[GATE_STORED_MAX];    /* their GATE_CHECKS, and at each route GATE_ROWS */
    struct gate_stored stored_in_all; /* its GATE_WAYS_BACK */
};

/* What a lane works with. */
struct gate_lane {
    struct gate_worker *worker;
    struct wait wait;
    struct arena arena;
    struct response response;
};

/* The FastCGI variables of the web server, in the order of request->others. */
enum gate_variable {
    GATE_ADIT_EDGE,
    GATE_ADIT_ROUTE,
    GATE_ADIT_ACCOUNT,
    GATE_ADIT_URL,     /* of the route's host, as browsers see it: https://app.example.com */
    GATE_ADIT_CHECK,   /* "1": a check of nginx */
    GATE_ADIT_PAGE,    /* "1": the page that explains why nginx lets nobody pass */
    GATE_ADIT_METRICS, /* "1": the metrics, for a route that only the machine may ask */
    GATE_REQUEST_URI,
    GATE_HOST,
    GATE_SCHEME, /* "http": the web server got the request so; absent: it does not say */
    GATE_COOKIE,
    GATE_FETCH_MODE,
    GATE_FETCH_SITE,
    GATE_ACCEPT,
    GATE_WEBSOCKET_KEY, /* of a WebSocket; mod_authnz_fcgi passes no Upgrade */
    GATE_N_VARIABLES
};

extern const char *const gate_variables[GATE_N_VARIABLES];

#endif
