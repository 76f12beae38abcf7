/* SPDX-License-Identifier: MIT */
/* The options of a line of authorized_keys(5): what sshd lets a key do. */
#ifndef ADIT_MODEL_SSH_OPTIONS_H
#define ADIT_MODEL_SSH_OPTIONS_H

#include "base/buf.h"
#include "base/must_check.h"

#define SSH_DOMAIN_PORTS_MAX 16

/* sshd stops at one permitlisten more. */
#define SSH_LISTENS_MAX 4096

/* Bytes.  sshd reads lines of 256 KiB, with the key. */
#define SSH_OPTIONS_MAX (200 * 1024)

/* The ports that a rule for a domain opens: every one, or those listed. */
struct ssh_domain_ports {
    bool any;
    unsigned short ports[SSH_DOMAIN_PORTS_MAX]; /* distinct */
    size_t n;
};

/* Reads "*", or ports from 1 to 65535 with spaces between them.  A port may repeat.  Returns false
 * with the reason in *why, as the words after a colon; static. */
MUST_CHECK bool ssh_domain_ports_read(struct text words, struct ssh_domain_ports *out,
                                      const char **why);

/* Returns whether the rules are at most SSH_LISTENS_MAX, with SSH_OPTIONS_MAX bytes: whoever tells
 * sshd what they permit, or keeps them, takes no more. */
MUST_CHECK bool ssh_options_fit(struct text_list rules);

/* Returns how much of these limits the rules take; 1: all of one of them. */
double ssh_options_share(struct text_list rules);

/* Appends the options for the rules, which are one list of acl_unite():
 *   - "restrict,port-forwarding" if they permit everything, as a list without rules does;
 *   - "restrict,port-forwarding" and a permitlisten for each address, and for each domain with each
 *     of the ports, each once;
 *   - "restrict" if they name neither: the key may log in, and bind nothing.
 * Hosts are in lower case.  An IPv6 address is in the form of RFC 5952 and in that of its rule,
 * since sshd compares texts.  Labels, malformed rules and wildcards for domains that end in a
 * number ("bind:*.3.4") are left out.
 *
 * Returns false with the reason in *why, static, and appends nothing, if there are more than
 * SSH_LISTENS_MAX permitlisten or SSH_OPTIONS_MAX bytes, or if memory runs out: then it is
 * ssh_options_no_memory. */
extern const char ssh_options_no_memory[];
MUST_CHECK bool ssh_options_write(struct buf *out, struct text_list rules,
                                  const struct ssh_domain_ports *ports, const char **why);

/* Sets *share to how much of these limits the options for the rules take: 1 is all of one of them,
 * and more than that all that is too much.  Returns false if memory runs out. */
MUST_CHECK bool ssh_options_measure(struct text_list rules, const struct ssh_domain_ports *ports,
                                    double *share);

#endif
