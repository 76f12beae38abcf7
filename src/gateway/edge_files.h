/* SPDX-License-Identifier: MIT */
/* The files of one edge in the output folder. */
#ifndef ADIT_GATEWAY_EDGE_FILES_H
#define ADIT_GATEWAY_EDGE_FILES_H

#include <stdbool.h>

#include "base/buf.h"
#include "base/must_check.h"

/* Bytes of the largest PEM file of an edge. */
#define EDGE_FILES_PEM_MAX (8 * 1024 * 1024)

/* Suffixes of files.  The settings leave room for 8 bytes after an id. */
#define EDGE_FILES_PEM ".pem"
#define EDGE_FILES_HAPROXY ".haproxy"

/* HAProxy's map has this key. */
#define EDGE_FILES_KEY "verify"

/* What an edge demands of a client. */
struct edge_rule {
    bool asks;      /* for a certificate */
    struct buf pem; /* the trusted authorities; not empty */
};

/* How a rule compares with the rule of the files. */
enum edge_change {
    EDGE_SAME,
    EDGE_WIDER,   /* permits all that the files permit */
    EDGE_NARROWER /* may refuse some of that, or a file is missing or was changed by hand */
};

/* Returns the value of EDGE_FILES_KEY for the rule; static. */
const char *edge_files_value(bool asks);

/* Returns whether all files of the edge are there. */
bool edge_files_exist(const char *folder, const char *id);

/* Compares the rule with the files.  Sets *change.  Returns false if memory runs out. */
MUST_CHECK bool edge_files_compare(const char *folder, const char *id, const struct edge_rule *rule,
                                   enum edge_change *change);

/* Writes the files, each as whole_file_put() does.  The PEM file comes first: if the process ends
 * in between, the edge refuses what either rule refuses.  Returns false, with errno set, if a step
 * fails; *any is whether a file was replaced before. */
MUST_CHECK bool edge_files_put(const char *folder, const char *id, const struct edge_rule *rule,
                               bool *any);

#endif
