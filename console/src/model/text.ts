// SPDX-License-Identifier: MIT
// Texts as the interface counts and accepts them.

// Bytes in UTF-8.
export function sizeOf(text: string): number {
    return new TextEncoder().encode(text).length;
}

// Returns the text, or "" if it has only spaces, which nobody can see or click.
export function seen(text: string): string {
    return /[^\s\u2800\u3164]/u.test(text) ? text : "";
}

// No text has U+0000 or half of a surrogate pair: error 213.
export function isText(text: string): boolean {
    return !/[\u0000\p{Surrogate}]/u.test(text);
}
