// SPDX-License-Identifier: MIT
// How many there are.  The interface does not count, so a page is read, and the others
// when the person asks.
import type { JSX } from "preact";
import { useEffect, useState } from "preact/hooks";
import { useFold } from "../../api/fold";
import { ANYONE, BINDS_EVERYTHING, DISABLED, NOBODY, NO_AUTHORITY } from "../../model/attention";
import { entryNumber, link, recall, remember } from "../../router";
import { number, t } from "../../text";
import { useFault } from "./faults";

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
    const found = useFold<unknown, number>({
        path,
        member: path,
        filter,
        first: 0,
        fold: (n, rows) => n + rows.length,
        pages: 1,
    });
    useFault(given.name, found.error, found.more);
    const n = number(found.state);
    const [entry] = useState(entryNumber);
    const counted = `counted ${given.name}`;
    const count = () => {
        remember(entry, counted, true);
        found.more();
    };
    const stop = () => {
        remember(entry, counted, false);
        found.stop();
    };
    // Back leads to what was counted.
    useEffect(() => {
        if (recall(entry, counted) && found.state > 0 && !found.isWhole && !found.isLoading && !found.error) {
            found.more();
        }
    }, [found.isLoading]);
    const isReading = found.isLoading && found.state > 0;
    return (
        <li class={"count " + given.name + (given.isWarning && found.state > 0 ? " attention" : "")}>
            <a href={link(given.room, { filter })}>{given.title}</a>
            <span class="number">
                {found.isWhole
                    ? n
                    : found.state > 0
                      ? t("overview.more_than", { n })
                      : t(found.error ? "overview.unread" : "overview.reading")}
            </span>
            {!found.isWhole && found.state > 0 && !found.error && (
                <button
                    type="button"
                    aria-label={t(isReading ? "overview.stop_counting" : "overview.count_all", { title: given.title })}
                    onClick={isReading ? stop : count}
                >
                    {isReading ? t("overview.stop") : t("overview.count")}
                </button>
            )}
        </li>
    );
}

const CREDENTIALS = ["credentials"];
const OAUTH = ["modules", "oauth"];
const MUTUAL_TLS = ["modules", "mutual_tls"];

export function Counts(): JSX.Element {
    const credentials = { path: "ssh_credentials", room: CREDENTIALS };
    const oauth = { path: "oauth_modules", room: OAUTH };
    const mutualTls = { path: "mutual_tls_modules", room: MUTUAL_TLS };
    return (
        <ul class="counts">
            <Count {...credentials} name="credentials" title={t("overview.credentials")} filter="" />
            <Count {...credentials} name="unlimited" title={t("overview.unlimited")} filter={BINDS_EVERYTHING} isWarning />
            <Count {...oauth} name="oauth" title={t("overview.oauth")} filter="" />
            <Count {...oauth} name="oauth-nobody" title={t("overview.oauth_nobody")} filter={NOBODY} isWarning />
            <Count {...oauth} name="oauth-anyone" title={t("overview.oauth_anyone")} filter={ANYONE} isWarning />
            <Count {...oauth} name="oauth-open" title={t("overview.oauth_open")} filter={DISABLED} isWarning />
            <Count {...mutualTls} name="mutual-tls" title={t("overview.mutual_tls")} filter="" />
            <Count
                {...mutualTls}
                name="mutual-tls-nobody"
                title={t("overview.mutual_tls_nobody")}
                filter={NO_AUTHORITY}
                isWarning
            />
            <Count {...mutualTls} name="mutual-tls-open" title={t("overview.mutual_tls_open")} filter={DISABLED} isWarning />
        </ul>
    );
}
