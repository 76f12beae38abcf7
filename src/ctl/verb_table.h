/* SPDX-License-Identifier: MIT */
/* The verbs and options of aditctl: one row each.  The command line, the help, the prototypes in
 * ctl/ctl.h and struct ctl_options come from these rows.
 *
 * VERB(words, handler, options, argument, role, summary)
 *     words     what the operator types: a noun and a verb, or one word
 *     handler   the function, defined in a file of src/ctl/
 *     options   the letters of its options; every verb also takes -c, -j and -h
 *               '!' behind a letter: it does not work without that option
 *     argument  the word that follows, two words with a space between them, or NULL; "[A]" may be
 *               left out; "a|b" lists the words to choose from
 *     role      OWNER connects with admin_conninfo, RESPONDER with conninfo
 *     summary   its line of help; begins with a verb in lower case
 *
 * TEXT_OPTION(letter, name, value, member, help) takes a value, FLAG_OPTION(letter, name, member,
 * help) takes none.  The member belongs to struct ctl_options.
 *
 * tests/man-guard compares the rows with man/aditctl.8, tests/guards checks the letters.  A file
 * that includes this one defines the macros that it needs.
 */
#include "ctl/front_table.h"
#include "model/key_kind_table.h"

#ifndef VERB
#define VERB(words, handler, options, argument, role, summary)
#endif
#ifndef TEXT_OPTION
#define TEXT_OPTION(letter, name, value, member, help)
#endif
#ifndef FLAG_OPTION
#define FLAG_OPTION(letter, name, member, help)
#endif
/* The rows of the kinds of API key are in their own table. */
#define KEY_KIND_OPTION(with, symbol, word, scope, reads, writes, asks, letter, member, error,     \
                        help)                                                                      \
    FLAG_OPTION(letter, word, member, help)
/* clang-format off */

