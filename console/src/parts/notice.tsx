// SPDX-License-Identifier: MIT
// The notice above the view.
import type { JSX } from "preact";
import { useEffect, useState } from "preact/hooks";
import { notice } from "../notice";
import { t } from "../text";
import { useSyncedValue } from "../value";
import { ErrorBox } from "./error";
import { Value } from "./value";

export function NoticeBar(): JSX.Element {
    const now = useSyncedValue(notice);
    const [error, setError] = useState<unknown>(null);
    const [isBusy, setBusy] = useState(false);
    useEffect(() => setError(null), [now]);

    async function undo(): Promise<void> {
        setBusy(true);
        setError(null);
        try {
            await now?.undo?.();
        } catch (failed) {
            setError(failed);
        } finally {
            setBusy(false);
        }
    }

    return (
        <div class="notice" role="status">
            {now && (
                <p>
                    <Value text={now.text} />
                    {now.undo && (
                        <button type="button" class="undo" disabled={isBusy} onClick={() => void undo()}>
                            {t("notice.undo")}
                        </button>
                    )}
                    <button type="button" onClick={() => notice.set(null)}>
                        {t("notice.close")}
                    </button>
                </p>
            )}
            <ErrorBox error={error} />
        </div>
    );
}
