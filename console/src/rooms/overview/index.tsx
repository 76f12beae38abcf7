// SPDX-License-Identifier: MIT
// The account at a glance.
import type { JSX } from "preact";
import { useState } from "preact/hooks";
import { session } from "../../session";
import { t } from "../../text";
import { useSyncedValue } from "../../value";
import type { Room } from "../room";
import { Changes } from "./changes";
import { Counts } from "./counts";
import { FaultBoxes, type Faults, FaultsContext } from "./faults";
import { ExpiringKeys } from "./keys";

function View(): JSX.Element {
    const { rights } = useSyncedValue(session.state);
    const [faults, setFaults] = useState<Faults>({});
    const [round, setRound] = useState(0);
    return (
        <div class="overview">
            <div class="title">
                <h1>{t("overview.title")}</h1>
                <button type="button" class="reload" onClick={() => setRound(round + 1)}>
                    {t("list.reload")}
                </button>
            </div>
            <FaultBoxes faults={faults} />
            <FaultsContext.Provider value={setFaults} key={round}>
                <Counts />
                {rights?.isAdmin ? (
                    <>
                        <Changes />
                        <ExpiringKeys />
                    </>
                ) : (
                    <p class="admins-only">{t("overview.admins_only")}</p>
                )}
            </FaultsContext.Provider>
        </div>
    );
}

export const overview: Room = { name: "overview", title: "overview.title", View };
