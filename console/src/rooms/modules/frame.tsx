// SPDX-License-Identifier: MIT
// What the views of this room share: the choice of a list, who may pass, and where a module is.
import type { ComponentChildren, JSX } from "preact";
import * as ERR from "../../model/errors";
import { isIdent } from "../../model/ident";
import { finding } from "../../model/module";
import { Field } from "../../parts/field";
import { Narrow } from "../../parts/filter";
import { acceptedBytes, refusal } from "../../parts/finding";
import { HistoryLink } from "../../parts/history_link";
import { link } from "../../router";
import { session } from "../../session";
import { type Key, t } from "../../text";
import { useSyncedValue } from "../../value";
import { MUTUAL_TLS, OAUTH } from "./address";
import { onOff } from "./words";

const IDENT_MAX = 255;

const LISTS: [string[], Key][] = [
    [OAUTH, "modules.oauth"],
    [MUTUAL_TLS, "modules.mutual_tls"],
];

// Keys for own credentials, and read-only ones, change no module.
export function useMayWrite(): boolean {
    return useSyncedValue(session.state).rights?.writes === "all";
}

export function ListHead(given: {
    list: string[];
    title: string;
    create: string[];
    reload(): void;
    children: ComponentChildren;
}): JSX.Element {
    const mayWrite = useMayWrite();
    return (
        <>
            <nav class="kinds" aria-label={t("modules.kinds")}>
                {LISTS.map(([list, title]) => (
                    <a key={title} href={link(list)} aria-current={list === given.list ? "page" : undefined}>
                        {t(title)}
                    </a>
                ))}
            </nav>
            <div class="title">
                <h1>{given.title}</h1>
                {mayWrite && (
                    <a class="button main" href={link(given.create)}>
                        {t("modules.new")}
                    </a>
                )}
                {given.children}
                <button type="button" onClick={given.reload}>
                    {t("list.reload")}
                </button>
            </div>
        </>
    );
}

// Whether a module is on; a click narrows the list.
export function State(given: { list: string[]; filter: string; isEnabled: boolean }): JSX.Element {
    return (
        <Narrow list={given.list} filter={given.filter} clause={`obj.enabled == ${given.isEnabled}`}>
            {onOff(given.isEnabled)}
        </Narrow>
    );
}

interface IdentField {
    text: string;
    setText(text: string): void;
    autofocus?: boolean;
}

// An identifier in an address.
function IdentText({ called, name, text, setText, autofocus }: IdentField & { called: Key; name: string }): JSX.Element {
    const isBad = text !== "" && !isIdent(text);
    return (
        <Field
            label={t(called)}
            member={name}
            hint={t("modules.ident_hint")}
            fault={
                isBad
                    ? refusal(finding(ERR.IDENTIFIER_MALFORMED, /\s/.test(text) ? "ident_space" : "ident", { entry: text }))
                    : ""
            }
            says={text && acceptedBytes(text.length, IDENT_MAX)}
            text={text}
            setText={setText}
            autofocus={autofocus ?? false}
            class={name}
        />
    );
}

export function EdgeField(given: IdentField): JSX.Element {
    return <IdentText called="modules.edge" name="edge_id" {...given} />;
}

export function RouteField(given: IdentField): JSX.Element {
    return <IdentText called="modules.route" name="id" {...given} />;
}

// Where a module is.  That cannot be changed.
export function Place({ edge, route }: { edge: string; route?: string }): JSX.Element {
    return (
        <dl class="facts">
            <dt>{t("modules.edge")}</dt>
            <dd>
                <code>{edge}</code> {route === undefined && <HistoryLink resource={edge} />}
            </dd>
            {route !== undefined && (
                <>
                    <dt>{t("modules.route")}</dt>
                    <dd>
                        <code>{route}</code> <HistoryLink resource={`${edge}/${route}`} />
                    </dd>
                </>
            )}
        </dl>
    );
}
