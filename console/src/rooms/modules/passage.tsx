// SPDX-License-Identifier: MIT
// Who may pass, in a few words.
import type { ComponentChildren, JSX } from "preact";
import type { OauthModule } from "../../api/types";
import { type Passage, passageOf, selected } from "../../model/oauth_module";
import { shorten } from "../../parts/finding";
import { Value } from "../../parts/value";
import { type CountKey, pieces, t, tn } from "../../text";

// So many names of a list are shown, and so many characters of a name.
const NAMES_MAX = 2;
const NAME_MAX = 40;

type Lists = (Passage & { kind: "listed" })["lists"];

const LISTS: [keyof Lists, CountKey][] = [
    ["email_addresses", "modules.addresses"],
    ["email_domains", "modules.domains"],
    ["teams", "modules.teams"],
    ["organizations", "modules.organizations"],
];

function Names({ names }: { names: string[] }): JSX.Element {
    const n = names.length - NAMES_MAX;
    return (
        <>
            {names.slice(0, NAMES_MAX).map((name, at) => (
                <span key={name}>
                    {at > 0 && ", "}
                    <Value text={shorten(name, NAME_MAX)} />
                </span>
            ))}
            {n > 0 && " " + tn("modules.more", n)}
        </>
    );
}

function Listed({ lists }: { lists: Lists }): JSX.Element {
    const given = LISTS.filter(([list]) => lists[list].length > 0);
    const values: Record<string, ComponentChildren> = {
        lists: given.map(([list, key], at) => (
            <span key={list}>
                {at > 0 && "; "}
                {tn(key, lists[list].length)} <Names names={lists[list]} />
            </span>
        )),
    };
    return <>{pieces("modules.listed").map((piece, at) => (at % 2 === 1 ? values[piece] : piece))}</>;
}

function Words({ passage, provider }: { passage: Passage; provider: string }): JSX.Element {
    switch (passage.kind) {
        case "everybody":
            return <>{t("modules.everybody")}</>;
        case "nobody":
            return <>{passage.why === "no_provider" ? t("modules.nobody_provider") : t("modules.nobody_unverified", { provider })}</>;
        case "signed_in":
            return <>{t("modules.signed_in", { provider })}</>;
        case "listed":
            return <Listed lists={passage.lists} />;
    }
}

export function OauthPassing({ module }: { module: OauthModule }): JSX.Element {
    const passage = passageOf(module);
    return (
        <span class={"passing " + passage.kind}>
            <Words passage={passage} provider={selected(module)[0]} />
        </span>
    );
}

// n is the number of authorities.
export function MutualTlsPassing({ isEnabled, n }: { isEnabled: boolean; n: number }): JSX.Element {
    const kind = !isEnabled ? "everybody" : n === 0 ? "nobody" : "listed";
    const words = { everybody: t("modules.everybody"), nobody: t("modules.nobody_authority"), listed: tn("modules.certificates", n) };
    return <span class={"passing " + kind}>{words[kind]}</span>;
}
