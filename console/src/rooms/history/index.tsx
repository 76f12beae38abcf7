// SPDX-License-Identifier: MIT
// The account's changes: #/history, #/history/EVENT, #/history/EVENT/before, #/history/EVENT/after.
// #/history?resource=ID is the history of one resource.
import type { JSX } from "preact";
import { both, quote } from "../../model/filter";
import type { Route } from "../../router";
import { session } from "../../session";
import { t } from "../../text";
import { useSyncedValue } from "../../value";
import type { Room } from "../room";
import { EventView } from "./event";
import { Restore } from "./restore";
import { Timeline } from "./timeline";

function filterOf(query: Record<string, string>): string {
    const filter = query["filter"] ?? "";
    const resource = query["resource"] ?? "";
    return resource ? both(filter, `obj.resource.id == ${quote(resource)}`) : filter;
}

function View({ route }: { route: Route }): JSX.Element {
    const { rights } = useSyncedValue(session.state);
    const [, id, side] = route.parts;
    if (!rights?.isAdmin) {
        return (
            <>
                <h1>{t("history.title")}</h1>
                <p class="warning">{t("history.admins_only")}</p>
            </>
        );
    }
    if (id === undefined) {
        return <Timeline filter={filterOf(route.query)} />;
    }
    if (side === "before" || side === "after") {
        return <Restore key={id + side} id={id} side={side} />;
    }
    return <EventView key={id} id={id} />;
}

export const history: Room = { name: "history", title: "history.title", View };
