/* SPDX-License-Identifier: MIT */
/* Reads a document into memory, and tells what is wrong with it. */
#include "ctl/document/document.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/invisible.h"
#include "ctl/open_file.h"
#include "http/names.h"

#define READ_SIZE 65536

/* ---- faults ---- */

static size_t line_of(struct text text, size_t offset)
{
    size_t line = 1;

    for (size_t i = 0; i < offset && i < text.len; i++)
        line += text.s[i] == '\n';
    return line;
}

/* Writes the place of an entry, such as accounts[0].ssh_credentials[12]. */
static void write_entry_place(struct buf *out, const struct document_entry *entry)
{
    buf_printf(out, "accounts[%zu]", entry->account);
    if (entry->kind != DOCUMENT_ACCOUNT)
        buf_printf(out, ".%s[%zu]", document_list_name(entry->kind), entry->index);
}

void document_tell(struct document *document, const struct document_entry *entry,
                   const struct error *err)
{
    size_t offset = err->has_offset ? err->offset : entry ? entry->offset : 0;
    const char *msg = err->msg[0] ? err->msg : error_row(err->code)->text;
    struct buf place = {0};

    if (document->n_faults++ >= DOCUMENT_MAX_FAULTS_SHOWN)
        return;
    buf_printf(&place, "%s:%zu: ", document->path, line_of(document->text, offset));
    if (entry) {
        write_entry_place(&place, entry);
        buf_puts(&place, ": ");
    }
    ctl_fail("%s%s", buf_text(&place).s, msg);
    buf_free(&place);
}

static bool has_change(const struct document_changes *changes, const char *name)
{
    for (size_t i = 0; i < changes->n; i++) {
        if (strcmp(changes->members[i].name, name) == 0)
            return true;
    }
    return false;
}

bool document_tell_values(struct document *document, const struct document_entry *entry,
                          const struct document_changes *changes)
{
    const size_t n_before = document->n_faults;
    struct error err;

    for (struct field_fault *fault = entry->faults; fault; fault = fault->next) {
        if (changes && !has_change(changes, fault->name))
            continue;
        error_say(&err, fault->code, "%s", fault->msg);
        document_tell(document, entry, &err);
    }
    return document->n_faults > n_before;
}

bool document_is_good(const struct document *document)
{
    if (document->n_faults > DOCUMENT_MAX_FAULTS_SHOWN)
        ctl_fail("%s: %zu more faults", document->path,
                 document->n_faults - DOCUMENT_MAX_FAULTS_SHOWN);
    return document->n_faults == 0;
}

/* ---- copies: the reader's texts last for one call ---- */

struct copy {
    struct arena *arena;
    bool failed;
};

static void copy_entry_text(struct copy *copy, struct text *text)
{
    if (!text->s)
        return;
    text->s = arena_copy(copy->arena, text->s, text->len);
    copy->failed = copy->failed || !text->s;
}

static void copy_entry_texts(struct copy *copy, struct text_list *list)
{
    struct text *items = arena_array(copy->arena, list->n, sizeof *items);

    copy->failed = copy->failed || !items;
    if (copy->failed)
        return;
    for (size_t i = 0; i < list->n; i++) {
        items[i] = list->items[i];
        copy_entry_text(copy, &items[i]);
    }
    list->items = items;
}

static void copy_values(struct copy *copy, const struct field *fields, size_t n, void *target)
{
    copy->failed = copy->failed || !fields_copy(fields, n, target, copy->arena);
}

static void copy_credential(struct copy *copy, struct document_credential *credential)
{
    copy_values(copy, ssh_credential_members, ssh_credential_n_members, &credential->input);
    copy_entry_text(copy, &credential->created_at);
    copy_entry_text(copy, &credential->standing);
}

static void copy_module(struct copy *copy, enum document_kind kind, struct document_module *module)
{
    const struct resource_row *row = resource_row(document_module_kind(kind));

    copy_entry_text(copy, &module->place.edge_id);
    copy_entry_text(copy, &module->place.route_id);
    copy_values(copy, row->members, *row->n_members, &module->value);
    copy_entry_text(copy, &module->secret.name);
    copy_entry_text(copy, &module->secret.digest);
}

