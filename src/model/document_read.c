/* SPDX-License-Identifier: MIT */
/* Reading a document piece by piece. */
#include <stdio.h>

#include "json/pieces.h"
#include "model/document_entry.h"

/* ---- the parts of an object ---- */

/* An object that is split: the lists that have names, and a small object of all other members. */
struct parts {
    struct text lists[DOCUMENT_N_KINDS];
    struct buf rest;
};

static bool is_null(struct text piece)
{
    return piece.len == 4 && memcmp(piece.s, "null", 4) == 0;
}

/* Returns the kind of the list that the name is of, from first to last; or DOCUMENT_N_KINDS. */
static enum document_kind kind_of_list(struct text name, enum document_kind first,
                                       enum document_kind last)
{
    for (enum document_kind kind = first; kind <= last; kind++) {
        if (text_eq(name, text_of(document_list_name(kind))))
            return kind;
    }
    return DOCUMENT_N_KINDS;
}

static void keep_member(struct buf *rest, struct text name, struct text value)
{
    buf_puts(rest, rest->len > 1 ? ",\"" : "\"");
    buf_add(rest, name.s, name.len);
    buf_puts(rest, "\":");
    buf_add(rest, value.s, value.len);
}

/* Splits an object.  The caller frees parts->rest. */
static bool split(struct text whole, struct text object, bool is_document, struct parts *parts,
                  struct error *err)
{
    enum document_kind first = is_document ? DOCUMENT_ACCOUNT : DOCUMENT_PRINCIPAL;
    enum document_kind last = is_document ? DOCUMENT_ACCOUNT : DOCUMENT_N_KINDS - 1;
    struct json_pieces pieces;
    struct text name;
    struct text value;

    *parts = (struct parts){.rest = {0}};
    buf_puts(&parts->rest, "{");
    if (!json_pieces_begin(&pieces, whole, object, false, err))
        return false;
    for (;;) {
        enum document_kind kind;

        if (!json_pieces_next(&pieces, &name, &value, err))
            return false;
        if (!value.s)
            break;
        kind = kind_of_list(name, first, last);
        if (kind == DOCUMENT_N_KINDS)
            keep_member(&parts->rest, name, value);
        else if (parts->lists[kind].s)
            return error_field(err, ERR_BODY_NOT_JSON, document_list_name(kind),
                               "%s is given twice.", document_list_name(kind));
        else
            parts->lists[kind] = value;
    }
    buf_puts(&parts->rest, "}");
    return !parts->rest.failed || error_set(err, ERR_OUT_OF_MEMORY);
}

/* Parses the other members of an object that was split. */
static bool parse_rest(const struct parts *parts, struct json_node *top, struct error *err)
{
    if (json_parse(parts->rest.data, parts->rest.len, top, err))
        return true;
    err->has_offset = false; /* it counted in the copy */
    return false;
}

/* ---- reading ---- */

struct reading {
    struct text whole;
    const struct document_reader *reader;
    const struct document_account *account; /* the present one */
    struct arena arena;                     /* of the present entry */
};

/* Tells of a fault.  Returns whether to go on: not if memory ran out. */
static bool tell(const struct reading *reading, const struct document_entry *entry,
                 const struct error *err)
{
    if (err->code == ERR_OUT_OF_MEMORY)
        return false;
    reading->reader->fault(reading->reader->context, entry, err);
    return true;
}

/* A document that is for certain owners holds nothing else. */
static bool check_owner(const struct reading *reading, const struct document_entry *entry,
                        struct error *err)
{
    const struct text_list *owners = &reading->account->owners;
    bool is_principal = entry->kind == DOCUMENT_PRINCIPAL;
    const char *name = is_principal ? "id" : "owner_id";
    struct text id = is_principal ? entry->of.principal.id : entry->of.credential.input.owner_id;

    if (!owners->given || (!is_principal && entry->kind != DOCUMENT_CREDENTIAL))
        return true;
    if (!id.s && owners->n == 1)
        return true;
    for (size_t i = 0; i < owners->n; i++) {
        if (text_eq(owners->items[i], id))
            return true;
    }
    return error_field(err, ERR_WRONG_VALUE, name, "%s is not in the account's owners. %s", name,
                       "Add it there, or leave this out.");
}

static bool read_entry(struct reading *reading, struct document_entry *entry, struct text piece,
                       struct error *err)
{
    struct json_node top = {0};
    bool ok = json_parse_answer(piece.s, piece.len, &top, err);
    bool goes_on;

    if (!ok)
        err->offset += entry->offset;
    ok = ok && document_entry_read(&top, reading->reader->names, &reading->arena, entry, err) &&
         check_owner(reading, entry, err);
    goes_on = ok ? reading->reader->entry(reading->reader->context, entry, err)
                 : tell(reading, entry, err);
    json_free(&top);
    arena_reset(&reading->arena);
    return goes_on;
}

static bool read_account(struct reading *reading, size_t index, struct text piece,
                         struct error *err);

/* Reads a list of entries; NULL: the list of accounts. */
static bool read_entries(struct reading *reading, struct document_entry entry, struct text list,
                         struct error *err)
{
    struct json_pieces pieces;
    struct text name;
    struct text piece;
    struct error fault;

