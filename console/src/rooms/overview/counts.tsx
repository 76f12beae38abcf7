// SPDX-License-Identifier: MIT
// How many there are.  The interface does not count, so a page of at most 100 is read, and the others
// when the person asks.
import type { JSX } from "preact";
import { useFold } from "../../api/fold";
import { ErrorBox } from "../../parts/error";
import { link } from "../../router";
import { number, t } from "../../text";

interface Properties {
    name: string;
    title: string;
    // The list in the interface, and in the console.
    path: string;
    room: string[];
    filter: string;
    // Each one needs somebody's attention.
    isWarning?: boolean;
}

function Count(given: Properties): JSX.Element {
    const { path, filter } = given;
    const found = useFold<unknown, number>({ path, member: path, filter, first: 0, fold: (n, rows) => n + rows.length, pages: 1 });
    const n = number(found.state);
    const isReading = found.isLoading && found.state > 0;
    return (
        <li class={"count " + given.name + (given.isWarning && found.state > 0 ? " attention" : "")}>
            <a href={link(given.room, { filter })}>{given.title}</a>
            <span class="number">
                {found.isWhole ? n : found.state > 0 ? t("overview.more_than", { n }) : found.error ? "" : t("overview.reading")}
            </span>
            {!found.isWhole && found.state > 0 && !found.error && (
                <button type="button" aria-label={t(isReading ? "overview.stop_counting" : "overview.count_all", { title: given.title })} onClick={isReading ? found.stop : found.more}>
                    {isReading ? t("overview.stop") : t("overview.count")}
                </button>
            )}
            <ErrorBox error={found.error} again={found.more} />
        </li>
    );
}

const ANYTHING = 'size(obj.acl) == 0 || "*" in obj.acl || "bind:*" in obj.acl';

export function Counts(): JSX.Element {
    return (
        <ul class="counts">
            <Count name="credentials" title={t("overview.credentials")} path="ssh_credentials" room={["credentials"]} filter="" />
            <Count
                name="unlimited"
                title={t("overview.unlimited")}
                path="ssh_credentials"
                room={["credentials"]}
                filter={ANYTHING}
                isWarning
            />
            <Count name="oauth" title={t("overview.oauth")} path="oauth_modules" room={["modules", "oauth"]} filter="" />
            <Count
                name="oauth-nobody"
                title={t("overview.oauth_nobody")}
                path="oauth_modules"
                room={["modules", "oauth"]}
                filter="obj.enabled && obj.provider == null"
                isWarning
            />
            <Count
                name="mutual-tls"
                title={t("overview.mutual_tls")}
                path="mutual_tls_modules"
                room={["modules", "mutual_tls"]}
                filter=""
            />
            <Count
                name="mutual-tls-nobody"
                title={t("overview.mutual_tls_nobody")}
                path="mutual_tls_modules"
                room={["modules", "mutual_tls"]}
                filter="obj.enabled && size(obj.certificate_authority_ids) == 0"
                isWarning
            />
        </ul>
    );
}
