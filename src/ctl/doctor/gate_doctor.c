/* SPDX-License-Identifier: MIT */
/* aditctl doctor: the checks of adit-gate. */
#include <errno.h>
#include <pwd.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/wait.h"
#include "crypt/certificate.h"
#include "ctl/doctor/doctor.h"
#include "ctl/gate_ask.h"
#include "ctl/open_file.h"
#include "ctl/secret_file.h"
#include "store/account.h"
#include "store/gate.h"
#include "store/gate_review.h"
#include "store/schema.h"

/* The system user that the package makes and the unit names. */
#define GATE_USER "adit-gate"

/* Bytes of a file of authorities that are read.  A system's have some 200 KB. */
#define AUTHORITIES_MAX (16 * 1024 * 1024)

struct checked {
    struct findings *findings;
    const struct ctl *ctl;
    struct pg *pg;      /* as the gate; NULL: it cannot connect */
    struct pg *reader;  /* for what a responder may read too; NULL: none */
    struct arena arena; /* of rows */
    int n_accounts;     /* that [gate] means: 0, 1, 2 for several, -1: unknown */
};

bool gate_doctor_is_due(const struct ctl *ctl)
{
    return ctl->options.socket || machine_may_be_there(ADIT_GATE_SOCKET_PATH) ||
           conf_has_gate(&ctl->conf) || machine_starts_at_boot("adit-gate.service") ||
           machine_starts_at_boot("adit-gate.socket");
}

/* ---- the account ---- */

static void count_accounts(struct checked *checked, bool has_responder)
{
    const struct gate_question question = {
        .account_id = text_of(checked->ctl->conf.gate.account),
        .route = {text_of("aditctl-doctor"), text_of("aditctl-doctor")},
        .session_ids = {.given = true}};
    struct gate_answer answer;
    char only[IDENT_SIZE];
    struct error err = {.code = ERR_NONE};
    int n;

    if (checked->pg && store_gate_ask(checked->pg, &question, &checked->arena, &answer, &err))
        checked->n_accounts = answer.n_accounts;
    if (checked->n_accounts >= 0 || !has_responder || question.account_id.len > 0)
        return;
    err.code = ERR_NONE;
    if (account_find_only(checked->ctl->pg, only, &n, &err))
        checked->n_accounts = 1;
    else if (err.code == ERR_NONE)
        checked->n_accounts = n;
}

static void check_gate_account(struct checked *checked)
{
    const char *account = checked->ctl->conf.gate.account;

    if (checked->n_accounts == 0 && account[0])
        doctor_trouble(checked->findings, "account",
                       "account %s of [gate] does not exist, so nobody passes; correct the setting",
                       account);
    else if (checked->n_accounts == 0)
        doctor_trouble(checked->findings, "account",
                       "there is no account; run: aditctl account create --name NAME");
    else if (checked->n_accounts > 1)
        doctor_line(checked->findings, "note", "account",
                    "there are several accounts, and the setting account of [gate] is empty; each "
                    "web server's configuration must name one: aditctl gateway-config --account");
}

/* ---- the program ---- */

/* Asks at the socket, or else at Apache's port. */
static int ask_gate(const struct ctl *ctl, const char **place, const char **why)
{
    const char *given = ctl->options.socket;
    const char *account = ctl->conf.gate.account;
    const char *path = given ? given : ADIT_GATE_SOCKET_PATH;
    const char *port_why;
    int status = gate_ask(path, account, why);

    *place = path;
    if (status > 0 || given || machine_may_be_there(path))
        return status;
    status = gate_ask(NULL, account, &port_why);
    if (status > 0)
        *place = GATE_ASK_PLACE;
    return status;
}

void gate_doctor_learn(const struct ctl *ctl, struct doctor_learned *learned)
{
    learned->gate_why = "";
    learned->gate_status = ask_gate(ctl, &learned->gate_place, &learned->gate_why);
}

/* Apache's port asks nobody who connects.  If root has asked there already, this process is another
 * user, and no web server either. */
static void check_who_asks(struct checked *checked, const char *place)
{
    const char *why;

    if (strcmp(place, GATE_ASK_PLACE) != 0 ||
        (geteuid() != 0 && gate_ask(NULL, checked->ctl->conf.gate.account, &why) == 0))
        return;
    doctor_line(checked->findings, "note", "gate",
                "%s: other users than the web server's may connect to " GATE_ASK_PLACE
                ", and say there which address a visitor has; see adit-gate(8)",
                geteuid() == 0 ? "unless a firewall keeps them out" : "no firewall keeps them out");
}

