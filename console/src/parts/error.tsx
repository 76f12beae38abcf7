// SPDX-License-Identifier: MIT
// An error in the server's words, with its number and what the operator needs to find it in the log.
import type { JSX } from "preact";
import { useEffect, useRef } from "preact/hooks";
import { ApiError } from "../api/error";
import { t } from "../text";
import { generally, ownWords } from "./error_words";
import { Value } from "./value";

function Message({ error }: { error: unknown }): JSX.Element {
    const own = ownWords(error);
    return own !== null ? (
        <span>{own}</span>
    ) : (
        <span lang="en">
            <Value text={(error as ApiError).message} />
        </span>
    );
}

interface Properties {
    error: unknown;
    again?: (() => void) | undefined;
    // Nobody waits for it, so the view stays where it is.
    isAside?: boolean;
}

export function ErrorBox({ error, again, isAside }: Properties): JSX.Element | null {
    const box = useRef<HTMLDivElement>(null);
    useEffect(() => {
        if (!isAside) {
            box.current?.scrollIntoView({ block: "nearest" });
        }
    }, [error]);
    if (!error) {
        return null;
    }
    const known = error instanceof ApiError ? error : null;
    return (
        <div class="error" role="alert" ref={box}>
            {known?.kind === "refused" && <p class="generally">{generally(known.status)}</p>}
            <p>
                <Message error={error} />
            </p>
            <p class="small">
                {known?.number && <span>{t("error.number", { number: known.number })} </span>}
                {known?.retryAfterS && <span>{t("error.retry_after", { n: known.retryAfterS })} </span>}
                {known?.operationId && (
                    <span>
                        {t("error.operation")} <code>{known.operationId}</code>
                    </span>
                )}
            </p>
            {again && (
                <button type="button" onClick={again}>
                    {t("error.again")}
                </button>
            )}
        </div>
    );
}
