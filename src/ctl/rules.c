/* SPDX-License-Identifier: MIT */
/* aditctl permits and who: what the stored rules let keys bind. */
#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "ctl/listing.h"
#include "ctl/open_file.h"
#include "ctl/progress.h"
#include "ctl/terminal.h"
#include "model/acl.h"
#include "model/key_scan.h"
#include "model/public_key.h"
#include "store/credential_page.h"

/* ---- the target ---- */

/* Returns CTL_OK, or CTL_USAGE after a message with the forms. */
static int check_target_word(const char *text)
{
    struct acl_target target;
    const char *why;
    const char *own = strncmp(text, "bind:", 5) == 0 ? text + 5 : NULL;

    if (acl_target_read(text_of(text), &target, &why))
        return CTL_OK;
    if (own && acl_target_read(text_of(own), &target, &why))
        return ctl_misuse("'%s' is a rule; give its target, without 'bind:': %s", text, own);
    if (strstr(text, "://"))
        return ctl_misuse("'%s' is a URL; give its host, or its host and port", text);
    return ctl_misuse("'%s' is not a target: %s. A target is <domain>, *.<domain>, <host>:<port> "
                      "or <key>=<value>",
                      text, why);
}

/* ---- the key ---- */

/* Reads until the end or until the buffer is full.  Returns the number of bytes, or -1 with errno.
 */
static ssize_t read_all(int fd, char *buffer, size_t size)
{
    size_t len = 0;

    while (len < size) {
        ssize_t n = read(fd, buffer + len, size - len);

        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return -1;
        if (n == 0)
            break;
        len += (size_t)n;
    }
    return (ssize_t)len;
}

/* Reads the public key in a file.  The file may be a private key: no message shows a part of it. */
static int read_public_key(int fd, const char *path, struct public_key *key)
{
    char text[PUBLIC_KEY_MAX + 1];
    ssize_t len = read_all(fd, text, sizeof text);
    const char *reason = NULL;
    int status = CTL_OK;

    if (len < 0)
        status = ctl_fail("%s: cannot read: %s", path, strerror(errno));
    else if (key_scan_private((struct text){text, (size_t)len}))
        status = ctl_fail(
            "%s holds a private key; give its public key, which is usually in FILE.pub", path);
    else if (!public_key_read((struct text){text, (size_t)len}, key, &reason))
        status = ctl_fail("%s %s", path, reason ? reason : "cannot be read: out of memory");
    explicit_bzero(text, sizeof text);
    return status;
}

/* Sets *key's fingerprint to the one that the word is or that the file's key has.  Returns CTL_OK,
 * or the exit status after a message. */
static int choose_key(const char *word, struct public_key *key)
{
    bool is_input = strcmp(word, "-") == 0;
    int status;
    int fd;

    if (public_key_fingerprint_valid(text_of(word))) {
        memcpy(key->fingerprint, word, sizeof key->fingerprint);
        return CTL_OK;
    }
    fd = is_input ? STDIN_FILENO : ctl_open_file(word);
    if (fd < 0 && (strchr(word, ' ') || strchr(word, '\n')))
        return ctl_misuse("the key is neither a fingerprint nor a file; to give the key itself, "
                          "write it to standard input and give '-'");
    if (fd < 0)
        return ctl_misuse("'%s' is neither a fingerprint, SHA256: and 43 characters of base64 as "
                          "'ssh-keygen -lf FILE' shows it, nor a file: %s",
                          word, strerror(errno));
    status = read_public_key(fd, is_input ? "standard input" : word, key);
    if (!is_input)
        close(fd);
    return status;
}

/* ---- the credentials ---- */

/* A rule for a domain fits. */
#define OPENING_RULE_SIZE 320

/* What is asked, and what was found. */
struct search {
    struct text target;
    struct text name; /* absent, or the target's host: a gateway opens a domain on its port */
    bool lists_names; /* also list credentials that permit only the name */
    int64_t n_seen;
    int64_t n_uncounted;    /* not among those */
    struct listing_out out; /* opened for the first row */
    struct progress progress;
    char opening_rule[OPENING_RULE_SIZE]; /* the last that permits the name */
};

enum column { COLUMN_ID, COLUMN_ACCOUNT, COLUMN_OWNER, COLUMN_FINGERPRINT, COLUMN_RULE, N_COLUMNS };

