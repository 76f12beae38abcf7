/* SPDX-License-Identifier: MIT */
/* The interface: from a request to its answer. */
#ifndef ADIT_API_API_H
#define ADIT_API_API_H

#include "base/arena.h"
#include "base/log.h"
#include "http/names.h"
#include "http/route.h"
#include "model/oauth_module.h"
#include "serve/request.h"
#include "store/store.h"

/* What the interface depends on.  All of it must outlive the calls; none of it changes. */
struct api_settings {
    struct http_names names;
    struct oauth_names oauth;
    const char *base_url; /* without a trailing slash; NULL: derived from the request */
    struct log log;
};

/* The routes, ended by a row whose method is NULL. */
extern const struct route api_routes[];

/* Returns how long a request may keep a lane, judged by its method and its path alone. */
enum request_work api_work(struct text method, struct text path);

/* Answers one request.  Never fails: where nothing else can be said, the response says 500 or 503;
 * its body may lack only where response_reserve() was not called for it and there is no memory.
 * The arena is emptied at the end.  Every request is logged, with who asked and how long it took: a
 * fault of the service as an error, with its cause; a refused key (401, 403) as a warning; all
 * others at the level of debug.  503, 401 and 403 are limited (log_often()). */
void api_answer(const struct api_settings *settings, struct store *store, struct arena *arena,
                const struct request *request, struct response *response);

#endif
