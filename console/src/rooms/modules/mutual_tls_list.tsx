// SPDX-License-Identifier: MIT
// The table of mutual TLS modules, with its filter.
import type { JSX } from "preact";
import { useMemo } from "preact/hooks";
import { useList } from "../../api/list";
import type { ListedMutualTlsModule } from "../../api/types";
import { NO_AUTHORITY } from "../../model/attention";
import { quote } from "../../model/filter";
import { FilterForm, ListError, Narrow } from "../../parts/filter";
import { type Column, Table } from "../../parts/table";
import { link } from "../../router";
import { t, tn, useLanguage } from "../../text";
import { MUTUAL_TLS, NEW_MUTUAL_TLS } from "./address";
import { ListHead, State } from "./frame";
import { MutualTlsPassing } from "./passage";

// So many fit into a row.
const SHOWN_MAX = 3;

function columns(filter: string): Column<ListedMutualTlsModule>[] {
    return [
        {
            name: "edge",
            title: t("modules.edge"),
            cell: (row) => <a href={link([...MUTUAL_TLS, row.edge_id])}>{row.edge_id}</a>,
        },
        {
            name: "passes",
            title: t("modules.passes"),
            cell: (row) => <MutualTlsPassing isEnabled={row.enabled} n={row.certificate_authorities.length} />,
        },
        {
            name: "authorities",
            title: t("mutual_tls.authorities"),
            cell: (row) => (
                <>
                    {row.certificate_authorities.slice(0, SHOWN_MAX).map(({ id }, at) => (
                        <span key={id}>
                            {at > 0 && ", "}
                            <Narrow list={MUTUAL_TLS} filter={filter} clause={`${quote(id)} in obj.certificate_authority_ids`}>
                                {id}
                            </Narrow>
                        </span>
                    ))}
                    {row.certificate_authorities.length > SHOWN_MAX &&
                        " " + tn("modules.more", row.certificate_authorities.length - SHOWN_MAX)}
                </>
            ),
        },
        {
            name: "state",
            title: t("modules.enabled"),
            cell: (row) => <State list={MUTUAL_TLS} filter={filter} isEnabled={row.enabled} />,
        },
    ];
}

export function MutualTlsList({ filter }: { filter: string }): JSX.Element {
    const query = useMemo(() => (filter ? { filter } : {}) as Record<string, string>, [filter]);
    const list = useList<ListedMutualTlsModule>("mutual_tls_modules", "mutual_tls_modules", query);
    const language = useLanguage();
    const all = useMemo(() => columns(filter), [language, filter]);
    return (
        <>
            <ListHead list={MUTUAL_TLS} title={t("mutual_tls.title")} create={NEW_MUTUAL_TLS} reload={list.reload}>
                <a class="button closed" href={link(MUTUAL_TLS, { filter: NO_AUTHORITY })}>
                    {t("mutual_tls.closed")}
                </a>
            </ListHead>
            <FilterForm list={MUTUAL_TLS} filter={filter} example={t("mutual_tls.filter_example")} error={list.error} />
            <ListError error={list.error} again={list.more} />
            <Table
                name="mutual-tls"
                label={t("mutual_tls.title")}
                columns={all}
                rows={list.rows}
                idOf={(row) => row.edge_id}
                hasMore={list.hasMore && !list.error}
                more={list.more}
                isLoading={list.isLoading}
                loading={t("list.loading")}
                empty={list.error ? "" : filter ? t("modules.none_match") : t("mutual_tls.none")}
            />
        </>
    );
}