/* An identifier has at most 33 characters. */
static const struct listing_column columns[N_COLUMNS] = {
    [COLUMN_ID] = {"ID", "id", LISTING_TEXT, 33},
    [COLUMN_ACCOUNT] = {"ACCOUNT", "account_id", LISTING_TEXT, 30},
    [COLUMN_OWNER] = {"OWNER", "owner_id", LISTING_TEXT, 31},
    [COLUMN_FINGERPRINT] = {"FINGERPRINT", "fingerprint", LISTING_TEXT,
                            PUBLIC_KEY_FINGERPRINT_SIZE - 1},
    [COLUMN_RULE] = {"RULE", "rule", LISTING_TEXT, 0},
};

static const struct listing listing = {"credentials", columns, N_COLUMNS};

/* Prints a credential that permits the target, with the rule that does. */
static void print_credential(struct search *search, const struct ctl *ctl,
                             const struct pg_result *result, int row, struct text rule)
{
    const struct text cells[N_COLUMNS] = {
        [COLUMN_ID] = pg_text(result, row, CREDENTIAL_PAGE_ID),
        [COLUMN_ACCOUNT] = pg_text(result, row, CREDENTIAL_PAGE_ACCOUNT_ID),
        [COLUMN_OWNER] = pg_text(result, row, CREDENTIAL_PAGE_OWNER_ID),
        [COLUMN_FINGERPRINT] = pg_text(result, row, CREDENTIAL_PAGE_FINGERPRINT),
        [COLUMN_RULE] = rule.s || ctl->options.json ? rule : text_of("no rules"),
    };

    progress_erase(&search->progress);
    if (search->out.n_rows == 0)
        listing_open(&search->out, ctl, &listing);
    listing_add(&search->out, cells);
}

/* Finds the rule that permits the name, but for a wildcard that a gateway leaves out. */
static bool find_opening_rule(const struct search *search, struct text_list rules,
                              struct text *rule)
{
    struct acl_target read;
    const char *why;

    return search->name.s && acl_permitting(rules, search->name, rule) &&
           acl_rule_read(*rule, &read, &why) &&
           !(read.any_below && domain_ends_in_number(read.name));
}

static bool judge_page(struct search *search, const struct ctl *ctl, const struct pg_result *result,
                       struct error *err)
{
    struct arena arena = {0};
    bool judged = true;

    for (int row = 0; row < pg_rows(result) && judged; row++) {
        struct text_list rules;
        struct text rule;

        if (!pg_bool(result, row, CREDENTIAL_PAGE_COUNTS)) {
            search->n_uncounted++;
            continue;
        }
        arena_reset(&arena);
        judged = pg_texts(result, row, CREDENTIAL_PAGE_ACL, &arena, &rules) ||
                 error_set(err, ERR_OUT_OF_MEMORY);
        search->n_seen++;
        if (!judged)
            break;
        if (acl_permitting(rules, search->target, &rule) ||
            (search->lists_names && find_opening_rule(search, rules, &rule)))
            print_credential(search, ctl, result, row, rule);
        else if (find_opening_rule(search, rules, &rule))
            snprintf(search->opening_rule, sizeof search->opening_rule, "%.*s", (int)rule.len,
                     rule.s);
    }
    arena_free(&arena);
    progress_show(&search->progress, search->n_seen + search->n_uncounted);
    return judged;
}

/* Judges the credentials page by page: there may be many. */
static bool judge_all(struct ctl *ctl, struct search *search, struct credential_page page,
                      struct error *err)
{
    struct pg_result *last = NULL;
    bool judged = false;
    int n;

    do {
        struct pg_result *result;

        judged = credential_page_read(ctl->pg, &page, &result, err);
        /* The page names texts of the result before. */
        pg_result_free(last);
        if (!judged)
            return false;
        last = result;
        n = pg_rows(result);
        judged = judge_page(search, ctl, result, err);
        if (n > 0) {
            page.after_account_id = pg_text(result, n - 1, CREDENTIAL_PAGE_ACCOUNT_ID);
            page.after_id = pg_text(result, n - 1, CREDENTIAL_PAGE_ID);
        }
    } while (judged && n == CREDENTIAL_PAGE_SIZE);
    pg_result_free(last);
    return judged;
}

/* Prints the credentials that permit the target.  Returns CTL_OK, or the exit status after a
 * message. */
