/* SPDX-License-Identifier: MIT */
/* Comparing what is stored with what a document wants. */
#include "model/document.h"

static bool same_texts(struct text_list a, struct text_list b)
{
    if (a.n != b.n)
        return false;
    for (size_t i = 0; i < a.n; i++) {
        if (!text_eq(a.items[i], b.items[i]))
            return false;
    }
    return true;
}

/* Compares the values of a field in two structs of its kind. */
static bool same_value(const struct field *field, const void *before, const void *after)
{
    const char *a = (const char *)before + field->offset;
    const char *b = (const char *)after + field->offset;

    switch (field->kind) {
    case FIELD_TEXT:
        return text_eq(*(const struct text *)(const void *)a,
                       *(const struct text *)(const void *)b);
    case FIELD_TEXTS:
        return same_texts(*(const struct text_list *)(const void *)a,
                          *(const struct text_list *)(const void *)b);
    case FIELD_BOOL:
        return *(const bool *)a == *(const bool *)b;
    case FIELD_UINT32:
        return *(const uint32_t *)(const void *)a == *(const uint32_t *)(const void *)b;
    case FIELD_TIME_OR_NULL:
        return *(const int64_t *)(const void *)a == *(const int64_t *)(const void *)b;
    case FIELD_NUMBER:
    case FIELD_TIME:
    case FIELD_PROVIDER:
    case FIELD_OBJECT:
    case FIELD_REFUSED:
        break;
    }
    return true;
}

static void note_change(struct document_changes *changes, struct document_member member)
{
    if (changes->n < DOCUMENT_MAX_CHANGES)
        changes->members[changes->n++] = member;
}

static void compare_table(const struct field *fields, size_t n_fields, const void *before,
                          const void *after, struct document_changes *changes)
{
    for (size_t i = 0; i < n_fields; i++) {
        if (!same_value(&fields[i], before, after))
            note_change(changes,
                        (struct document_member){.name = fields[i].name,
                                                 .kind = fields[i].kind,
                                                 .before = (const char *)before + fields[i].offset,
                                                 .after = (const char *)after + fields[i].offset});
    }
}

static struct text provider_name(const struct oauth_names *names, int provider)
{
    return text_of(provider ? names->providers[provider - 1] : NULL);
}

static void compare_provider(const struct oauth_module *before, const struct oauth_module *after,
                             const struct oauth_names *names, struct document_changes *changes)
{
    changes->provider_before = provider_name(names, before->provider);
    changes->provider_after = provider_name(names, after->provider);
    if (before->provider != after->provider)
        note_change(changes,
                    (struct document_member){"provider", FIELD_TEXT, &changes->provider_before,
                                             &changes->provider_after});
    compare_table(oauth_provider_fields, oauth_provider_n_fields, &before->config, &after->config,
                  changes);
}

static void compare_module(enum resource_kind kind, const union resource_value *before,
                           const union resource_value *after, const struct oauth_names *names,
                           struct document_changes *changes)
{
    const struct resource_row *row = resource_row(kind);

    compare_table(row->fields, *row->n_fields, before, after, changes);
    if (row->has_provider)
        compare_provider(&before->oauth_module, &after->oauth_module, names, changes);
}

/* A document that does not name the account leaves its name. */
static void compare_account(const struct document_account *before,
                            const struct document_account *after, struct document_changes *changes)
{
    if (after->name.s && !text_eq(before->name, after->name))
        note_change(changes,
                    (struct document_member){"name", FIELD_TEXT, &before->name, &after->name});
}

static void compare_principal(const struct document_principal *before,
                              const struct document_principal *after,
                              struct document_changes *changes)
{
    if (!text_eq(before->name, after->name))
        note_change(changes,
                    (struct document_member){"name", FIELD_TEXT, &before->name, &after->name});
    if (before->is_admin != after->is_admin)
        note_change(changes, (struct document_member){"is_admin", FIELD_BOOL, &before->is_admin,
                                                      &after->is_admin});
    if (after->has_disabled && before->is_disabled != after->is_disabled)
        note_change(changes, (struct document_member){"is_disabled", FIELD_BOOL,
                                                      &before->is_disabled, &after->is_disabled});
}

static void compare_credential(const struct document_credential *before,
                               const struct document_credential *after,
                               struct document_changes *changes)
{
    compare_table(ssh_credential_create_fields, ssh_credential_n_create_fields, &before->input,
                  &after->input, changes);
    if (!text_eq(before->standing, after->standing))
        note_change(changes, (struct document_member){"standing", FIELD_TEXT, &before->standing,
                                                      &after->standing});
}

void document_compare(const struct document_entry *before, const struct document_entry *after,
                      const struct oauth_names *names, struct document_changes *changes)
{
    *changes = (struct document_changes){.n = 0};
    switch (after->kind) {
    case DOCUMENT_ACCOUNT:
        compare_account(&before->of.account_entry, &after->of.account_entry, changes);
        break;
    case DOCUMENT_PRINCIPAL:
        compare_principal(&before->of.principal, &after->of.principal, changes);
        break;
    case DOCUMENT_CREDENTIAL:
        compare_credential(&before->of.credential, &after->of.credential, changes);
        break;
    default:
        compare_module(document_module_kind(after->kind), &before->of.module.value,
                       &after->of.module.value, names, changes);
        break;
    }
}
