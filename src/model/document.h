/* SPDX-License-Identifier: MIT */
/* The document of "aditctl export" and "aditctl apply": accounts, and what is in them.
 *
 *     {"version": 1,
 *      "accounts": [{"id": …, "name": …, "owners": […],
 *                    "principals": [{"id", "name", "is_admin", "is_disabled"}, …],
 *                    "ssh_credentials": [{"id", "created_at", …a POST's members}, …],
 *                    "oauth_modules": [{"edge_id", "id", …a PUT's members}, …],
 *                    "mutual_tls_modules": [{"id", …a PUT's members}, …],
 *                    …a list for each row of resource_table.h}, …]}
 *
 * The members have the same names, limits and messages as in requests.  A client secret is an
 * object instead of text: {"env": NAME}, {"file": PATH} or {"digest": DIGEST}. */
#ifndef ADIT_MODEL_DOCUMENT_H
#define ADIT_MODEL_DOCUMENT_H

#include "base/buf.h"
#include "base/must_check.h"
#include "model/resource.h"
#include "model/ssh_credential.h"

#define DOCUMENT_VERSION 1

/* Bytes of the longest document that is read, or written: some 400,000 credentials. */
#define DOCUMENT_BYTES_MAX ((size_t)256 * 1024 * 1024)

/* Bytes of the longest name of an account or a principal. */
#define DOCUMENT_NAME_MAX 255

/* What an entry of a document is. */
/* clang-format off */
enum document_kind {
    DOCUMENT_ACCOUNT, /* comes before what is in it */
    DOCUMENT_PRINCIPAL,
    DOCUMENT_CREDENTIAL,
#define DOCUMENT_KIND(with, NAME, ...) DOCUMENT_##NAME,
    MODULES(DOCUMENT_KIND, _)
#undef DOCUMENT_KIND
    DOCUMENT_N_KINDS
};
/* clang-format on */

/* Returns whether entries of a kind are modules, and of which kind; the latter only if they are. */
bool document_is_module(enum document_kind kind);
enum resource_kind document_module_kind(enum document_kind kind);

/* Returns whether they are modules of routes; OAuth modules, with a secret. */
bool document_of_route(enum document_kind kind);
bool document_has_provider(enum document_kind kind);

/* Returns the name of the table of a kind, static.  Events of the record of changes begin with it.
 */
const char *document_table_name(enum document_kind kind);

/* Returns the name of the list of a kind, static. */
const char *document_list_name(enum document_kind kind);

struct document_account {
    struct text id;             /* absent: the only account there is */
    struct text name;           /* absent: stays as it is */
    struct text_list owners;    /* given: the entry is about these principals only */
    bool has[DOCUMENT_N_KINDS]; /* whether the list of a kind is given, though it may be empty */
};

struct document_principal {
    struct text id;
    struct text name; /* absent: stays as it is */
    bool has_admin;   /* is_admin is given; if not, it stays as it is */
    bool is_admin;
    bool has_disabled; /* is_disabled is given; if not, it stays as it is */
    bool is_disabled;  /* all of its API keys are refused */
};

struct document_credential {
    struct ssh_credential input; /* an absent id or owner_id is to be found */
    struct text created_at;      /* RFC 3339 in UTC, whole seconds */
    struct text standing;        /* as the column; absent in a document: given */
};

/* The column ssh_credential.standing. */
#define STANDING_GIVEN "given"
#define STANDING_OWN "own"
#define STANDING_SUPERSEDED "superseded"

/* Where a client secret is from. */
enum document_secret_source {
    DOCUMENT_SECRET_NONE, /* client_id is not given either */
    DOCUMENT_SECRET_KEPT, /* client_id is given alone: the stored one stays */
    DOCUMENT_SECRET_ENV,
    DOCUMENT_SECRET_FILE,
    DOCUMENT_SECRET_DIGEST /* the stored one stays, and must have the digest */
};

struct document_secret {
    enum document_secret_source source;
    struct text name;   /* of the variable, or the path of the file */
    struct text digest; /* may also stand beside env and file; absent: any secret */
};

struct document_module {
    struct module_place place;
    union resource_value value;    /* of a client_secret, only what is sealed */
    struct document_secret secret; /* if the kind has a provider */
};

struct document_entry {
    enum document_kind kind;
    size_t account; /* index in the document */
    size_t index;   /* in its list */
    size_t offset;  /* of its first byte in the document */

    /* Values that requests do not take any more.  A row may have them since before: the reader of
     * the entry tells those that differ from its row. */
    struct field_fault *faults;
    union {
        struct document_account account_entry;
        struct document_principal principal;
        struct document_credential credential;
        struct document_module module;
    } of;
};

/* Who reads a document. */
struct document_reader {
    const struct oauth_names *names;
    void *context;

    /* Takes an entry, which may have faults of values.  Its text belongs to the reader, until the
     * call returns.  Returns false to stop, with *err. */
    bool (*entry)(void *context, const struct document_entry *entry, struct error *err);

    /* Hears of a fault: in the entry of that kind and place, of which nothing else is filled in; or
     * in the document (NULL).  The offset of *err, if it has one, is within the document. */
    void (*fault)(void *context, const struct document_entry *entry, const struct error *err);
};

/* Reads a document, one entry after the other: memory for one entry is all that it takes.  Faulty
 * entries are told and left out.  A fault of the document itself ends the reading.  Returns false
 * with *err where there was no fault but something else: memory ran out, or entry() stopped. */
MUST_CHECK bool document_read(struct text document, const struct document_reader *reader,
                              struct error *err);

/* More members than an entry of any kind has. */
#define DOCUMENT_MAX_CHANGES 24

/* A member that differs in two entries, and its value in each: a struct text, struct text_list,
 * bool or uint32_t, as the kind says. */
struct document_member {
    const char *name; /* static */
    enum field_kind kind;
    const void *before;
    const void *after;
};

/* The values are in the entries, and that of provider is here: do not copy this struct. */
struct document_changes {
    struct document_member members[DOCUMENT_MAX_CHANGES];
    size_t n;
    struct text provider_before;
    struct text provider_after;
};

/* Lists the members that differ in two entries of one kind, except identifiers, created_at and the
 * client secret.  The provider's value is its name of these names. */
void document_compare(const struct document_entry *before, const struct document_entry *after,
                      const struct oauth_names *names, struct document_changes *changes);

/* Append an entry as JSON, with all its members in one order, without white space.  The account's
 * lists are not among them.  A lack of memory sets out->failed. */
void document_write_account(struct buf *out, const struct document_account *account);
void document_write_principal(struct buf *out, const struct document_principal *principal);
void document_write_credential(struct buf *out, const struct document_credential *credential);
void document_write_module(struct buf *out, enum resource_kind kind,
                           const struct document_module *module, const struct oauth_names *names);

/* Appends the members of a credential that its columns are named after, without id, created_at and
 * standing, into an object that the caller has opened. */
void document_put_credential(struct buf *out, const struct ssh_credential *input);

#endif