VERB("migrate",        ctl_migrate,         "w",    NULL,     OWNER,     "create the database schema, or bring it up to date")
VERB("account create", ctl_account_create,  "ny",   NULL,     OWNER,     "create an account and print its id")
VERB("account list",   ctl_account_list,    "",     NULL,     OWNER,     "list the accounts")
VERB("account rename", ctl_account_rename,  "n!",   "ACCOUNT-ID", OWNER, "give an account another name")
VERB("account delete", ctl_account_delete,  "",     "ACCOUNT-ID", OWNER, "delete an account that is empty")
VERB("user create",    ctl_user_create,     "anA",  NULL,     OWNER,     "create a User and print its id")
VERB("user list",      ctl_user_list,       "",     NULL,     OWNER,     "list the Users, each with its number of valid keys")
VERB("user show",      ctl_user_show,       "",     "USER-ID", OWNER, "show a User: its account, credentials and keys")
VERB("user rename",    ctl_user_rename,     "n!",   "USER-ID", OWNER, "give a User another name")
VERB("user disable",   ctl_user_disable,    "Wy",   "USER-ID", OWNER, "refuse all keys of a User, from the next request on")
VERB("user enable",    ctl_user_enable,     "",     "USER-ID", OWNER, "accept the keys of a User again")
VERB("user delete",    ctl_user_delete,     "GWy",  "USER-ID", OWNER, "delete a User and its keys")
VERB("bot create",     ctl_bot_create,      "anA",  NULL,     OWNER,     "create a Bot and print its id")
VERB("bot list",       ctl_bot_list,        "",     NULL,     OWNER,     "list the Bots, each with its number of valid keys")
VERB("bot show",       ctl_bot_show,        "",     "BOT-ID", OWNER, "show a Bot: its account, credentials and keys")
VERB("bot rename",     ctl_bot_rename,      "n!",   "BOT-ID", OWNER, "give a Bot another name")
VERB("bot disable",    ctl_bot_disable,     "Wy",   "BOT-ID", OWNER, "refuse all keys of a Bot, from the next request on")
VERB("bot enable",     ctl_bot_enable,      "",     "BOT-ID", OWNER, "accept the keys of a Bot again")
VERB("bot delete",     ctl_bot_delete,      "GWy",  "BOT-ID", OWNER, "delete a Bot and its keys")
VERB("key issue",      ctl_key_issue,       "afrOegd", NULL,   OWNER,     "issue an API key and print it, this once")
VERB("key list",       ctl_key_list,        "f",    NULL,     OWNER,     "list the API keys, without their secrets")
VERB("key revoke",     ctl_key_revoke,      "af",   "[KEY-ID]", OWNER,   "revoke an API key, or all of a User or Bot, from the next request on")
VERB("permits",        ctl_permits,         "a",    "KEY TARGET", RESPONDER, "say whether the rules of a key permit a target, and which")
VERB("who",            ctl_who,             "a",    "TARGET", RESPONDER, "list the credentials whose rules permit a target")
VERB("session list",   ctl_session_list,    "",     NULL,     RESPONDER, "list the SSH sessions that the gateway of this machine let in")
VERB("session end",    ctl_session_end,     "",     "PID",    RESPONDER, "end an SSH session; its key may log in again")
VERB("secrets init",   ctl_secrets_init,    "",     NULL,     OWNER,     "create the key file that the settings name")
VERB("secrets add-key", ctl_secrets_add_key, "",    NULL,     OWNER,     "add a key to the key file and seal with it from now on")
VERB("secrets rekey",  ctl_secrets_rekey,   "",     NULL,     OWNER,     "seal every secret under the first key of the key file")
VERB("export",         ctl_export,          "ao",   NULL,     OWNER,     "print accounts, credentials and modules as one document")
VERB("history",        ctl_history,         "aSb",  "[RESOURCE]", OWNER, "list changes: who made each, when, what differs; ids may have gaps")
VERB("restore",        ctl_restore,         "atESbNFiy", "[RESOURCE]", OWNER, "restore resources to an earlier state, including deleted ones")
VERB("diff",           ctl_diff,            "axNlv",  "FILE",   OWNER,     "list what 'apply' would change; exit 1 if anything")
VERB("apply",          ctl_apply,           "aixyNlv","FILE",   OWNER,     "make the database as FILE says, all or nothing")
VERB("purge",          ctl_purge,           "k",    NULL,     RESPONDER, "remove Idempotency-Keys older than a day")
VERB("openapi",        ctl_openapi,         "",     "FILE",   OWNER,     "print the OpenAPI document FILE with the names of this deployment")
VERB("doctor",         ctl_doctor,          "s",    NULL,     RESPONDER, "check settings, key file, database, schema, rights, clock, gateway and gate")
VERB("web-server",     ctl_web_server,      "pDKsPL", WEB_SERVER_KINDS, OWNER, "print the configuration for a web server")
VERB("gateway-config", ctl_gateway_config,  "aumCRUBs", GATEWAY_KINDS, OWNER, "print the configuration for a gateway")

