// SPDX-License-Identifier: MIT
// An error in the server's words, with its number and what the operator needs to find it in the log.
import type { JSX } from "preact";
import { useEffect, useRef } from "preact/hooks";
import { ApiError } from "../api/client";
import { isAbout } from "../model/fault";
import { type Key, t } from "../text";
import { Value } from "./value";

// The web server's words, which are the same for all requests.
const NO_SERVICE = 9055;
const SERVICE_LATE = 9056;

function messageOf(error: unknown): JSX.Element {
    if (!(error instanceof ApiError)) {
        return <>{t("error.bug", { text: String(error) })}</>;
    }
    const maybe = error.isWrite ? " " + t("error.maybe") : "";
    if (!error.isWrite && error.number === NO_SERVICE) {
        return <>{t("error.unreachable")}</>;
    }
    if (!error.isWrite && error.number === SERVICE_LATE) {
        return <>{t("error.late")}</>;
    }
    switch (error.kind) {
        case "refused":
            return (
                <span lang="en">
                    <Value text={error.message} />
                </span>
            );
        case "timeout":
            return <>{t("error.timeout") + maybe}</>;
        case "unreachable":
            return <>{t("error.unreachable") + maybe}</>;
        case "unreadable":
            return <>{t("error.unreadable", { status: error.status }) + maybe}</>;
    }
}

// What happened in general, in the reader's language: the server's words are English.
const GENERALLY: Record<number, Key> = {
    401: "error.generally_key",
    403: "error.generally_forbidden",
    404: "error.generally_missing",
    409: "error.generally_conflict",
    412: "error.generally_changed",
    413: "error.generally_large",
    429: "error.generally_often",
};

function generally(status: number): string {
    return t(GENERALLY[status] ?? (status >= 500 ? "error.generally_unable" : "error.generally_refused"));
}

// The server's reason where it is about the member with that name, or one of its elements.
export function faultOf(error: unknown, member: string): string {
    const field = error instanceof ApiError ? (error.details["field"] ?? "") : "";
    return field === member || field.startsWith(member + "[") ? (error as ApiError).message : "";
}

// Refusals of what was sent.  Others are about the key, the service or somebody else's change.
const OF_CONTENT = [400, 404, 409, 413, 422];

// Returns the error as long as it may still hold after these members were changed.
export function afterChange(error: unknown, changed: string[]): unknown {
    const isGone =
        error instanceof ApiError && OF_CONTENT.includes(error.status) && isAbout(error.details["field"] ?? "", changed);
    return isGone ? null : error;
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
            <p>{messageOf(error)}</p>
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