static void check_program(struct checked *checked)
{
    struct findings *findings = checked->findings;
    const char *account = checked->ctl->conf.gate.account;
    const struct doctor_learned *learned = findings->learned;
    const char *place;
    const char *why = "";
    bool is_known = learned && learned->gate_place;
    int status;

    if (is_known) {
        place = learned->gate_place;
        why = learned->gate_why;
        status = learned->gate_status;
    } else {
        status = ask_gate(checked->ctl, &place, &why);
    }

    if (status == 503 && checked->n_accounts > 1 && !account[0])
        doctor_line(findings, "note", "gate",
                    "adit-gate answers 503 at %s where the web server names no account; if it "
                    "should not, see its log: journalctl -u adit-gate",
                    place);
    else if (status >= 500)
        doctor_trouble(findings, "gate",
                       "adit-gate answers %d at %s, so nobody passes; see its log: journalctl -u "
                       "adit-gate",
                       status, place);
    else if (status > 0)
        doctor_line(findings, "ok", "gate", "adit-gate decides at %s", place);
    else if (is_known || geteuid() == 0 || checked->ctl->options.socket ||
             !machine_may_be_there(place))
        doctor_trouble(findings, "gate",
                       "cannot ask adit-gate at %s: %s; to start it, run: systemctl start "
                       "adit-gate.socket adit-gate",
                       place, why);
    else
        doctor_line(findings, "note", "gate", "not checked: %s: %s", place, why);
    if (status > 0)
        check_who_asks(checked, place);
}

/* ---- the secrets of applications ---- */

static void bad_reader(struct checked *checked, const char *path, const char *what,
                       const char *command)
{
    doctor_trouble(checked->findings, "provider", "%s: %s; run: %s %s", path, what, command, path);
}

/* The gate's user, or its group, and root may read the file.  Nobody else may. */
static bool check_readers(struct checked *checked, const char *path, const struct stat *status)
{
    const struct passwd *gate = getpwnam(GATE_USER);
    bool is_owner = gate && status->st_uid == gate->pw_uid;
    bool is_group = gate && status->st_gid == gate->pw_gid;
    bool group_reads = status->st_mode & (S_IRGRP | S_IWGRP);
    const int before = checked->findings->n_troubles;

    if (status->st_mode & (S_IROTH | S_IWOTH))
        bad_reader(checked, path, "others may read or write it", "chmod o=");
    if (!gate) /* started in another way */
        return checked->findings->n_troubles == before;
    if (!is_owner && status->st_uid != 0)
        bad_reader(checked, path, "it belongs to a user other than root and " GATE_USER,
                   "chown root");
    if (group_reads && !is_group && status->st_gid != 0)
        bad_reader(checked, path, "its group may read or write it, and is not " GATE_USER,
                   "chgrp " GATE_USER);
    else if (!(is_owner && (status->st_mode & S_IRUSR)) &&
             !(is_group && (status->st_mode & S_IRGRP)))
        bad_reader(checked, path, "adit-gate may not read it",
                   is_group ? "chmod 640" : "chgrp " GATE_USER);
    return checked->findings->n_troubles == before;
}

static void check_secret_file(struct checked *checked, int position, const char *path)
{
    const char *name = checked->ctl->conf.provider_names[position - 1];
    char reason[SECRET_REASON_SIZE];
    struct text secret;
    struct stat status;

    if (stat(path, &status) != 0 && errno == EACCES)
        doctor_line(checked->findings, "note", "provider", "not checked: %s: %s", path,
                    strerror(errno));
    else if (stat(path, &status) != 0)
        doctor_trouble(checked->findings, "provider",
                       "%s: %s; write the client secret of [provider.%s] into it", path,
                       strerror(errno), name);
    else if (!check_readers(checked, path, &status))
        return;
    else if (access(path, R_OK) != 0)
        doctor_line(checked->findings, "note", "provider",
                    "%s: not checked whether it has a secret: only root and adit-gate may read it",
                    path);
    else if (!secret_file_read(path, &checked->arena, &secret, reason))
        doctor_trouble(checked->findings, "provider", "%s, which %s", path, reason);
    else
        doctor_line(checked->findings, "ok", "provider",
                    "[provider.%s] has an application at %s for modules that name none", name,
                    identity_provider_at(position)->title);
    arena_reset(&checked->arena);
}

