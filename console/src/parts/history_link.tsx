// SPDX-License-Identifier: MIT
// From a resource to its changes.  An OAuth module's identifier is EDGE/ROUTE, a mutual TLS module's is
// its edge.
import type { JSX } from "preact";
import { link } from "../router";
import { t } from "../text";

export function HistoryLink({ resource }: { resource: string }): JSX.Element {
    return (
        <a class="history-link" href={link(["history"], { resource })}>
            {t("history.of_this")}
        </a>
    );
}
