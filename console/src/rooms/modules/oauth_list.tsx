// SPDX-License-Identifier: MIT
// The table of OAuth modules, with its filter.
import type { JSX } from "preact";
import { useEffect, useMemo, useState } from "preact/hooks";
import { useList } from "../../api/list";
import { readKnownProviders } from "../../api/providers";
import type { ListedOauthModule } from "../../api/types";
import { lettingNobodyIn } from "../../model/attention";
import { quote } from "../../model/filter";
import { selected } from "../../model/oauth_module";
import { FilterForm, ListError, Narrow } from "../../parts/filter";
import { type Column, Table } from "../../parts/table";
import { link } from "../../router";
import { session } from "../../session";
import { t, useLanguage } from "../../text";
import { useSyncedValue } from "../../value";
import { NEW_OAUTH, OAUTH } from "./address";
import { ListHead, State } from "./frame";
import { OauthPassing } from "./passage";

function columns(filter: string): Column<ListedOauthModule>[] {
    return [
        {
            name: "route",
            title: t("modules.route_and_edge"),
            cell: (row) => (
                <>
                    <a href={link([...OAUTH, row.edge_id, row.id])}>{row.id}</a>
                    <Narrow list={OAUTH} filter={filter} clause={`obj.edge_id == ${quote(row.edge_id)}`}>
                        {row.edge_id}
                    </Narrow>
                </>
            ),
        },
        { name: "passes", title: t("modules.passes"), cell: (row) => <OauthPassing module={row} /> },
        {
            name: "provider",
            title: t("oauth.provider"),
            cell: (row) => {
                const [name] = selected(row);
                return (
                    <Narrow list={OAUTH} filter={filter} clause={`obj.provider == ${quote(name)}`}>
                        {name || t("oauth.no_provider")}
                    </Narrow>
                );
            },
        },
        {
            name: "state",
            title: t("modules.enabled"),
            cell: (row) => <State list={OAUTH} filter={filter} isEnabled={row.enabled} />,
        },
    ];
}

// Until they are known, and if they cannot be read, none.
function useKnownProviders(): string[] {
    const [names, setNames] = useState<string[]>([]);
    const { keyNumber } = useSyncedValue(session.state);
    useEffect(() => void readKnownProviders().then(setNames, () => setNames([])), [keyNumber]);
    return names;
}

export function OauthList({ filter }: { filter: string }): JSX.Element {
    const query = useMemo(() => (filter ? { filter } : {}) as Record<string, string>, [filter]);
    const list = useList<ListedOauthModule>("oauth_modules", "oauth_modules", query);
    const providers = useKnownProviders();
    const language = useLanguage();
    const all = useMemo(() => columns(filter), [language, filter]);
    return (
        <>
            <ListHead list={OAUTH} title={t("oauth.title")} create={NEW_OAUTH} reload={list.reload}>
                <a class="button closed" href={link(OAUTH, { filter: lettingNobodyIn(providers) })}>
                    {t("oauth.closed")}
                </a>
            </ListHead>
            <FilterForm list={OAUTH} filter={filter} example={t("oauth.filter_example")} error={list.error} />
            <ListError error={list.error} again={list.more} />
            <Table
                name="oauth"
                label={t("oauth.title")}
                columns={all}
                rows={list.rows}
                idOf={(row) => row.edge_id + "/" + row.id}
                hasMore={list.hasMore && !list.error}
                more={list.more}
                isLoading={list.isLoading}
                loading={t("list.loading")}
                empty={list.error ? "" : filter ? t("modules.none_match") : t("oauth.none")}
            />
        </>
    );
}
