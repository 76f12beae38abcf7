// SPDX-License-Identifier: MIT
// The account at a glance.
import type { JSX } from "preact";
import { session } from "../../session";
import { t } from "../../text";
import { useSyncedValue } from "../../value";
import type { Room } from "../room";
import { Changes } from "./changes";
import { Counts } from "./counts";
import { ExpiringKeys } from "./keys";

function View(): JSX.Element {
    const { rights } = useSyncedValue(session.state);
    return (
        <div class="overview">
            <h1>{t("overview.title")}</h1>
            <Counts />
            {rights?.isAdmin ? (
                <>
                    <Changes />
                    <ExpiringKeys />
                </>
            ) : (
                <p class="admins-only">{t("overview.admins_only")}</p>
            )}
        </div>
    );
}

export const overview: Room = { name: "overview", title: "overview.title", View };
