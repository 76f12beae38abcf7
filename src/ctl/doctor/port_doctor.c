/* SPDX-License-Identifier: MIT */
/* aditctl doctor: the servers of a gateway's machine whose ports a tunnel could take. */
#include <ctype.h>
#include <dirent.h>
#include <inttypes.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "ask/ask.h"
#include "base/number.h"
#include "ctl/doctor/doctor.h"
#include "ctl/terminal.h"

/* sshd refuses lower ports to every user but root. */
#define LOWEST_PORT 1024

#define SERVERS_MAX 256
#define NAME_SIZE 32
#define LINE_SIZE 512
#define NAMED_MAX 16 /* ports in a note */

/* A server that listens, or that its web server's configuration makes listen. */
struct server {
    unsigned port;
    char name[NAME_SIZE];
    bool is_adits; /* its clients send API keys, or it decides who passes */
};

struct ports {
    struct server servers[SERVERS_MAX];
    size_t n;
    bool offered[65536];
    bool offers_any; /* from LOWEST_PORT on */
    int n_users;
};

/* ---- what sshd offers ---- */

/* Reads the port at the end of "HOST:PORT" or "PORT".  Returns 0 without one. */
static unsigned port_at_end(struct text word)
{
    size_t from = word.len;
    uint64_t port;

    while (from > 0 && isdigit((unsigned char)word.s[from - 1]))
        from--;
    return number_read(text_part(word, from, word.len), 10, 65535, &port) ? (unsigned)port : 0;
}

static void take_offer(void *context, const char *user, struct text permit_listen)
{
    struct ports *ports = context;

    (void)user;
    ports->n_users++;
    for (struct text word; (word = text_next_word(&permit_listen)).s;) {
        if (text_eq(word, text_of("any")) || word.s[word.len - 1] == '*')
            ports->offers_any = true;
        else
            ports->offered[port_at_end(word)] = true;
    }
}

/* ---- who listens ---- */

static void add_server(struct ports *ports, unsigned port, const char *name, bool is_adits)
{
    for (size_t i = 0; i < ports->n; i++) {
        struct server *known = &ports->servers[i];

        /* The kernel's list has the same server as its configuration. */
        if (known->port == port) {
            known->is_adits = known->is_adits || is_adits;
            return;
        }
    }
    if (port < LOWEST_PORT || ports->n == SERVERS_MAX)
        return;
    ports->servers[ports->n].port = port;
    ports->servers[ports->n].is_adits = is_adits;
    snprintf(ports->servers[ports->n++].name, NAME_SIZE, "%s", name);
}

static bool holds_socket(const char *pid, const char *socket)
{
    char path[64];
    bool found = false;
    struct dirent *entry;
    DIR *folder;
    int fd;

    snprintf(path, sizeof path, "/proc/%.16s/fd", pid);
    folder = opendir(path);
    fd = folder ? dirfd(folder) : -1;
    while (fd >= 0 && !found && (entry = readdir(folder)) != NULL) {
        char target[64];
        ssize_t len = readlinkat(fd, entry->d_name, target, sizeof target - 1);

        target[len > 0 ? len : 0] = '\0';
        found = strcmp(target, socket) == 0;
    }
    if (folder)
        closedir(folder);
    return found;
}

/* Reads the name of a process, which its user may choose: no control character passes. */
static void read_name(const char *pid, char name[NAME_SIZE])
{
    char path[64];
    char line[NAME_SIZE];
    struct buf plain = {0};
    FILE *file;

    snprintf(path, sizeof path, "/proc/%.16s/comm", pid);
    file = fopen(path, "re");
    if (file && fgets(line, sizeof line, file)) {
        line[strcspn(line, "\n")] = '\0';
        terminal_put(&plain, text_of(line));
    }
    if (file)
        fclose(file);
    if (!plain.failed && plain.len > 0)
        snprintf(name, NAME_SIZE, "%.*s", (int)plain.len, plain.data);
    buf_free(&plain);
}

/* Finds the name of a process that has the socket; "a program" without one. */
static void find_holder(uint64_t inode, char name[NAME_SIZE])
{
    struct dirent *entry;
    DIR *folder = opendir("/proc");
    char socket[48];

    snprintf(socket, sizeof socket, "socket:[%" PRIu64 "]", inode);
    snprintf(name, NAME_SIZE, "a program");
    while (folder && (entry = readdir(folder)) != NULL) {
        if (!isdigit((unsigned char)entry->d_name[0]) || !holds_socket(entry->d_name, socket))
            continue;
        read_name(entry->d_name, name);
        break;
    }
    if (folder)
        closedir(folder);
}

