// SPDX-License-Identifier: MIT
// What a request may end in instead of an answer.

// A refusal, or no answer.  The message is the server's own where it has one.
export class ApiError extends Error {
    constructor(
        readonly kind: "refused" | "unreachable" | "timeout" | "unreadable",
        readonly status: number,
        message: string,
        readonly number: number | null,
        readonly details: Record<string, string>,
        readonly operationId: string,
        readonly retryAfterS: number | null,
        // Without an answer, something may have been changed all the same.
        readonly isWrite: boolean,
    ) {
        super(message);
    }
}

// Whether the service refused it with one of these numbers.
export function isRefusal(failed: unknown, numbers: number[]): failed is ApiError {
    return failed instanceof ApiError && failed.number !== null && numbers.includes(failed.number);
}