static void copy_entry(struct copy *copy, struct document_entry *entry)
{
    switch (entry->kind) {
    case DOCUMENT_ACCOUNT:
        copy_entry_text(copy, &entry->of.account_entry.id);
        copy_entry_text(copy, &entry->of.account_entry.name);
        copy_entry_texts(copy, &entry->of.account_entry.owners);
        break;
    case DOCUMENT_PRINCIPAL:
        copy_entry_text(copy, &entry->of.principal.id);
        copy_entry_text(copy, &entry->of.principal.name);
        break;
    case DOCUMENT_CREDENTIAL:
        copy_credential(copy, &entry->of.credential);
        break;
    default:
        copy_module(copy, entry->kind, &entry->of.module);
    }
}

/* Copies the faults of the values. */
static void copy_faults(struct copy *copy, struct document_entry *entry)
{
    struct field_fault *first = entry->faults;

    entry->faults = NULL;
    for (struct field_fault *fault = first; fault && !copy->failed; fault = fault->next) {
        struct field_fault *kept = arena_alloc(copy->arena, sizeof *kept);
        const char *msg = arena_copy(copy->arena, fault->msg, strlen(fault->msg));

        copy->failed = !kept || !msg;
        if (copy->failed)
            return;
        *kept = (struct field_fault){fault->name, fault->code, msg, entry->faults};
        entry->faults = kept;
    }
}

/* ---- items ---- */

/* Makes room for one more element.  Returns false if memory runs out. */
static bool grow(void **elements, size_t n, size_t *cap, size_t size)
{
    size_t wanted = *cap ? *cap * 2 : 16;
    void *more;

    if (n < *cap)
        return true;
    more = reallocarray(*elements, wanted, size);
    if (!more)
        return false;
    *elements = more;
    *cap = wanted;
    return true;
}

/* Returns a new item with a copy of the entry, or NULL if memory runs out. */
static struct document_item *make_item(struct document *document,
                                       const struct document_entry *entry)
{
    struct document_item *item = arena_alloc(&document->arena, sizeof *item);
    struct copy copy = {.arena = &document->arena};

    if (!item)
        return NULL;
    item->entry = *entry;
    copy_entry(&copy, &item->entry);
    copy_faults(&copy, &item->entry);
    return copy.failed ? NULL : item;
}

static bool add_account(struct document *document, struct document_item *item)
{
    void *accounts = document->accounts;

    if (!grow(&accounts, document->n_accounts, &document->cap_accounts, sizeof *document->accounts))
        return false;
    document->accounts = accounts;
    document->accounts[document->n_accounts++] = (struct document_account_items){.account = item};
    return true;
}

/* The account is the last one: its entries follow it. */
static bool add_item(struct document *document, struct document_item *item)
{
    struct document_items *items =
        &document->accounts[document->n_accounts - 1].kinds[item->entry.kind];
    void *elements = items->items;

    if (!grow(&elements, items->n, &items->cap, sizeof *items->items))
        return false;
    items->items = elements;
    items->items[items->n++] = item;
    document->n_items++;
    return true;
}

static void tell_account_values(struct document *document, const struct document_account_items *of)
{
    for (int kind = 0; kind < DOCUMENT_N_KINDS; kind++) {
        for (size_t i = 0; i < of->kinds[kind].n; i++)
            document_tell_values(document, &of->kinds[kind].items[i]->entry, NULL);
    }
}

/* Nobody will compare a faulty document with the database: tells all, in the order of the file. */
static void take_fault(void *context, const struct document_entry *entry, const struct error *err)
{
    struct document *document = context;
    const size_t n_to_tell = document->n_faults == 0 ? document->n_accounts : 0;

    for (size_t i = 0; i < n_to_tell; i++)
        tell_account_values(document, &document->accounts[i]);
    document_tell(document, entry, err);
}