static int search_credentials(struct ctl *ctl, struct search *search, const char *fingerprint)
{
    struct credential_page page = {
        .account_id = text_of(ctl->options.account),
        .fingerprint = text_of(fingerprint),
    };
    bool has_owners = true;
    struct error err;
    bool judged;

    if (page.account_id.s &&
        !credential_page_has_owners(ctl->pg, page.account_id, &has_owners, &err))
        return ctl_fail_error(&err);
    if (!has_owners)
        return ctl_fail("there is no account with the id '%s', or it has no User and no Bot; "
                        "'aditctl account list' shows the ids",
                        page.account_id.s);
    progress_start(&search->progress, ctl, "credentials read", 0);
    judged = judge_all(ctl, search, page, &err);
    progress_erase(&search->progress);
    return judged ? CTL_OK : ctl_fail_error(&err);
}

/* ---- the verbs ---- */

/* Returns the host of an address if a gateway opens domains on the address's port.  Otherwise the
 * text is absent. */
static struct text name_on_domain_port(const struct ctl *ctl, struct text text)
{
    const struct ssh_domain_ports *ports = &ctl->conf.gateway.domain_ports;
    bool opens = ports->any;
    struct acl_target target;
    const char *why;

    if (!acl_target_read(text, &target, &why) || target.kind != ACL_ADDRESS || target.is_ipv6)
        return (struct text){0};
    for (size_t i = 0; i < ports->n; i++)
        opens = opens || ports->ports[i] == target.port;
    return opens ? target.name : (struct text){0};
}

/* Prints the sentence that no credential permits the target. */
static void print_refusal(const struct search *search, const char *fingerprint)
{
    struct buf line = {0};
    struct buf plain = {0};

    if (search->n_seen == 0)
        buf_printf(&line, "not permitted: no credential has the key %s", fingerprint);
    else
        buf_printf(&line, "not permitted: %lld credential%s the key %s, and no rule permits %s",
                   (long long)search->n_seen, search->n_seen == 1 ? " has" : "s have", fingerprint,
                   search->target.s);
    if (search->opening_rule[0])
        buf_printf(
            &line,
            "; but the rule '%s' permits the name %.*s, which adit-gateway opens on this port",
            search->opening_rule, (int)search->name.len, search->name.s);
    if (search->n_uncounted > 0)
        buf_printf(&line, "; %lld more do%s not count: paused, or superseded by another owner's",
                   (long long)search->n_uncounted, search->n_uncounted == 1 ? "es" : "");
    terminal_put(&plain, buf_text(&line));
    puts(line.failed || plain.failed ? "out of memory" : plain.data);
    buf_free(&line);
    buf_free(&plain);
}

/* Ends the list, which may have no rows. */
static void close_list(const struct ctl *ctl, struct search *search,
                       const struct listing_fact *facts, int n_facts)
{
    if (search->out.n_rows == 0)
        listing_open(&search->out, ctl, &listing);
    listing_close(&search->out, facts, n_facts);
}

int ctl_permits(struct ctl *ctl)
{
    struct search search = {.target = text_of(ctl->options.second_argument)};
    char number[LISTING_NUMBER_SIZE];
    struct public_key key;
    int status = check_target_word(search.target.s);

    search.name = name_on_domain_port(ctl, search.target);
    if (status == CTL_OK)
        status = choose_key(ctl->options.argument, &key);
    if (status == CTL_OK)
        status = search_credentials(ctl, &search, key.fingerprint);
    if (status != CTL_OK)
        return status == CTL_FAILED ? CTL_CANNOT_TELL : status;
    if (ctl->options.json) {
        const char *opening = search.opening_rule[0] ? search.opening_rule : NULL;
        const struct listing_fact facts[] = {
            {"permitted", LISTING_BOOL, text_of(search.out.n_rows > 0 ? "yes" : "no")},
            {"fingerprint", LISTING_TEXT, text_of(key.fingerprint)},
            {"credentials_with_key", LISTING_NUMBER, listing_number(number, search.n_seen)},
            {"rule_for_name", LISTING_TEXT, text_of(opening)},
        };

        status = search.out.n_rows > 0 ? CTL_OK : CTL_NO;
        close_list(ctl, &search, facts, 4);
        return status;
    }
    if (search.out.n_rows > 0)
        return CTL_OK;
    print_refusal(&search, key.fingerprint);
    return CTL_NO;
}

int ctl_who(struct ctl *ctl)
{
    struct search search = {.target = text_of(ctl->options.argument), .lists_names = true};
    int status = check_target_word(search.target.s);

    search.name = name_on_domain_port(ctl, search.target);
    if (status == CTL_OK)
        status = search_credentials(ctl, &search, NULL);
    if (status == CTL_OK)
        close_list(ctl, &search, NULL, 0);
    return status;
}
