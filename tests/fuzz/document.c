/* SPDX-License-Identifier: MIT */
/* Fuzz target: the document of "aditctl apply".  The reader takes it piece by piece; what it
 * accepts is written and read again, and stays the same. */
#include "base/utf8.h"
#include "fuzz.h"
#include "json/check.h"
#include "json/indent.h"
#include "model/document.h"
#include "providers.h"

#define MAX_SIZE 65536

/* What one reading found. */
struct found {
    struct text document;
    struct buf entries; /* as a new document */
    enum document_kind last;
    size_t n_accounts;
    size_t n_faults;
};

/* ---- writing a document anew ---- */

static void close_list(struct found *found)
{
    if (found->n_accounts > 0 && found->last != DOCUMENT_ACCOUNT)
        buf_puts(&found->entries, "]");
}

static void write_entry(struct buf *out, const struct document_entry *entry)
{
    switch (entry->kind) {
    case DOCUMENT_ACCOUNT:
        document_write_account(out, &entry->of.account_entry);
        out->len--; /* the lists follow */
        break;
    case DOCUMENT_PRINCIPAL:
        document_write_principal(out, &entry->of.principal);
        break;
    case DOCUMENT_CREDENTIAL:
        document_write_credential(out, &entry->of.credential);
        break;
    default:
        document_write_module(out, document_module_kind(entry->kind), &entry->of.module,
                              &default_names);
        break;
    case DOCUMENT_N_KINDS:
        abort();
    }
}

static void append_entry(struct found *found, const struct document_entry *entry)
{
    struct buf written = {0};

    if (entry->kind == DOCUMENT_ACCOUNT) {
        close_list(found);
        buf_puts(&found->entries, found->n_accounts++ > 0 ? "}," : "");
    } else if (entry->kind != found->last) {
        close_list(found);
        buf_printf(&found->entries, ",\"%s\":[", document_list_name(entry->kind));
    } else {
        buf_puts(&found->entries, ",");
    }
    found->last = entry->kind;
    write_entry(&written, entry);
    MUST(!written.failed && utf8_valid(written.data, written.len));
    buf_add(&found->entries, written.data, written.len);
    buf_free(&written);
}

/* ---- what the reader promises ---- */

static void look_at_place(const struct found *found, const struct document_entry *entry)
{
    MUST(entry->kind < DOCUMENT_N_KINDS);
    MUST(entry->offset < found->document.len);
    MUST(entry->kind != DOCUMENT_ACCOUNT || entry->index == entry->account);
}

static bool take_entry(void *context, const struct document_entry *entry, struct error *err)
{
    struct found *found = context;

    (void)err;
    look_at_place(found, entry);
    if (entry->kind == DOCUMENT_CREDENTIAL)
        MUST(entry->of.credential.input.public_key.s &&
             (entry->of.credential.input.fingerprint.len > 0 || entry->faults));
    if (entry->kind == DOCUMENT_OAUTH_MODULE) {
        const struct oauth_provider *config = &entry->of.module.value.oauth_module.config;
        enum document_secret_source source = entry->of.module.secret.source;

        MUST(!config->client_secret.plain.s);
        MUST((source == DOCUMENT_SECRET_NONE) == !config->client_id.s);
    }
    append_entry(found, entry);
    return true;
}

static void take_fault(void *context, const struct document_entry *entry, const struct error *err)
{
    struct found *found = context;
    const char *said = err->msg[0] ? err->msg : error_row(err->code)->text;

    found->n_faults++;
    if (entry)
        look_at_place(found, entry);
    MUST(err->code != ERR_NONE && err->code != ERR_OUT_OF_MEMORY && err->code != ERR_INTERNAL);
    MUST(!err->has_offset || err->offset <= found->document.len);
    MUST(strlen(said) > 0 && utf8_valid(said, strlen(said)));
}

static void read_document(struct found *found, struct text document)
{
    const struct document_reader reader = {
        .names = &default_names, .context = found, .entry = take_entry, .fault = take_fault};
    struct error err;

    *found = (struct found){.document = document};
    buf_puts(&found->entries, "{\"version\":1,\"accounts\":[");
    MUST(document_read(document, &reader, &err));
    close_list(found);
    buf_puts(&found->entries, found->n_accounts > 0 ? "}]}" : "]}");
    MUST(!found->entries.failed);
}

/* A document that was accepted is JSON, but for limits that are those of one body. */
static void look_at_json(struct text document)
{
    struct error err;

    if (!json_check(document.s, document.len, &err))
        MUST(strstr(err.msg, "more than 4000 values") || strstr(err.msg, "levels deep"));
}

/* White space changes nothing. */
static void read_indented(const struct found *found)
{
    struct buf indented = {0};
    struct found again;

    json_indent(&indented, buf_text(&found->entries), 0);
    MUST(!indented.failed);
    read_document(&again, buf_text(&indented));
    MUST(again.n_faults == 0);
    MUST(text_eq(buf_text(&again.entries), buf_text(&found->entries)));
    buf_free(&again.entries);
    buf_free(&indented);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct found found;
    struct text document;
    char *copy;

    if (size > MAX_SIZE)
        return 0;
    /* Of its exact size, so that a sanitizer sees a read past its end. */
    copy = malloc(size ? size : 1);
    MUST(copy);
    if (size > 0)
        memcpy(copy, data, size);
    document = (struct text){.s = copy, .len = size};
    read_document(&found, document);
    if (found.n_faults == 0) {
        look_at_json(document);
        read_indented(&found);
        accepted();
    }
    buf_free(&found.entries);
    free(copy);
    return 0;
}