TEXT_OPTION('a', "account",     "ID",    account,     "account to look in or to keep to (default: all), or to create in (default: the only one)")
TEXT_OPTION('o', "owner",       "ID",    owner,       "only this User or Bot and its credentials")
FLAG_OPTION('i', "dry-run",              dry_run,     "print what would change, and change nothing")
FLAG_OPTION('x', "prune",                prune,       "also delete what the file does not have, within the lists that it has")
FLAG_OPTION('y', "yes",                  yes,         "do not ask")
TEXT_OPTION('n', "name",        "TEXT",  name,        "name to show in lists")
FLAG_OPTION('A', "admin",                is_admin,    "may create SSH credentials for other Users and Bots")
TEXT_OPTION('f', "for",         "ID",    holder,      "User or Bot that holds the keys (default: issue: the only one, list: all)")
TEXT_OPTION('G', "give-to",     "ID",    heir,        "User or Bot that gets the SSH credentials")
FLAG_OPTION('W', "with-credentials",     with_credentials, "also delete the SSH credentials that it owns")
KEY_LIMITED_KINDS(KEY_KIND_OPTION, )
TEXT_OPTION('e', "expires",     "TIME",  expires,     "expire after TIME: a number and s, m, h, d or w, such as 90d")
TEXT_OPTION('d', "description", "TEXT",  description, "purpose of the key, to show in lists")
TEXT_OPTION('k', "audit-days",  "DAYS",  audit_days,  "also remove changes recorded over DAYS days ago (as the tables' owner)")
TEXT_OPTION('t', "at",          "TIME",  at,          "make it as it was at TIME: RFC 3339, a day, or how long ago, such as 2h")
TEXT_OPTION('E', "event",       "ID",    event,       "undo this change, which 'history' shows, and all later ones")
TEXT_OPTION('S', "since",       "TIME",  since,       "only changes since TIME: RFC 3339, a day, or how long ago, such as 2h")
TEXT_OPTION('b', "by",          "ID",    by,          "only changes by this User, Bot, API key, or system user of aditctl")
FLAG_OPTION('N', "enable",               enables,     "restore a User or Bot enabled; also create credentials for one that is disabled")
TEXT_OPTION('l', "secret-files", "FOLDER", secret_files, "folder of the files that FILE may take client secrets from (default: none)")
TEXT_OPTION('v', "secret-env",  "PREFIX", secret_env,  "beginning of the variables that FILE may take client secrets from (default: none)")
TEXT_OPTION('F', "client-secret-file", "FILE", client_secret_file, "file with the client secret to store, if the old one is gone")
TEXT_OPTION('w', "wait",        "TIME",  wait,        "stop waiting for locks of other sessions after TIME (default: 5m)")
TEXT_OPTION('p', "prefix",      "/PATH", prefix,      "path of the interface (default: the root of the host)")
TEXT_OPTION('D', "docs",        "PATH",  docs,        "folder of the API reference (default: " ADIT_DOCS_PATH ")")
TEXT_OPTION('K', "console",     "PATH",  console,     "folder of the console (default: " ADIT_CONSOLE_PATH ")")
TEXT_OPTION('s', "socket",      "PATH",  socket,      "unix socket of the responder (default: " ADIT_SOCKET_PATH "), or of adit-gate (default: " ADIT_GATE_SOCKET_PATH ")")
TEXT_OPTION('P', "program",     "PATH",  program,     "path of adit.fcgi (default: " ADIT_PROGRAM_PATH ")")
FLAG_OPTION('L', "no-limits",            no_limits,   "print no limits for the requests of a client")
TEXT_OPTION('u', "user",        "NAME",  user,        "system user that clients log in as (default: tunnel)")
TEXT_OPTION('m', "domain",      "NAME",  domain,      "domain of tunnels or edges (default: none; an edge's name is its id)")
TEXT_OPTION('C', "certificates", "PATH", certificates, "folder of the edges' server certificates (default: /etc/adit/certificates)")
TEXT_OPTION('R', "route",       "EDGE/ROUTE", route,  "route of an HTTPS edge whose OAuth module is to be obeyed")
TEXT_OPTION('U', "url",         "URL",   url,         "address of the route's host for browsers, such as https://app.example.com")
TEXT_OPTION('B', "application", "HOST:PORT", application, "application behind the route (default: 127.0.0.1:3000)")
TEXT_OPTION('c', "conf",        "FILE",  conf_path,   "settings (default: $ADIT_CONF, DIR/etc/adit.conf for DIR/bin/aditctl, or " ADIT_CONF_PATH ")")
FLAG_OPTION('j', "json",                 json,        "print one JSON value, for programs")
FLAG_OPTION('h', "help",                 help,        "print this help")
FLAG_OPTION('T', "print-settings",       print_settings, "print a settings file with every setting and its default")
FLAG_OPTION('Q', "effective",            is_effective, "with --print-settings: as each setting is in effect, and where it is set; without passwords")
FLAG_OPTION('V', "version",              version,     "print the version")

/* clang-format on */
#undef VERB
#undef TEXT_OPTION
#undef FLAG_OPTION
#undef KEY_KIND_OPTION
