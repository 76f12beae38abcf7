// SPDX-License-Identifier: MIT
// Identifiers that callers choose: of edges, routes and certificate authorities.

export function isIdent(text: string): boolean {
    return /^[A-Za-z0-9._~-]{1,255}$/.test(text) && text !== "." && text !== "..";
}
