/* SPDX-License-Identifier: MIT */
/* The old and the new values of an update, for people and for programs. */
#include <string.h>

#include "ctl/document/plan_kind.h"
#include "json/write.h"

/* Bytes of a value that people see, and of what they see around a difference in a longer one. */
#define VALUE_MAX 200
#define AROUND 24

/* Writes a value in JSON, or of a long one the part from byte `from` to `to` and what is around. */
static void put_part(struct buf *out, struct text json, size_t from, size_t to)
{
    from = from > AROUND ? from - AROUND : 0;
    while (from > 0 && ((unsigned char)json.s[from] & 0xC0) == 0x80)
        from--;
    to = json.len - to > AROUND ? to + AROUND : json.len;
    if (to - from > VALUE_MAX)
        to = from + VALUE_MAX;
    while (to < json.len && ((unsigned char)json.s[to] & 0xC0) == 0x80)
        to++;
    buf_puts(out, from > 0 ? "..." : "");
    buf_add(out, json.s + from, to - from);
    buf_puts(out, to < json.len ? "..." : "");
}

/* Says of a provider's name, which is in JSON, how people call the provider. */
static void put_title(struct buf *out, const struct oauth_names *names,
                      const struct document_member *member, const void *value)
{
    int position = strcmp(member->name, "provider") == 0
                       ? oauth_names_find(names, *(const struct text *)value)
                       : 0;

    if (position > 0)
        buf_printf(out, " (%s)", identity_provider_at(position)->title);
}

/* Writes "old -> new" for people: of long values what differs. */
static void put_pair(struct buf *out, const struct oauth_names *names,
                     const struct document_member *member, struct text before, struct text after)
{
    size_t shorter = before.len < after.len ? before.len : after.len;
    size_t from = 0;
    size_t tail = 0;

    if (before.len > VALUE_MAX || after.len > VALUE_MAX) {
        while (from < shorter && before.s[from] == after.s[from])
            from++;
        while (tail < shorter - from &&
               before.s[before.len - 1 - tail] == after.s[after.len - 1 - tail])
            tail++;
    }
    put_part(out, before, from, before.len - tail);
    put_title(out, names, member, member->before);
    buf_puts(out, " -> ");
    put_part(out, after, from, after.len - tail);
    put_title(out, names, member, member->after);
}

/* The texts of a change, while they are written. */
struct writing {
    struct buf members;
    struct buf values;
    struct buf before;
    struct buf after;
    struct buf secret_from;
};

static void put_member(struct writing *out, const struct oauth_names *names,
                       const struct document_member *member)
{
    struct buf before = {0};
    struct buf after = {0};

    field_write_value(&before, member->kind, member->before);
    field_write_value(&after, member->kind, member->after);
    buf_printf(&out->members, "%s%s", out->members.len > 0 ? "," : "", member->name);
    buf_printf(&out->values, "%s%s: ", out->values.len > 0 ? "; " : "", member->name);
    put_pair(&out->values, names, member, buf_text(&before), buf_text(&after));
    json_put_name(&out->before, member->name);
    json_put_raw(&out->before, buf_text(&before));
    json_put_name(&out->after, member->name);
    json_put_raw(&out->after, buf_text(&after));
    out->members.failed = out->members.failed || before.failed || after.failed;
    buf_free(&before);
    buf_free(&after);
}

/* Writes where a secret comes from, for people and for programs: who reviews a change decides about
 * that too.  Writes nothing for a secret that is in the database. */
static void put_secret_source(struct buf *values, struct buf *json,
                              const struct document_secret *secret)
{
    bool is_variable = secret->source == DOCUMENT_SECRET_ENV;

    if (!is_variable && secret->source != DOCUMENT_SECRET_FILE)
        return;
    buf_puts(values, is_variable ? " from the variable " : " from the file ");
    buf_add(values, secret->name.s, secret->name.len);
    json_open(json, '{');
    json_put_member(json, is_variable ? "env" : "file", secret->name);
    json_close(json, '}');
}

/* A secret is named and never shown. */
static void put_secret_change(struct writing *out, const struct document_secret *secret)
{
    bool is_set = secret->source != DOCUMENT_SECRET_NONE;

    buf_puts(&out->members, out->members.len > 0 ? ",client_secret" : "client_secret");
    buf_printf(&out->values, "%sclient_secret: %s", out->values.len > 0 ? "; " : "",
               is_set ? "set" : "removed");
    put_secret_source(&out->values, &out->secret_from, secret);
}

/* Keeps a text in the plan, and frees it. */
static struct text keep(struct plan *plan, struct buf *written, bool *ok)
{
    struct text kept = plan_keep(plan, buf_text(written), ok);

    *ok = *ok && !written->failed;
    buf_free(written);
    return kept;
}

/* What differs and is empty now was not. */
static bool loses_rules(const struct document_member *member)
{
    return strcmp(member->name, "acl") == 0 && ((const struct text_list *)member->after)->n == 0;
}

bool plan_show_values(struct plan *plan, struct plan_change *change,
                      const struct document_changes *changes)
{
    struct writing out = {.members = {0}};
    bool ok = true;

    json_open(&out.before, '{');
    json_open(&out.after, '{');
    for (size_t i = 0; i < changes->n; i++) {
        put_member(&out, &plan->names, &changes->members[i]);
        change->loses_rules = change->loses_rules || loses_rules(&changes->members[i]);
    }
    if (change->sets_secret)
        put_secret_change(&out, &change->write.row.entry.of.module.secret);
    json_close(&out.before, '}');
    json_close(&out.after, '}');
    change->members = keep(plan, &out.members, &ok);
    change->values = keep(plan, &out.values, &ok);
    change->before = keep(plan, &out.before, &ok);
    change->after = keep(plan, &out.after, &ok);
    if (out.secret_from.len > 0)
        change->secret_from = keep(plan, &out.secret_from, &ok);
    return ok || plan_out_of_memory();
}

bool plan_show_secret(struct plan *plan, struct plan_change *change)
{
    struct buf values = {0};
    struct buf json = {0};
    bool ok = true;

    buf_puts(&values, "client_secret:");
    put_secret_source(&values, &json, &change->write.row.entry.of.module.secret);
    if (json.len > 0) {
        change->values = keep(plan, &values, &ok);
        change->secret_from = keep(plan, &json, &ok);
    }
    ok = ok && !values.failed && !json.failed;
    buf_free(&values);
    buf_free(&json);
    return ok || plan_out_of_memory();
}
