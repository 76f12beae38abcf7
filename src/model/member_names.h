/* SPDX-License-Identifier: MIT */
/* Made from model/member_table.h by model/member_names.awk: "make regen" makes it again.
 *
 *     RENAMED    a ROW for each member that answers call otherwise: its name, and that one
 *     LEFT_OUT   a ROW for each column of which the record of changes says nothing
 *     UNCHOSEN   the columns that nobody chose: keys, and what is made
 *     UNSEEN     those that may differ in rows that are the same to a caller */
#ifndef ADIT_MODEL_MEMBER_NAMES_H
#define ADIT_MODEL_MEMBER_NAMES_H

/* clang-format off */
#define MEMBER_RENAMED(ROW) \
    ROW("client_id", "provider.client_id") \
    ROW("client_secret", "provider.client_secret") \
    ROW("scopes", "provider.scopes") \
    ROW("email_addresses", "provider.email_addresses") \
    ROW("email_domains", "provider.email_domains") \
    ROW("teams", "provider.teams") \
    ROW("organizations", "provider.organizations") \
    ROW("certificate_authority_ids", "certificate_authorities")
#define MEMBER_LEFT_OUT(ROW) \
    ROW("client_secret_key_id") \
    ROW("fingerprint") \
    ROW("key_type")
#define MEMBER_UNCHOSEN "id,key_type,fingerprint,revision,edge_id,route_id,client_secret_key_id"
#define MEMBER_UNSEEN "revision,client_secret_key_id"
/* clang-format on */

#endif
