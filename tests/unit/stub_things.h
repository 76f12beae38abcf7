/* SPDX-License-Identifier: MIT */
/* For the files of the store in memory: its callers and its resources. */
#ifndef ADIT_TESTS_STUB_THINGS_H
#define ADIT_TESTS_STUB_THINGS_H

#include "base/arena.h"
#include "model/field.h"
#include "model/key_kind.h"
#include "model/resource.h"
#include "stub_store.h"

#define N_KNOWN 7

struct known {
    const char *key;
    const char *principal_id;
    int account;
    enum key_kind kind;
    bool is_admin;
    bool is_revoked;
};

/* A kind of resource: an enum resource_kind, or this. */
#define CREDENTIAL RESOURCE_N_KINDS

/* The identity of a resource.  A kind with one identifier leaves the second one absent. */
struct place {
    int kind;
    struct text ids[2];
};

/* A resource of an account. */
struct thing {
    struct thing *next;
    int account; /* 0: deleted */
    struct place place;
    int64_t revision;
    void *value; /* the resource's struct; the store owns its text */
};

struct store {
    struct caller callers[N_KNOWN];
    struct thing *things;
    struct arena memory; /* of the things */
    int64_t revision;    /* the latest */
    enum error_code failure;
    int n_changes;
};

/* Returns the caller if it may do what the request asks, or NULL with *err. */
const struct known *stub_find_known(const struct store *store, const struct store_request *request,
                                    bool writes, struct error *err);

/* Copies the text of a struct into the store, by the table of its members. */
void stub_keep_fields(struct store *store, const struct field *fields, size_t n, void *target);

/* Creates or replaces a resource.  Sets *revision in the value, and returns a copy whose text still
 * belongs to the request.  Returns NULL with *err on failure. */
void *stub_put(struct store *store, const struct store_request *request, const struct place *place,
               const void *value, size_t size, int64_t *revision, struct error *err);

/* Copies the value of a resource to out.  Returns false with *err, which is missing if there is
 * none. */
bool stub_get(const struct store *store, const struct store_request *request,
              const struct place *place, void *out, size_t size, enum error_code missing,
              struct error *err);

/* Removes a resource.  Returns false with *err, which is missing if there is none. */
bool stub_remove(struct store *store, const struct store_request *request,
                 const struct place *place, enum error_code missing, struct error *err);

/* Returns the number of resources of all accounts. */
size_t stub_count(const struct store *store);

#endif
