// SPDX-License-Identifier: MIT
// What is said of an error beside the server's words, and where: it may be about a field.
import { ApiError } from "../api/error";
import { isAbout } from "../model/fault";
import { type Key, t } from "../text";

// The web server's words, which are the same for all requests.
const NO_SERVICE = 9055;
const SERVICE_LATE = 9056;

// Returns the console's own words, or null if the server's are shown.
export function ownWords(error: unknown): string | null {
    if (!(error instanceof ApiError)) {
        return t("error.bug", { text: String(error) });
    }
    const maybe = error.isWrite ? " " + t("error.maybe") : "";
    if (!error.isWrite && error.number === NO_SERVICE) {
        return t("error.unreachable");
    }
    if (!error.isWrite && error.number === SERVICE_LATE) {
        return t("error.late");
    }
    switch (error.kind) {
        case "refused":
            return null;
        case "timeout":
            return t("error.timeout") + maybe;
        case "unreachable":
            return t("error.unreachable") + maybe;
        case "unreadable":
            return t("error.unreadable", { status: error.status }) + maybe;
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

export function generally(status: number): string {
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
