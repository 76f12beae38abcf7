// SPDX-License-Identifier: MIT
// What the server would say, and who may pass, in words.
import { ENTRIES_MAX, type Fault, type Finding } from "../../model/module";
import { type OauthModule } from "../../api/types";
import { type Passage, passageOf, selected } from "../../model/oauth_module";
import { type CountKey, type Key, number, t, tn } from "../../text";

const FAULTS: Record<Fault, Key> = {
    body_size: "fault.body_size",
    body_values: "fault.body_values",
    cookie: "fault.cookie",
    domain_ascii: "fault.domain_ascii",
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
    long: "fault.long",
    many: "fault.many",
    number: "fault.number",
    repeated: "fault.repeated",
    scopes_managed: "fault.scopes_managed",
    secret_again: "fault.secret_again",
    secret_missing: "fault.secret_missing",
    team: "fault.team",
    text: "fault.text",
};

// A long entry fills no page.
const SHOWN_MAX = 80;

function shorten(entry: string): string {
    const characters = [...entry];
    return characters.length > SHOWN_MAX ? characters.slice(0, SHOWN_MAX).join("") + "…" : entry;
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
    return t("modules.refused", { number: found.number, why });
}

export function accepted(what: string): string {
    return t("modules.accepted", { what });
}

export function acceptedEntries(n: number): string {
    return accepted(tn("modules.entries", n, { max: number(ENTRIES_MAX) }));
}

export function acceptedBytes(n: number, max: number): string {
    return accepted(tn("modules.bytes", n, { max: number(max) }));
}

const SIZES: ["email_addresses" | "email_domains" | "teams" | "organizations", CountKey][] = [
    ["email_addresses", "modules.addresses"],
    ["email_domains", "modules.domains"],
    ["teams", "modules.teams"],
    ["organizations", "modules.organizations"],
];

// Who may pass, in a few words.
export function passageWords(passage: Passage, provider: string): string {
    switch (passage.kind) {
        case "everybody":
            return t("modules.everybody");
        case "nobody":
            return passage.why === "no_provider" ? t("modules.nobody_provider") : t("modules.nobody_unverified", { provider });
        case "signed_in":
            return t("modules.signed_in", { provider });
        case "listed": {
            const parts = SIZES.filter(([name]) => passage.sizes[name] > 0).map(([name, key]) => tn(key, passage.sizes[name]));
            return t("modules.listed", { provider, lists: parts.join(", ") });
        }
    }
}

export function oauthPassage(module: OauthModule): { kind: Passage["kind"]; words: string } {
    const passage = passageOf(module);
    return { kind: passage.kind, words: passageWords(passage, selected(module)[0]) };
}

export function mutualTlsPassage(isEnabled: boolean, n: number): { kind: Passage["kind"]; words: string } {
    if (!isEnabled) {
        return { kind: "everybody", words: t("modules.everybody") };
    }
    return n === 0
        ? { kind: "nobody", words: t("modules.nobody_authority") }
        : { kind: "listed", words: tn("modules.certificates", n) };
}

export function onOff(isOn: boolean): string {
    return isOn ? t("modules.on") : t("modules.off");
}

// A member's title, and its name as the interface and its errors have it.
export function memberTitle(title: Key, name: string): string {
    return t("modules.member", { title: t(title), name });
}
