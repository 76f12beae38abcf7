// SPDX-License-Identifier: MIT
// What a refusal is about: details.field, such as acl[3] or provider.NAME.client_id.

// The service judges these together.
const TOGETHER = ["provider", "client_id", "client_secret", "scopes"];

// Whether the reason may be gone once these members are changed.  Without a field, it is about all.
export function isAbout(field: string, changed: string[]): boolean {
    const parts = field.split(/[.[\]]+/);
    const isOne = (name: string) => parts.includes(name) || (TOGETHER.includes(name) && TOGETHER.includes(parts.at(-1) ?? ""));
    return field === "" || changed.some(isOne);
}
