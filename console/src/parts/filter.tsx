// SPDX-License-Identifier: MIT
// The filter of a list: as text, and narrowed by a click.  It is in the address.
import type { ComponentChildren, JSX } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";
import type { ApiError } from "../api/client";
import { both } from "../model/filter";
import { go, link } from "../router";
import { t } from "../text";
import { Field } from "./field";

// The server's number for a malformed filter.
const MALFORMED = "250";

// A value that narrows the list at that address to rows with the same one.
export function Narrow(given: { list: string[]; filter: string; clause: string; children: ComponentChildren }): JSX.Element {
    return (
        <a class="narrow" title={t("list.narrow")} href={link(given.list, { filter: both(given.filter, given.clause) })}>
            {given.children}
        </a>
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
    return (
        <form
            class="filter"
            role="search"
            onSubmit={(event) => {
                event.preventDefault();
                go(link(list, { filter: text.trim() }));
            }}
        >
            {given.children}
            <Field
                label={t("list.filter")}
                placeholder={given.example}
                fault={error?.number === MALFORMED ? error.message : ""}
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
        </form>
    );
}
