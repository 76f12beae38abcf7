// SPDX-License-Identifier: MIT
// All members of an OAuth module, each with what the server would say of it.
import type { JSX } from "preact";
import { useTitles } from "../../api/providers";
import { MAX_BYTES, type OauthModule } from "../../api/types";
import { readEntries } from "../../model/entries";
import { ENTRIES_MAX } from "../../model/module";
import {
    type Duration,
    type Findings,
    type ListName,
    type OauthForm,
    type OauthMember,
    checkOauth,
    hasTeams,
    moduleOf,
    storedSecret,
} from "../../model/oauth_module";
import { sizeOf } from "../../model/text";
import { readUint32 } from "../../model/uint32";
import { Choose, Tick } from "../../parts/choice";
import { faultOf } from "../../parts/error_words";
import { Field } from "../../parts/field";
import { accepted, acceptedBytes, acceptedEntries, refusal } from "../../parts/finding";
import { type Key, duration, number, t } from "../../text";
import { useAdmission } from "./admission";
import { useMayWrite } from "./frame";
import { OauthPassing } from "./passage";

export interface Given {
    form: OauthForm;
    stored: OauthModule;
    change(members: Partial<OauthForm>): void;
    error: unknown;
}

interface Inner extends Given {
    found: Findings<OauthMember>;
    // What is wrong with a member: the server's words, or what they would be.
    faultAt(member: OauthMember, path?: string): string;
}

export const TITLES: Record<OauthMember, Key> = {
    enabled: "modules.enabled",
    provider: "oauth.provider",
    client_id: "oauth.client_id",
    client_secret: "oauth.client_secret",
    scopes: "oauth.scopes",
    email_addresses: "oauth.email_addresses",
    email_domains: "oauth.email_domains",
    teams: "oauth.teams",
    organizations: "oauth.organizations",
    options_passthrough: "oauth.options_passthrough",
    cookie_prefix: "oauth.cookie_prefix",
    inactivity_timeout: "oauth.inactivity_timeout",
    maximum_duration: "oauth.maximum_duration",
    auth_check_interval: "oauth.auth_check_interval",
};

const LIST_HINTS: [ListName, Key][] = [
    ["email_addresses", "oauth.email_addresses_hint"],
    ["email_domains", "oauth.email_domains_hint"],
    ["teams", "oauth.teams_hint"],
    ["organizations", "oauth.organizations_hint"],
    ["scopes", "oauth.scopes_hint"],
];

const DURATION_HINTS: [Duration, Key][] = [
    ["inactivity_timeout", "oauth.inactivity_timeout_hint"],
    ["maximum_duration", "oauth.maximum_duration_hint"],
    ["auth_check_interval", "oauth.auth_check_interval_hint"],
];

function durationWords(text: string): string {
    const seconds = readUint32(text.trim() || "0");
    return seconds ? accepted(duration(seconds)) : "";
}

// The stored secret itself is never drawn.
function secretWords(form: OauthForm, stored: OauthModule, mayWrite: boolean): string {
    const state = storedSecret(form, stored);
    if (!mayWrite) {
        return state === "none" ? "" : t("oauth.secret_stored");
    }
    if (form.client_secret === "") {
        return state === "kept" ? t("oauth.secret_kept") : "";
    }
    const size = acceptedBytes(sizeOf(form.client_secret), MAX_BYTES.OauthHostingProvider.client_secret);
    return state === "none" ? size : t("oauth.secret_replaced", { size });
}

function Durations({ form, change, faultAt }: Inner): JSX.Element {
    return (
        <>
            {DURATION_HINTS.map(([name, hint]) => (
                <Field
                    key={name}
                    label={t(TITLES[name])}
                    member={name}
                    hint={t(hint)}
                    fault={faultAt(name)}
                    says={durationWords(form[name])}
                    text={form[name]}
                    setText={(text) => change({ [name]: text })}
                    class={name}
                />
            ))}
        </>
    );
}

