// SPDX-License-Identifier: MIT
// Who may pass, in a few words.
import type { ComponentChildren, JSX } from "preact";
import { useTitles } from "../../api/providers";
import type { OauthAdmission, OauthFlaw, OauthListName, OauthModule } from "../../api/types";
import { namesOf, selected } from "../../model/oauth_module";
import { shorten } from "../../parts/finding";
import { Value } from "../../parts/value";
import { type CountKey, type Key, pieces, t, tn } from "../../text";

// So many names of a list are shown, and so many characters of a name.
const NAMES_MAX = 2;
const NAME_MAX = 40;

const LISTS: Record<OauthListName, CountKey> = {
    email_addresses: "modules.addresses",
    email_domains: "modules.domains",
    teams: "modules.teams",
    organizations: "modules.organizations",
};

const TITLES: Record<OauthListName, Key> = {
    email_addresses: "oauth.email_addresses",
    email_domains: "oauth.email_domains",
    teams: "oauth.teams",
    organizations: "oauth.organizations",
};

const REASONS: Record<OauthFlaw["why"], Key> = {
    no_provider: "modules.why_no_provider",
    no_application: "modules.why_no_application",
    unverified: "modules.why_unverified",
    no_teams: "modules.why_no_teams",
    scope: "modules.why_scope",
};

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

interface Passing {
    module: OauthModule;
    admits: OauthAdmission;
    provider: string;
}

function Listed({ module, admits, provider }: Passing): JSX.Element {
    const values: Record<string, ComponentChildren> = {
        lists: admits.lists.map((list, at) => (
            <span key={list}>
                {at > 0 && "; "}
                {tn(LISTS[list], namesOf(module, list).length)} <Names names={namesOf(module, list)} />
            </span>
        )),
    };
    return (
        <>
            {pieces("modules.listed").map((piece, at) => (at % 2 === 1 ? values[piece] : piece))}
            {admits.flaws.map(({ list, why }) => (
                <span class="flaw" key={list}>
                    {"; "}
                    {t("modules.nobody_by", { list: t(TITLES[list ?? "teams"]), why: t(REASONS[why], { provider }) })}
                </span>
            ))}
        </>
    );
}

function Words(given: Passing): JSX.Element {
    const { admits, provider } = given;
    switch (admits.whom) {
        case "everybody":
            return <>{t("modules.everybody")}</>;
        case "nobody":
            return (
                <>
                    {t("modules.nobody", {
                        why: [...new Set(admits.flaws.map(({ why }) => t(REASONS[why], { provider })))].join("; "),
                    })}
                </>
            );
        case "anyone":
            return <>{t("modules.anyone", { provider })}</>;
        case "listed":
            return <Listed {...given} />;
    }
}

// admits is what the service says; null: it is not known.
export function OauthPassing({ module, admits }: { module: OauthModule; admits: OauthAdmission | null }): JSX.Element {
    const { titleOf } = useTitles();
    return admits ? (
        <span class={"passing " + admits.whom}>
            <Words module={module} admits={admits} provider={titleOf(selected(module)[0])} />
        </span>
    ) : (
        <span class="passing" />
    );
}

// n is the number of authorities.
export function MutualTlsPassing({ isEnabled, n }: { isEnabled: boolean; n: number }): JSX.Element {
    const kind = !isEnabled ? "everybody" : n === 0 ? "nobody" : "listed";
    const words = {
        everybody: t("modules.everybody"),
        nobody: t("modules.nobody_authority"),
        listed: tn("modules.certificates", n),
    };
    return <span class={"passing " + kind}>{words[kind]}</span>;
}