/* A name that people know as another provider's would select the wrong one. */
static void check_provider_name(struct checked *checked, int position)
{
    const char *name = checked->ctl->conf.provider_names[position - 1];
    int called = identity_provider_called(text_of(name));

    if (called > 0 && called != position)
        doctor_trouble(checked->findings, "provider",
                       "the setting providers calls %s '%s'; write the names in the order of "
                       "adit.conf(5)",
                       identity_provider_at(position)->title, name);
}

static void check_applications(struct checked *checked)
{
    const struct conf *conf = &checked->ctl->conf;

    for (size_t i = 0; i < OAUTH_N_PROVIDERS; i++) {
        const struct conf_provider *provider = &conf->oauth_providers[i];

        check_provider_name(checked, (int)i + 1);
        if (!provider->client_id[0] != !provider->client_secret_file[0])
            doctor_trouble(checked->findings, "provider",
                           "[provider.%s] has no %s, so adit-gate does not start; set both or none",
                           conf->provider_names[i],
                           provider->client_id[0] ? "client_secret_file" : "client_id");
        else if (provider->client_id[0])
            check_secret_file(checked, (int)i + 1, provider->client_secret_file);
    }
}

/* ---- the authorities of providers ---- */

/* Returns NULL, or why the file has no certificate.  What was left out is in *found. */
static const char *find_fault(const char *path, struct buf *pem, struct crypt_certificates *found)
{
    struct buf taken = {0};
    enum crypt_certificates_result result;
    int fd = ctl_open_file(path);
    ssize_t n = 1;

    if (fd < 0)
        return strerror(errno);
    while (n > 0 && pem->len < AUTHORITIES_MAX) {
        char *room = buf_room(pem, BUFSIZ);

        n = room ? read(fd, room, BUFSIZ) : 0;
        pem->len += n > 0 ? (size_t)n : 0;
    }
    close(fd);
    if (n < 0 || pem->failed)
        return strerror(n < 0 ? errno : ENOMEM);
    result = crypt_certificates_take(pem->data ? pem->data : "", pem->len, &taken, found);
    buf_free(&taken);
    if (result != CRYPT_CERTIFICATES_READ)
        return "it is not PEM, or damaged";
    return found->n_taken + found->n_others > found->n_unread ? NULL : "it has no certificate";
}

static void check_authorities(struct checked *checked)
{
    const char *path = checked->ctl->conf.gate.ca_file;
    struct crypt_certificates found = {0};
    struct buf pem = {0};
    const char *fault;

    if (!path[0])
        return;
    if (access(path, R_OK) != 0 && errno == EACCES) {
        doctor_line(checked->findings, "note", "provider",
                    "not checked: ca_file %s: this user may not read it", path);
        return;
    }
    fault = find_fault(path, &pem, &found);
    buf_free(&pem);
    if (found.n_unread > 0)
        doctor_trouble(checked->findings, "provider",
                       "ca_file %s: %zu certificates are not read: BEGIN is not at the start of "
                       "its line; remove what is in front of it",
                       path, found.n_unread);
    if (fault)
        doctor_trouble(checked->findings, "provider",
                       "ca_file %s: %s, so nobody can sign in; put the authorities' certificates "
                       "into it, as PEM",
                       path, fault);
}

/* ---- rows ---- */

/* Returns what to do about it, as the end of a line, static. */
static const char *remedy_of(const struct oauth_admission *admission)
{
    enum oauth_flaw flaw = admission->flaw;

    for (size_t i = 0; flaw == OAUTH_FLAW_NONE && i < OAUTH_N_LISTS; i++)
        flaw = admission->lists[i].flaw;
    switch (flaw) {
    case OAUTH_FLAW_UNVERIFIED:
    case OAUTH_FLAW_NO_TEAMS:
        return "; choose another provider";
    case OAUTH_FLAW_SCOPE:
        return "; add one of them, or leave the module's scopes empty";
    case OAUTH_FLAW_NONE:
        return "; if it should not be open to everybody, fill in one of its lists";
    case OAUTH_FLAW_NO_PROVIDER:
    case OAUTH_FLAW_NO_APPLICATION:
        break;
    }
    return "";
}