    entry.offset = (size_t)(list.s - reading->whole.s);
    if (!json_pieces_begin(&pieces, reading->whole, list, true, &fault)) {
        error_say(&fault, ERR_WRONG_VALUE, "%s must be a list.", document_list_name(entry.kind));
        return tell(reading, NULL, &fault);
    }
    for (;; entry.index++) {
        if (!json_pieces_next(&pieces, &name, &piece, &fault))
            return tell(reading, NULL, &fault);
        if (!piece.s)
            return true;
        entry.offset = (size_t)(piece.s - reading->whole.s);
        entry.faults = NULL;
        if (entry.kind == DOCUMENT_ACCOUNT ? !read_account(reading, entry.index, piece, err)
                                           : !read_entry(reading, &entry, piece, err))
            return false;
    }
}

static bool read_account_members(struct reading *reading, struct parts *parts,
                                 const struct json_node *top, struct document_entry *entry,
                                 struct arena *arena, struct error *err)
{
    struct document_account *account = &entry->of.account_entry;

    if (!document_entry_read(top, reading->reader->names, arena, entry, err))
        return false;
    for (enum document_kind kind = DOCUMENT_PRINCIPAL; kind < DOCUMENT_N_KINDS; kind++) {
        account->has[kind] = parts->lists[kind].s && !is_null(parts->lists[kind]);
        if (account->has[kind] && account->owners.given && document_is_module(kind))
            return error_field(err, ERR_WRONG_VALUE, document_list_name(kind),
                               "%s is given beside owners. Modules have no owner: leave out one "
                               "of the two.",
                               document_list_name(kind));
    }
    return true;
}

static bool read_account(struct reading *reading, size_t index, struct text piece,
                         struct error *err)
{
    struct document_entry entry = {.kind = DOCUMENT_ACCOUNT,
                                   .account = index,
                                   .index = index,
                                   .offset = (size_t)(piece.s - reading->whole.s)};
    const struct document_account *account = &entry.of.account_entry;
    struct json_node top = {0};
    struct arena arena = {0};
    struct parts parts;
    bool ok = split(reading->whole, piece, false, &parts, err) && parse_rest(&parts, &top, err) &&
              read_account_members(reading, &parts, &top, &entry, &arena, err);
    bool goes_on;

    if (!ok)
        goes_on = tell(reading, &entry, err);
    else
        goes_on = reading->reader->entry(reading->reader->context, &entry, err);
    reading->account = account;
    for (enum document_kind kind = DOCUMENT_PRINCIPAL; goes_on && ok && kind < DOCUMENT_N_KINDS;
         kind++) {
        struct document_entry first = {.kind = kind, .account = index};

        if (account->has[kind])
            goes_on = read_entries(reading, first, parts.lists[kind], err);
    }
    reading->account = NULL;
    buf_free(&parts.rest);
    json_free(&top);
    arena_free(&arena);
    return goes_on;
}

/* ---- the document ---- */

struct document_members {
    struct text schema;
    uint32_t version;
};

static const struct field document_fields[] = {
    {.name = "$schema", .kind = FIELD_TEXT, .offset = offsetof(struct document_members, schema)},
    {.name = "version", .kind = FIELD_UINT32, .offset = offsetof(struct document_members, version)},
    {.name = "accounts", .kind = FIELD_OBJECT},
};

static bool check_document(const struct parts *parts, struct arena *arena, struct error *err)
{
    const size_t n = sizeof document_fields / sizeof document_fields[0];
    const struct field_reader reader = {.arena = arena};
    struct document_members members = {.version = 0};
    struct json_node top = {0};
    bool ok = parse_rest(parts, &top, err) && fields_known(&top, document_fields, n, err) &&
              fields_read(&top, document_fields, n, &members, &reader, err);
    struct json_node version = json_member(&top, "version");

    if (ok && !json_given(&version))
        ok = error_field(err, ERR_WRONG_VALUE, "version", "version is missing. Give %d.",
                         DOCUMENT_VERSION);
    else if (ok && members.version != DOCUMENT_VERSION)
        ok = error_field(err, ERR_WRONG_VALUE, "version",
                         "version is %u; this program reads version %d.", members.version,
                         DOCUMENT_VERSION);
    else if (ok && (!parts->lists[DOCUMENT_ACCOUNT].s || is_null(parts->lists[DOCUMENT_ACCOUNT])))
        ok = error_field(err, ERR_WRONG_VALUE, "accounts", "accounts is missing. Give a list.");
    json_free(&top);
    return ok;
}

bool document_read(struct text document, const struct document_reader *reader, struct error *err)
{
    struct reading reading = {.whole = document, .reader = reader};
    struct document_entry accounts = {.kind = DOCUMENT_ACCOUNT};
    struct parts parts = {.rest = {0}};
    struct error fault;
    struct text piece;
    bool goes_on;

    if (json_whole_piece(document, &piece, &fault) &&
        split(document, piece, true, &parts, &fault) &&
        check_document(&parts, &reading.arena, &fault))
        goes_on = read_entries(&reading, accounts, parts.lists[DOCUMENT_ACCOUNT], err);
    else if (!(goes_on = tell(&reading, NULL, &fault)))
        *err = fault;
    buf_free(&parts.rest);
    arena_free(&reading.arena);
    return goes_on;
}