/* Keeps a file to the account that the operator named. */
static void keep_to_account(struct document *document, const struct document_entry *entry)
{
    const char *only = document->ctl->options.account;
    const struct text id = entry->of.account_entry.id;
    struct error err;

    if (!only || text_eq(id, text_of(only)))
        return;
    if (id.s)
        error_say(&err, ERR_WRONG_VALUE, "The account is %.*s, and --account permits only %s.",
                  (int)id.len, id.s, only);
    else
        error_say(&err, ERR_WRONG_VALUE, "id is missing. With --account, the file names it.");
    take_fault(document, entry, &err);
}

static bool take_entry(void *context, const struct document_entry *entry, struct error *err)
{
    struct document *document = context;
    struct document_item *item = make_item(document, entry);

    if (entry->kind == DOCUMENT_ACCOUNT)
        keep_to_account(document, entry);
    if (!item || (entry->kind == DOCUMENT_ACCOUNT ? !add_account(document, item)
                                                  : !add_item(document, item)))
        return error_set(err, ERR_OUT_OF_MEMORY);
    if (document->n_faults > 0)
        document_tell_values(document, &item->entry, NULL);
    return true;
}

/* ---- files ---- */

/* What is read then takes up to three times the memory. */
static bool read_document_file(struct document *document, int fd)
{
    struct buf *file = &document->file;
    ssize_t n = 1;

    while (n > 0 && file->len <= DOCUMENT_BYTES_MAX) {
        char *room = buf_room(file, READ_SIZE);

        if (!room) {
            ctl_fail("out of memory");
            return false;
        }
        n = read(fd, room, READ_SIZE);
        file->len += n > 0 ? (size_t)n : 0;
    }
    document->text = (struct text){.s = file->data, .len = file->len};
    if (n < 0)
        ctl_fail("%s: cannot be read: %s", document->path, strerror(errno));
    else if (n > 0)
        ctl_fail("%s: has more than %zu MiB; split it by accounts or owners", document->path,
                 DOCUMENT_BYTES_MAX / 1024 / 1024);
    return n == 0;
}

/* Some editors and shells write a byte order mark.  Returns whether there is none. */
static bool has_no_mark(const struct document *document)
{
    struct invisible found;

    if (!invisible_at_start(document->text, &found))
        return true;
    ctl_fail("%s: begins with %s; save it as UTF-8 without one", document->path, found.what);
    return false;
}

/* Reads the text into items. */
static bool parse_items(struct document *document)
{
    const struct ctl *ctl = document->ctl;
    struct http_names service;
    struct oauth_names names = {.cookie_prefix = service.cookie_prefix};
    const struct document_reader reader = {
        .names = &names, .context = document, .entry = take_entry, .fault = take_fault};
    struct error err;

    names_fill(&service, ctl->conf.service_name);
    memcpy(names.providers, ctl->conf.provider_names, sizeof names.providers);
    if (!document_read(document->text, &reader, &err)) {
        ctl_fail_error(&err);
        return false;
    }
    return document_is_good(document);
}

bool document_load(struct document *document, const struct ctl *ctl, const char *path)
{
    bool is_stdin = strcmp(path, "-") == 0;
    int fd = is_stdin ? STDIN_FILENO : ctl_open_file(path);
    bool ok;

    *document = (struct document){.path = is_stdin ? "standard input" : path, .ctl = ctl};
    if (fd < 0) {
        ctl_fail("%s: cannot be opened: %s", *path ? path : "''", strerror(errno));
        return false;
    }
    ok = read_document_file(document, fd);
    if (!is_stdin)
        close(fd);
    return ok && has_no_mark(document) && parse_items(document);
}

static void free_items(struct document *document)
{
    for (size_t i = 0; i < document->n_accounts; i++) {
        for (int kind = 0; kind < DOCUMENT_N_KINDS; kind++)
            free(document->accounts[i].kinds[kind].items);
    }
    free(document->accounts);
    arena_free(&document->arena);
}

bool document_forget(struct document *document)
{
    free_items(document);
    *document = (struct document){.path = document->path,
                                  .ctl = document->ctl,
                                  .file = document->file,
                                  .text = document->text};
    return parse_items(document);
}

void document_free(struct document *document)
{
    free_items(document);
    buf_free(&document->file);
}
