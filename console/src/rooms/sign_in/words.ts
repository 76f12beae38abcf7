// SPDX-License-Identifier: MIT
// What is said of a key: what is wrong with it, and what it may do.
import { ApiError, isRefusal } from "../../api/error";
import type { Rights } from "../../session";
import * as ERR from "../../model/errors";
import { type Key, t } from "../../text";

// The service's words for a malformed key are about a header, which nobody typed.
const MALFORMED = [ERR.AUTH_MISSING, ERR.AUTH_NOT_BEARER, ERR.KEY_MALFORMED];

export function malformed(status: number, number: number | null, operationId: string): ApiError {
    return new ApiError("refused", status, t("sign_in.malformed"), number, {}, operationId, null, false);
}

export function aboutKey(failed: unknown): unknown {
    return isRefusal(failed, MALFORMED) ? malformed(failed.status, failed.number, failed.operationId) : failed;
}

// A header takes no other characters.
export function isSendable(key: string): boolean {
    return /^[!-~]+$/.test(key);
}

const WRITES: Record<Rights["writes"], Key> = {
    all: "main.writes_all",
    own: "main.writes_own",
    nothing: "main.writes_nothing",
};

export function rightsText({ isAdmin, writes }: Rights): string {
    return `${t(isAdmin ? "main.admin" : "main.not_admin")} ${t(WRITES[writes])}`;
}
