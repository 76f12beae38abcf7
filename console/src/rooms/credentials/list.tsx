// SPDX-License-Identifier: MIT
// The table of credentials, with its filter.
import type { ComponentChildren, JSX } from "preact";
import { useMemo } from "preact/hooks";
import { useList } from "../../api/list";
import type { Credential } from "../../api/types";
import { permitsEverything } from "../../model/acl";
import { clauseOfDay, dayOf, ownZone } from "../../model/days";
import { quote } from "../../model/filter";
import { FilterForm, ListError, Narrow } from "../../parts/filter";
import { type Column, Table } from "../../parts/table";
import { Value } from "../../parts/value";
import { link } from "../../router";
import { session } from "../../session";
import { dateTime, t, tn, useLanguage } from "../../text";
import { useSyncedValue } from "../../value";
import { KeyCell } from "./key_cell";

const LIST = ["credentials"];

const EVERYTHING = '(size(obj.acl) == 0 || "*" in obj.acl || "bind:*" in obj.acl)';

// What the rules permit in short, and the filter for others like that.
function limitOf(acl: string[]): [string, string] {
    return permitsEverything(acl)
        ? [t("credentials.no_limit"), EVERYTHING]
        : [tn("credentials.rules", acl.length), `size(obj.acl) == ${acl.length}`];
}

function columns(filter: string): Column<Credential>[] {
    const zone = ownZone();
    const narrow = (clause: string, children: ComponentChildren) => (
        <Narrow list={LIST} filter={filter} clause={clause}>
            {children}
        </Narrow>
    );
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
        { name: "key", title: t("credentials.key"), cell: (row) => <KeyCell text={row.public_key} narrow={narrow} /> },
        {
            name: "acl",
            title: t("credentials.acl"),
            cell: (row) => {
                const [words, clause] = limitOf(row.acl);
                return narrow(clause, words);
            },
        },
        {
            name: "owner",
            title: t("credentials.owner"),
            cell: (row) => narrow(`obj.owner_id == ${quote(row.owner_id)}`, <code>{row.owner_id}</code>),
        },
        {
            name: "created",
            title: t("credentials.created"),
            cell: (row) =>
                narrow(
                    clauseOfDay("obj.created_at", dayOf(row.created_at, zone), zone),
                    <time dateTime={row.created_at} title={row.created_at}>{dateTime(row.created_at)}</time>,
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
            <ListError error={list.error} again={list.more} />
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
