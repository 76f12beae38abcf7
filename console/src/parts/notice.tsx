// SPDX-License-Identifier: MIT
// The notices below the view: always in sight, and read aloud.
import type { JSX } from "preact";
import { useState } from "preact/hooks";
import { type Shown, notice } from "../notice";
import { t } from "../text";
import { useSyncedValue } from "../value";
import { ErrorBox } from "./error";
import { Value } from "./value";

function Line({ now }: { now: Shown }): JSX.Element {
    const [error, setError] = useState<unknown>(null);
    const [isBusy, setBusy] = useState(false);

    async function undo(): Promise<void> {
        setBusy(true);
        setError(null);
        try {
            await now.undo?.();
            notice.close(now.id);
        } catch (failed) {
            setError(failed);
            setBusy(false);
        }
    }

    return (
        <>
            <p>
                <Value text={typeof now.text === "string" ? now.text : now.text()} />
                {now.open && <a href={now.open}>{t("notice.open")}</a>}
                {now.undo && (
                    <button type="button" class="undo" disabled={isBusy} onClick={() => void undo()}>
                        {t("notice.undo")}
                    </button>
                )}
                <button type="button" class="close" onClick={() => notice.close(now.id)}>
                    {t("notice.close")}
                </button>
            </p>
            <ErrorBox error={error} />
        </>
    );
}

export function NoticeBar(): JSX.Element {
    return (
        <div class="notice" role="status">
            {useSyncedValue(notice.shown).map((one) => (
                <Line key={one.id} now={one} />
            ))}
        </div>
    );
}
