// SPDX-License-Identifier: MIT
// What the server would say, in words.
import { ENTRIES_MAX, type Fault, type Finding } from "../model/module";
import { type Key, number, t, tn } from "../text";

const FAULTS: Record<Fault, Key> = {
    body_size: "fault.body_size",
    body_values: "fault.body_values",
    cookie: "fault.cookie",
    domain_ascii: "fault.domain_ascii",
    domain_at: "fault.domain_at",
    domain_characters: "fault.domain_characters",
    domain_dot: "fault.domain_dot",
    domain_empty: "fault.domain_empty",
    domain_hyphen: "fault.domain_hyphen",
    domain_label_empty: "fault.domain_label_empty",
    domain_label_long: "fault.domain_label_long",
    domain_long: "fault.domain_long",
    domain_underscore: "fault.domain_underscore",
    email: "fault.email",
    email_local: "fault.email_local",
    entry_empty: "fault.entry_empty",
    entry_long: "fault.entry_long",
    id_missing: "fault.id_missing",
    ident: "fault.ident",
    ident_space: "fault.ident_space",
    long: "fault.long",
    many: "fault.many",
    number: "fault.number",
    repeated: "fault.repeated",
    rule: "fault.rule",
    scopes_managed: "fault.scopes_managed",
    secret_again: "fault.secret_again",
    secret_missing: "fault.secret_missing",
    mention: "fault.mention",
    team: "fault.team",
    text: "fault.text",
};

// A long entry fills no page.
const SHOWN_MAX = 80;

export function shorten(entry: string, max = SHOWN_MAX): string {
    const characters = [...entry];
    return characters.length > max ? characters.slice(0, max).join("") + "…" : entry;
}

// The server would refuse it, or "".
export function refusal(found: Finding | null | undefined): string {
    if (!found) {
        return "";
    }
    const why = t(FAULTS[found.fault], {
        entry: shorten(found.entry),
        n: number(found.n),
        max: number(found.max),
    });
    return t("form.refused", { number: found.number, why });
}

export function accepted(what: string): string {
    return t("form.accepted", { what });
}

// Nothing is said about nothing.
export function acceptedEntries(n: number): string {
    return n === 0 ? "" : accepted(tn("form.entries", n, { max: number(ENTRIES_MAX) }));
}

export function acceptedBytes(n: number, max: number): string {
    return n === 0 ? "" : accepted(tn("form.bytes", n, { max: number(max) }));
}