function Application(given: Inner): JSX.Element {
    const { form, change, faultAt } = given;
    const mayWrite = useMayWrite();
    const idSize = sizeOf(form.client_id);
    return (
        <>
            <Field
                label={t(TITLES.client_id)}
                member="client_id"
                hint={t("oauth.client_id_hint")}
                fault={faultAt("client_id", "client_id")}
                says={acceptedBytes(idSize, MAX_BYTES.OauthHostingProvider.client_id)}
                text={form.client_id}
                setText={(text) => change({ client_id: text })}
                class="client_id"
            />
            <Field
                label={t(TITLES.client_secret)}
                member="client_secret"
                hint={t("oauth.client_secret_hint")}
                fault={faultAt("client_secret", "client_secret")}
                says={secretWords(form, given.stored, mayWrite)}
                type="password"
                text={form.client_secret}
                setText={(text) => change({ client_secret: text })}
                class="client_secret"
            />
        </>
    );
}

function Provider(given: Inner): JSX.Element {
    const { form, stored, change, faultAt } = given;
    const lists = LIST_HINTS.filter(
        ([name]) => (name !== "teams" && name !== "organizations") || hasTeams(stored, form.provider),
    );
    return (
        <>
            <Application {...given} />
            {lists.map(([name, hint]) => (
                <Field
                    key={name}
                    label={t(TITLES[name])}
                    member={name}
                    hint={t(hint, { max: number(ENTRIES_MAX) })}
                    fault={faultAt(name, name)}
                    says={acceptedEntries(readEntries(form[name]).length)}
                    rows={3}
                    text={form[name]}
                    setText={(text) => change({ [name]: text })}
                    class={name}
                />
            ))}
        </>
    );
}

function Pass({ form, stored, change, faultAt, ...given }: Inner): JSX.Element {
    const { labelOf } = useTitles();
    const admits = useAdmission(form, stored);
    const names = Object.keys(stored.provider).map((name): [string, string] => [name, labelOf(name)]);
    return (
        <fieldset>
            <legend>{t("modules.passes")}</legend>
            <p role="status">
                <OauthPassing module={moduleOf(form, stored)} admits={admits} />
            </p>
            <Tick
                label={t(TITLES.enabled)}
                member="enabled"
                hint={t("oauth.enabled_hint")}
                isOn={form.enabled}
                set={(enabled) => change({ enabled })}
                class="enabled"
            />
            <Choose
                label={t(TITLES.provider)}
                member="provider"
                hint={t("oauth.provider_hint")}
                fault={faultAt("provider")}
                options={[["", t("oauth.no_provider")], ...names]}
                value={form.provider}
                choose={(provider) => change({ provider })}
                class="provider"
            />
            {form.provider !== "" && <Provider {...{ form, stored, change, faultAt, ...given }} />}
        </fieldset>
    );
}

export function OauthFields(given: Given): JSX.Element {
    const { form, stored, change, error } = given;
    const found = useMayWrite() ? checkOauth(form, stored) : {};
    const inner: Inner = {
        ...given,
        found,
        faultAt: (member, inProvider) =>
            refusal(found[member]) || faultOf(error, inProvider ? `provider.${form.provider}.${inProvider}` : member),
    };
    const cookieSize = sizeOf(form.cookie_prefix);
    return (
        <>
            <Pass {...inner} />
            <fieldset>
                <legend>{t("oauth.session")}</legend>
                <Durations {...inner} />
                <Field
                    label={t(TITLES.cookie_prefix)}
                    member="cookie_prefix"
                    hint={t("oauth.cookie_prefix_hint")}
                    fault={inner.faultAt("cookie_prefix")}
                    says={acceptedBytes(cookieSize, MAX_BYTES.OauthModule.cookie_prefix)}
                    text={form.cookie_prefix}
                    setText={(text) => change({ cookie_prefix: text })}
                    class="cookie_prefix"
                />
                <Tick
                    label={t(TITLES.options_passthrough)}
                    member="options_passthrough"
                    hint={t("oauth.options_passthrough_hint")}
                    isOn={form.options_passthrough}
                    set={(isOn) => change({ options_passthrough: isOn })}
                    class="options_passthrough"
                />
            </fieldset>
            {found.body && <p class="fault body">{refusal(found.body)}</p>}
        </>
    );
}