/* Returns whether the user is root or one that the packages make for a service.  Others could give
 * a program of theirs the name of one of Adit's. */
static bool may_be_adits(unsigned uid)
{
    static const char *const users[] = {"adit", "adit-gateway", "adit-gate"};

    for (size_t i = 0; uid != 0 && i < sizeof users / sizeof users[0]; i++) {
        const struct passwd *entry = getpwnam(users[i]);

        if (entry && entry->pw_uid == uid)
            return true;
    }
    return uid == 0;
}

/* Takes a line of /proc/net/tcp: "sl local_address rem_address st tx:rx tr:when retrnsmt uid
 * timeout inode". */
static void take_socket(struct ports *ports, const char *line)
{
    char name[NAME_SIZE];
    unsigned port, state, uid;
    uint64_t inode;

    if (sscanf(
            line,
            " %*[0-9]: %*[0-9A-Fa-f]:%x %*[0-9A-Fa-f]:%*x %x %*x:%*x %*x:%*x %*x %u %*u %" SCNu64,
            &port, &state, &uid, &inode) != 4 ||
        state != 0x0a || port < LOWEST_PORT)
        return;
    find_holder(inode, name);
    /* A process of sshd with another user than root is a session: this is a tunnel. */
    if (uid == 0 || strncmp(name, "sshd", 4) != 0)
        add_server(ports, port, name, strncmp(name, "adit", 4) == 0 && may_be_adits(uid));
}

static void find_listeners(struct ports *ports)
{
    static const char *const paths[] = {"/proc/net/tcp", "/proc/net/tcp6"};

    for (size_t i = 0; i < sizeof paths / sizeof paths[0]; i++) {
        FILE *file = fopen(paths[i], "re");
        char line[LINE_SIZE];

        while (file && fgets(line, sizeof line, file))
            take_socket(ports, line);
        if (file)
            fclose(file);
    }
}

/* ---- what web servers want ---- */

#define BLOCK_PORTS_MAX 16

/* A block "server" of nginx. */
struct block {
    int depth; /* of braces; 0: outside */
    bool is_adits;
    unsigned ports[BLOCK_PORTS_MAX];
    size_t n;
};

static void take_listen(struct block *block, struct text words)
{
    struct text word = text_next_word(&words);

    while (word.len > 0 && word.s[word.len - 1] == ';')
        word.len--;
    if (word.len > 0 && !text_begins(word, "unix:") && block->n < BLOCK_PORTS_MAX)
        block->ports[block->n++] = port_at_end(word);
}

/* Returns whether the line has the word "adit", such as in "/run/adit.sock" or "$adit_for", and not
 * as a part of another one, such as in "tradition.example". */
static bool mentions_adit(struct text line)
{
    static const char word[] = "adit";
    const size_t len = strlen(word);

    for (size_t at = 0; at + len <= line.len; at++) {
        size_t end = at + len;

        if (memcmp(line.s + at, word, len) == 0 &&
            (at == 0 || !isalpha((unsigned char)line.s[at - 1])) &&
            (end == line.len || !isalnum((unsigned char)line.s[end])))
            return true;
    }
    return false;
}

/* Takes the next directive off *rest, up to its ";" or brace: a line may have several, and one may
 * have several lines.  Returns an absent text at the end. */
static struct text next_directive(struct text *rest)
{
    size_t from = 0;
    size_t to;

    while (from < rest->len && (isspace((unsigned char)rest->s[from]) || rest->s[from] == '#')) {
        if (rest->s[from] == '#')
            from += strcspn(rest->s + from, "\n");
        else
            from++;
    }
    to = from + strcspn(rest->s + from, ";{}");
    if (to < rest->len)
        to++;
    else
        from = to = rest->len;
    *rest = text_part(*rest, to, rest->len);
    return from < to ? (struct text){rest->s - (to - from), to - from} : (struct text){.s = NULL};
}

