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

    const other = error ? now.otherwise?.(error) : null;

    async function attempt(work: (() => Promise<void>) | undefined): Promise<void> {
        setBusy(true);
        setError(null);
        try {
            await work?.();
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
                {other && <span>{other.why}</span>}
                {other && (
                    <button type="button" class="otherwise" disabled={isBusy} onClick={() => void attempt(other.act)}>
                        {other.label}
                    </button>
                )}
                {now.undo && !other && (
                    <button type="button" class="undo" disabled={isBusy} onClick={() => void attempt(now.undo)}>
                        {t("notice.undo")}
                    </button>
                )}
                <button type="button" class="close" onClick={() => notice.close(now.id)}>
                    {t("notice.close")}
                </button>
            </p>
            {!other && <ErrorBox error={error} />}
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
