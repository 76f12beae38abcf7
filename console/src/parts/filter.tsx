// SPDX-License-Identifier: MIT
// The filter of a list: as text, and narrowed by a click.  It is in the address.
import type { ComponentChildren, JSX } from "preact";
import { useEffect, useLayoutEffect, useRef, useState } from "preact/hooks";
import type { ApiError } from "../api/error";
import * as ERR from "../model/errors";
import { both } from "../model/filter";
import { SEARCHABLE, isWord } from "../model/search";
import { go, link, rememberList } from "../router";
import { type Key, t } from "../text";
import { ErrorBox } from "./error";
import { Field } from "./field";

// A value that narrows the list at that address to rows with the same one.
export function Narrow(given: { list: string[]; filter: string; clause: string; children: ComponentChildren }): JSX.Element {
    return (
        <a class="narrow" title={t("list.narrow")} href={link(given.list, { filter: both(given.filter, given.clause) })}>
            {given.children}
        </a>
    );
}

// Where a word is looked for, as src/model/search.ts has it.
const SEARCHED: Record<string, Key> = {
    credentials: "list.searched_credentials",
    oauth: "list.searched_oauth",
    mutual_tls: "list.searched_mutual_tls",
    history: "list.searched_history",
};

// Beside it, FilterForm shows what is wrong with the filter itself.
export function ListError({ error, again }: { error: ApiError | null; again(): void }): JSX.Element {
    return <ErrorBox error={error?.number === ERR.FILTER ? null : error} again={again} />;
}

// After a malformed filter: what one may name, and one that works.
function Help({ list, example }: { list: string[]; example: string }): JSX.Element {
    const members = SEARCHABLE[list.at(-1) ?? ""]?.members ?? [];
    return (
        <p class="small filter-help">
            {t("list.filter_members", { members: members.map((name) => "obj." + name).join(", ") })} {t("list.filter_example")}{" "}
            <a href={link(list, { filter: example })}>
                <code>{example}</code>
            </a>
        </p>
    );
}

export function FilterForm(given: {
    list: string[];
    filter: string;
    example: string;
    error: ApiError | null;
    // Other fields, before the text.
    children?: ComponentChildren;
}): JSX.Element {
    const { list, filter, error } = given;
    const [text, setText] = useState(filter);
    const shown = useRef(filter);
    // Not at the start: the person may be typing already.
    useEffect(() => {
        if (shown.current !== filter) {
            shown.current = filter;
            setText(filter);
        }
    }, [filter]);
    useLayoutEffect(() => rememberList(list, filter), [list.join("/"), filter]);
    const searched = SEARCHED[list.at(-1) ?? ""];
    const typed = text.trim();
    const fault = error?.number === ERR.FILTER && typed === filter ? error : null;
    const find = SEARCHABLE[list.at(-1) ?? ""]?.find;
    return (
        <form
            class="filter"
            role="search"
            onSubmit={(event) => {
                event.preventDefault();
                go(link(list, { filter: find && isWord(typed) ? find(typed) : typed }));
            }}
        >
            {given.children}
            <Field
                label={t("list.filter")}
                placeholder={given.example}
                hint={`${t("list.filter_hint")} ${searched ? t(searched) : ""} ${t("list.filter_case")}`}
                fault={fault ? `${fault.message} ${t("error.number", { number: ERR.FILTER })}` : ""}
                text={text}
                setText={setText}
                class="filter-text"
            />
            <button type="submit">{t("list.apply")}</button>
            {filter && (
                <a class="button" href={link(list)}>
                    {t("list.all")}
                </a>
            )}
            {fault && <Help list={list} example={given.example} />}
        </form>
    );
}