/* Takes a directive of "nginx -T". */
static void take_directive(struct ports *ports, struct block *block, struct text directive)
{
    struct text rest = directive;
    struct text word = text_next_word(&rest);

    if (block->depth == 0) {
        if (!text_begins(word, "server") || directive.s[directive.len - 1] != '{')
            return;
        *block = (struct block){.depth = 0};
    }
    block->depth +=
        (directive.s[directive.len - 1] == '{') - (directive.s[directive.len - 1] == '}');
    if (text_eq(word, text_of("listen")))
        take_listen(block, rest);
    block->is_adits = block->is_adits || mentions_adit(directive);
    for (size_t i = 0; block->depth <= 0 && i < block->n; i++)
        add_server(ports, block->ports[i], "nginx", block->is_adits);
    if (block->depth < 0)
        block->depth = 0;
}

static void ask_nginx(struct ports *ports)
{
    char *const arguments[] = {(char[]){"/usr/sbin/nginx"}, (char[]){"-T"}, NULL};
    struct block block = {.depth = 0};
    struct buf out = {0};
    struct text rest;
    struct text directive;

    if (access(arguments[0], X_OK) == 0 && machine_run(arguments, &out)) {
        rest = buf_text(&out);
        while ((directive = next_directive(&rest)).s)
            take_directive(ports, &block, directive);
    }
    buf_free(&out);
}

/* Apache names each virtual host as "ADDRESS:PORT", at the beginning of a line. */
static void ask_apache(struct ports *ports)
{
    char *const arguments[] = {(char[]){"/usr/sbin/apache2ctl"}, (char[]){"-S"}, NULL};
    struct buf out = {0};
    struct text rest;
    struct text line;

    if (access(arguments[0], X_OK) == 0 && machine_run(arguments, &out)) {
        rest = buf_text(&out);
        while ((line = ask_next_line(&rest)).s) {
            struct text word =
                line.len > 0 && line.s[0] != ' ' ? text_next_word(&line) : (struct text){.s = NULL};

            if (word.s && memchr(word.s, ':', word.len) && word.s[word.len - 1] != ':')
                add_server(ports, port_at_end(word), "apache2", mentions_adit(line));
        }
    }
    buf_free(&out);
}

/* ---- verdicts ---- */

static bool is_domain_port(const struct conf *conf, unsigned port)
{
    const struct ssh_domain_ports *named = &conf->gateway.domain_ports;

    for (size_t i = 0; i < named->n; i++) {
        if (named->ports[i] == port)
            return true;
    }
    return false;
}

/* Says which servers a tunnel could take the place of while they restart. */
static void judge_ports(struct findings *findings, const struct conf *conf,
                        const struct ports *ports)
{
    int before = findings->n_troubles;
    struct buf others = {0};
    int n_others = 0;

    for (size_t i = 0; i < ports->n; i++) {
        const struct server *server = &ports->servers[i];
        bool is_named = ports->offered[server->port] ||
                        (ports->offers_any && is_domain_port(conf, server->port));

        if (is_named || (ports->offers_any && server->is_adits))
            doctor_trouble(
                findings, "ports",
                "%s%s has port %u, which tunnels may bind: one can take it while the "
                "server restarts, and gets what its clients send, such as API keys; "
                "let the server listen on a port below 1024%s",
                server->name, server->is_adits ? " (a site of Adit's own)" : "", server->port,
                is_named ? ", or take this one out of domain_ports and PermitListen" : "");
        else if (ports->offers_any && n_others++ < NAMED_MAX)
            buf_printf(&others, "%s%u (%s)", n_others > 1 ? ", " : "", server->port, server->name);
    }
    if (n_others > 0)
        doctor_line(findings, "note", "ports",
                    "a key without rules may bind any port from 1024 on, and so take that of a "
                    "server that restarts: %s%s; PermitListen limits all keys: aditctl "
                    "gateway-config sshd --domain DOMAIN",
                    others.failed ? "out of memory" : others.data,
                    n_others > NAMED_MAX ? ", ..." : "");
    if (findings->n_troubles == before)
        doctor_line(findings, "ok", "ports", "no server has a port that tunnels are offered");
    buf_free(&others);
}

void port_doctor_check(struct findings *findings, const struct conf *conf)
{
    struct ports *ports = calloc(1, sizeof *ports);

    if (!ports) {
        doctor_trouble(findings, "ports", "out of memory");
        return;
    }
    sshd_doctor_offers(take_offer, ports);
    if (ports->n_users > 0) {
        find_listeners(ports);
        ask_nginx(ports);
        ask_apache(ports);
        judge_ports(findings, conf, ports);
    }
    free(ports);
}
