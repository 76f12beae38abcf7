// SPDX-License-Identifier: MIT
// The table of OAuth modules, with its filter.
import type { JSX } from "preact";
import { useMemo } from "preact/hooks";
import { useList } from "../../api/list";
import { type Titles, useTitles } from "../../api/providers";
import type { ListedOauthModule } from "../../api/types";
import { ANYONE, DISABLED, NOBODY } from "../../model/attention";
import { quote } from "../../model/filter";
import { selected } from "../../model/oauth_module";
import { FilterForm, ListError, Narrow } from "../../parts/filter";
import { type Column, Table } from "../../parts/table";
import { link } from "../../router";
import { t, useLanguage } from "../../text";
import { NEW_OAUTH, OAUTH } from "./address";
import { ListHead, State } from "./frame";
import { OauthPassing } from "./passage";

function columns(filter: string, labelOf: Titles["labelOf"]): Column<ListedOauthModule>[] {
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
        { name: "passes", title: t("modules.passes"), cell: (row) => <OauthPassing module={row} admits={row.admits} /> },
        {
            name: "provider",
            title: t("oauth.provider"),
            cell: (row) => {
                const [name] = selected(row);
                return (
                    <Narrow list={OAUTH} filter={filter} clause={`obj.provider == ${quote(name)}`}>
                        {name ? labelOf(name) : t("oauth.no_provider")}
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

export function OauthList({ filter }: { filter: string }): JSX.Element {
    const query = useMemo(() => (filter ? { filter } : {}) as Record<string, string>, [filter]);
    const list = useList<ListedOauthModule>("oauth_modules", "oauth_modules", query);
    const { labelOf } = useTitles();
    const language = useLanguage();
    const all = useMemo(() => columns(filter, labelOf), [language, filter, labelOf]);
    return (
        <>
            <ListHead list={OAUTH} title={t("oauth.title")} create={NEW_OAUTH} reload={list.reload}>
                <a class="button closed" href={link(OAUTH, { filter: NOBODY })}>
                    {t("oauth.closed")}
                </a>
                <a class="button open" href={link(OAUTH, { filter: `${ANYONE} || ${DISABLED}` })}>
                    {t("oauth.open")}
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
