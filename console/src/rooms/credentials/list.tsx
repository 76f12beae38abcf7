// SPDX-License-Identifier: MIT
// The table of credentials, with its filter.
import type { ComponentChildren, JSX } from "preact";
import { useEffect, useMemo, useState } from "preact/hooks";
import { useList } from "../../api/list";
import type { Credential } from "../../api/types";
import { both, quote } from "../../model/filter";
import { ErrorBox } from "../../parts/error";
import { Field } from "../../parts/field";
import { type Column, Table } from "../../parts/table";
import { Value } from "../../parts/value";
import { go, link } from "../../router";
import { session } from "../../session";
import { dateTime, t, tn, useLanguage } from "../../text";
import { useSyncedValue } from "../../value";
import { KeyCell } from "./key_cell";

function limitOf(acl: string[]): string {
    if (acl.length === 0 || acl.includes("*") || acl.includes("bind:*")) {
        return t("credentials.no_limit");
    }
    return tn("credentials.rules", acl.length);
}

// A value that narrows the list to rows with the same one.
function Narrow(given: { filter: string; clause: string; children: ComponentChildren }): JSX.Element {
    return (
        <a
            class="narrow"
            title={t("credentials.narrow")}
            href={link(["credentials"], { filter: both(given.filter, given.clause) })}
        >
            {given.children}
        </a>
    );
}

function columns(filter: string): Column<Credential>[] {
    return [
        {
            name: "description",
            title: t("credentials.description"),
            cell: (row) => (
                <a href={link(["credentials", row.id])}>
                    {row.description ? <Value text={row.description} /> : t("credentials.no_description")}
                </a>
            ),
        },
        { name: "key", title: t("credentials.key"), cell: (row) => <KeyCell text={row.public_key} /> },
        { name: "acl", title: t("credentials.acl"), cell: (row) => limitOf(row.acl) },
        {
            name: "owner",
            title: t("credentials.owner"),
            cell: (row) => (
                <Narrow filter={filter} clause={`obj.owner_id == ${quote(row.owner_id)}`}>
                    <code>{row.owner_id}</code>
                </Narrow>
            ),
        },
        {
            name: "created",
            title: t("credentials.created"),
            cell: (row) => (
                <time dateTime={row.created_at} title={row.created_at}>
                    {dateTime(row.created_at)}
                </time>
            ),
        },
    ];
}

function FilterForm({ filter, fault }: { filter: string; fault: string }): JSX.Element {
    const [text, setText] = useState(filter);
    useEffect(() => setText(filter), [filter]);
    return (
        <form
            class="filter"
            role="search"
            onSubmit={(event) => {
                event.preventDefault();
                go(link(["credentials"], { filter: text.trim() }));
            }}
        >
            <Field
                label={t("credentials.filter")}
                placeholder={t("credentials.filter_example")}
                fault={fault}
                text={text}
                setText={setText}
                class="filter-text"
            />
            <button type="submit">{t("credentials.apply")}</button>
            {filter && (
                <a class="button" href={link(["credentials"])}>
                    {t("credentials.all")}
                </a>
            )}
        </form>
    );
}

export function CredentialList({ filter }: { filter: string }): JSX.Element {
    const query = useMemo(() => (filter ? { filter } : {}) as Record<string, string>, [filter]);
    const list = useList<Credential>("ssh_credentials", "ssh_credentials", query);
    const language = useLanguage();
    const all = useMemo(() => columns(filter), [language, filter]);
    const rights = useSyncedValue(session.state).rights;
    const isFault = list.error?.number === "250";
    return (
        <>
            <div class="title">
                <h1>{t("credentials.title")}</h1>
                {rights?.writes !== "nothing" && (
                    <a class="button main" href={link(["credentials", "new"])}>
                        {t("credentials.new")}
                    </a>
                )}
                <button type="button" onClick={list.reload}>
                    {t("credentials.reload")}
                </button>
            </div>
            <FilterForm filter={filter} fault={isFault ? (list.error?.message ?? "") : ""} />
            <ErrorBox error={list.error} again={list.more} />
            <Table
                label={t("credentials.title")}
                columns={all}
                rows={list.rows}
                idOf={(row) => row.id}
                hasMore={list.hasMore && !list.error}
                more={list.more}
                isLoading={list.isLoading}
                loading={t("credentials.loading")}
                empty={list.error ? "" : filter ? t("credentials.none_match") : t("credentials.none")}
            />
        </>
    );
}