/* A module without a provider is closed on purpose, and one that is open may be open on purpose. */
static void name_reviewed(struct checked *checked, const struct gate_reviewed *item)
{
    const struct oauth_admission *admission = &item->admission;
    const bool is_trouble =
        admission->whom == OAUTH_ADMITS_NOBODY && admission->flaw != OAUTH_FLAW_NO_PROVIDER;
    struct buf text = {0};

    oauth_admission_say(&text, admission);
    if (admission->flaw == OAUTH_FLAW_NO_APPLICATION)
        buf_printf(&text,
                   "; PUT it with one, or set client_id and client_secret_file in [provider.%s]",
                   checked->ctl->conf.provider_names[admission->provider - 1]);
    buf_puts(&text, remedy_of(admission));
    if (is_trouble)
        doctor_trouble(checked->findings, "routes", "account %s, edge %s, route %s: %s",
                       item->account_id.s, item->edge_id.s, item->route_id.s, buf_text(&text).s);
    else
        doctor_line(checked->findings, "note", "routes", "account %s, edge %s, route %s: %s",
                    item->account_id.s, item->edge_id.s, item->route_id.s, buf_text(&text).s);
    buf_free(&text);
}

static void check_routes(struct checked *checked)
{
    const struct conf *conf = &checked->ctl->conf;
    enum oauth_application applications[OAUTH_N_PROVIDERS];
    struct gate_review review;
    struct error err = {.code = ERR_NONE};

    for (size_t i = 0; i < OAUTH_N_PROVIDERS; i++)
        applications[i] = conf->oauth_providers[i].client_id[0] ? OAUTH_APPLICATION_THERE
                                                                : OAUTH_APPLICATION_MISSING;
    if (!checked->reader) {
        doctor_line(checked->findings, "note", "routes", "not checked: first mend the database");
        return;
    }
    if (!store_gate_review(checked->reader, applications, &checked->arena, &review, &err)) {
        doctor_trouble(checked->findings, "routes", "%s", ctl_reason(&err));
        return;
    }
    for (size_t i = 0; i < review.n; i++)
        name_reviewed(checked, &review.items[i]);
    if (review.has_more)
        doctor_line(checked->findings, "note", "routes",
                    "more routes are closed or open to everybody; %d are named",
                    STORE_GATE_NAMED_MAX);
    else if (review.n == 0)
        doctor_line(checked->findings, "ok", "routes", "looked at %lld module%s",
                    (long long)review.n_reviewed, ctl_plural(review.n_reviewed));
    arena_reset(&checked->arena);
}

/* Only some edges are named after their hosts, so others are not found. */
static void check_cookies(struct checked *checked)
{
    struct gate_shared_cookies shared;
    struct error err = {.code = ERR_NONE};

    if (!checked->reader)
        return;
    if (!store_gate_shared_cookies(checked->reader, &checked->arena, &shared, &err))
        doctor_trouble(checked->findings, "cookies", "%s", ctl_reason(&err));
    else if (shared.n > 0)
        doctor_line(checked->findings, "note", "cookies",
                    "%lld module%s: another host of the parent domain can set the cookies of the "
                    "sessions; the first is account %s, edge %s, route %s; PUT a cookie_prefix "
                    "that begins with __Host-",
                    (long long)shared.n, ctl_plural(shared.n), shared.account_id.s,
                    shared.edge_id.s, shared.route_id.s);
    arena_reset(&checked->arena);
}

static void check_ended(struct checked *checked)
{
    struct error err = {.code = ERR_NONE};
    int64_t n;

    if (!checked->pg)
        return;
    if (!store_gate_count_ended(checked->pg, &n, &err))
        doctor_trouble(checked->findings, "visitors", "%s", ctl_reason(&err));
    else if (n > 0)
        doctor_trouble(checked->findings, "visitors",
                       "%lld session%s ended over an hour ago and still ha%s a row; adit-gate "
                       "deletes 1000 of them every 10 minutes: see its log: journalctl -u "
                       "adit-gate",
                       (long long)n, ctl_plural(n), n == 1 ? "s" : "ve");
    else
        doctor_line(checked->findings, "ok", "visitors", "no row is left of an ended session");
}

void gate_doctor_check(struct findings *findings, const struct ctl *ctl, bool has_responder)
{
    static const struct doctor_role role = {
        .name = SCHEMA_GATE, .what = "gate-role", .whose = "the gate's", .user = GATE_USER};
    struct checked checked = {.findings = findings, .ctl = ctl, .n_accounts = -1};

    checked.pg = doctor_check_role(findings, &ctl->conf, ctl->conf.gate.conninfo, &role);
    checked.reader = checked.pg ? checked.pg : has_responder ? ctl->pg : NULL;
    count_accounts(&checked, has_responder);
    check_gate_account(&checked);
    check_program(&checked);
    check_applications(&checked);
    check_authorities(&checked);
    if (!has_responder && checked.pg)
        doctor_check_keys(findings, ctl, checked.pg);
    check_routes(&checked);
    check_cookies(&checked);
    check_ended(&checked);
    pg_free(checked.pg);
    arena_free(&checked.arena);
}
