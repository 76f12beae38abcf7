// SPDX-License-Identifier: MIT
// The table of credentials, with its filter.
import type { JSX } from "preact";
import { useMemo } from "preact/hooks";
import { useList } from "../../api/list";
import type { Credential } from "../../api/types";
import { quote } from "../../model/filter";
import { ErrorBox } from "../../parts/error";
import { FilterForm, Narrow } from "../../parts/filter";
import { type Column, Table } from "../../parts/table";
import { Value } from "../../parts/value";
import { link } from "../../router";
import { session } from "../../session";
import { dateTime, t, tn, useLanguage } from "../../text";
import { useSyncedValue } from "../../value";
import { KeyCell } from "./key_cell";

const LIST = ["credentials"];

function limitOf(acl: string[]): string {
    if (acl.length === 0 || acl.includes("*") || acl.includes("bind:*")) {
        return t("credentials.no_limit");
    }
    return tn("credentials.rules", acl.length);
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
                <Narrow list={LIST} filter={filter} clause={`obj.owner_id == ${quote(row.owner_id)}`}>
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

export function CredentialList({ filter }: { filter: string }): JSX.Element {
    const query = useMemo(() => (filter ? { filter } : {}) as Record<string, string>, [filter]);
    const list = useList<Credential>("ssh_credentials", "ssh_credentials", query);
    const language = useLanguage();
    const all = useMemo(() => columns(filter), [language, filter]);
    const rights = useSyncedValue(session.state).rights;
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
                    {t("list.reload")}
                </button>
            </div>
            <FilterForm list={LIST} filter={filter} example={t("credentials.filter_example")} error={list.error} />
            <ErrorBox error={list.error} again={list.more} />
            <Table
                name="credentials"
                label={t("credentials.title")}
                columns={all}
                rows={list.rows}
                idOf={(row) => row.id}
                hasMore={list.hasMore && !list.error}
                more={list.more}
                isLoading={list.isLoading}
                loading={t("list.loading")}
                empty={list.error ? "" : filter ? t("credentials.none_match") : t("credentials.none")}
            />
        </>
    );
}
