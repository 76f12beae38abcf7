/* SPDX-License-Identifier: MIT */
/* Authorities in memory.  libcurl by itself would read them again for every login, and no lane goes
 * on meanwhile.  Those that the supervisor has read, its workers share. */
#include "gate/authorities.h"

#include <openssl/err.h>
#include <openssl/ssl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

struct authorities {
    const char *file;
    const char *folder;
    X509_STORE *store; /* NULL: not read */
    struct stat read;  /* the file, before it was read */
};

struct authorities *authorities_new(const char *file, const char *folder)
{
    struct authorities *authorities = calloc(1, sizeof *authorities);

    if (authorities)
        *authorities = (struct authorities){.file = file, .folder = folder};
    return authorities;
}

static void drop_store(struct authorities *authorities)
{
    X509_STORE_free(authorities->store);
    authorities->store = NULL;
}

void authorities_free(struct authorities *authorities)
{
    if (!authorities)
        return;
    drop_store(authorities);
    free(authorities);
}

static bool is_same_time(struct timespec a, struct timespec b)
{
    return a.tv_sec == b.tv_sec && a.tv_nsec == b.tv_nsec;
}

static bool is_same_file(const struct stat *a, const struct stat *b)
{
    return a->st_dev == b->st_dev && a->st_ino == b->st_ino && a->st_size == b->st_size &&
           is_same_time(a->st_mtim, b->st_mtim) && is_same_time(a->st_ctim, b->st_ctim);
}

/* Without a file, libcrypto reads only the authorities that a certificate names. */
static bool fill_store(const struct authorities *authorities, X509_STORE *store)
{
    /* As libcurl does: an authority in the file needs none above itself. */
    if (X509_STORE_set_flags(store, X509_V_FLAG_TRUSTED_FIRST | X509_V_FLAG_PARTIAL_CHAIN) != 1)
        return false;
    if (authorities->file)
        return X509_STORE_load_file(store, authorities->file) == 1;
    return (authorities->folder ? X509_STORE_load_path(store, authorities->folder)
                                : X509_STORE_set_default_paths(store)) == 1;
}

const char *authorities_read(struct authorities *authorities)
{
    struct stat now = {.st_size = 0};

    if (authorities->file && stat(authorities->file, &now) != 0) {
        drop_store(authorities);
        return "the file of authorities cannot be read";
    }
    if (authorities->file && authorities->store && is_same_file(&now, &authorities->read))
        return NULL;
    drop_store(authorities);
    authorities->read = now;
    authorities->store = X509_STORE_new();
    if (!authorities->store)
        return "out of memory";
    if (!fill_store(authorities, authorities->store))
        drop_store(authorities);
    ERR_clear_error();
    return authorities->store ? NULL : "the authorities cannot be read, or the file has none";
}

bool authorities_use(const struct authorities *authorities, void *tls)
{
    if (!authorities->store)
        return false;
    SSL_CTX_set1_cert_store(tls, authorities->store);
    return true;
}

bool authorities_fit(const char *tls_version)
{
    char wanted[32];

    snprintf(wanted, sizeof wanted, "OpenSSL/%u.", OPENSSL_version_major());
    return tls_version && strncmp(tls_version, wanted, strlen(wanted)) == 0;
}
