// SPDX-License-Identifier: MIT
// What the server would say of what is typed, before it is asked.
import type { DomainFault } from "./domain";
import * as ERR from "./errors";
import { isText, sizeOf } from "./text";

// What is wrong.  texts/ has words for each, under fault.
export type Fault =
    | `domain_${DomainFault}`
    | "body_size"
    | "body_values"
    | "cookie"
    | "email"
    | "email_local"
    | "entry_empty"
    | "entry_long"
    | "ident"
    | "ident_space"
    | "id_missing"
    | "long"
    | "many"
    | "mention"
    | "number"
    | "repeated"
    | "rule"
    | "scopes_managed"
    | "secret_again"
    | "secret_missing"
    | "team"
    | "text";

export interface Finding {
    // The server's error.
    number: number;
    fault: Fault;
    // What it is about: the entry of a list.
    entry: string;
    // How much there is, and may be.
    n: number;
    max: number;
}

export const ENTRIES_MAX = 1000;
const BODY_MAX = 65536;
const VALUES_MAX = 4000;

export function finding(number: number, fault: Fault, more: Partial<Finding> = {}): Finding {
    return { number, fault, entry: "", n: 0, max: 0, ...more };
}

export function hasFault(found: Record<string, Finding | null | undefined>): boolean {
    return Object.values(found).some(Boolean);
}

export function checkText(text: string, max: number, tooLong: number): Finding | null {
    if (!isText(text)) {
        return finding(ERR.BODY_NOT_JSON, "text");
    }
    const n = sizeOf(text);
    return n > max ? finding(tooLong, "long", { n, max }) : null;
}

// A list's limits, and the errors' numbers.
export interface ListRules {
    tooMany: number;
    empty?: number;
    // Absent: an entry may be there twice.
    repeated?: number;
    max?: number;
    tooLong?: number;
    // The form of an entry.
    malformed?: number;
    faultOf?(entry: string): Fault | null;
}

function checkEntry(entry: string, rules: ListRules): Finding | null {
    if (!isText(entry)) {
        return finding(ERR.BODY_NOT_JSON, "text", { entry });
    }
    if (entry === "" && rules.empty !== undefined) {
        return finding(rules.empty, "entry_empty");
    }
    const n = sizeOf(entry);
    if (rules.max !== undefined && rules.tooLong !== undefined && n > rules.max) {
        return finding(rules.tooLong, "entry_long", { entry, n, max: rules.max });
    }
    const fault = rules.faultOf?.(entry);
    return fault && rules.malformed !== undefined ? finding(rules.malformed, fault, { entry }) : null;
}

// Returns what the server finds first.
export function checkList(entries: string[], rules: ListRules): Finding | null {
    if (entries.length > ENTRIES_MAX) {
        return finding(rules.tooMany, "many", { n: entries.length, max: ENTRIES_MAX });
    }
    for (const entry of entries) {
        const found = checkEntry(entry, rules);
        if (found) {
            return found;
        }
    }
    if (rules.repeated === undefined) {
        return null;
    }
    const seen = new Set<string>();
    const twice = entries.find((entry) => seen.size === seen.add(entry).size);
    return twice === undefined ? null : finding(rules.repeated, "repeated", { entry: twice });
}

function countValues(value: unknown): number {
    const parts: unknown[] = value !== null && typeof value === "object" ? Object.values(value) : [];
    return parts.reduce((sum: number, part) => sum + countValues(part), 1);
}

// The limits of a whole request.
export function checkBody(body: unknown): Finding | null {
    const n = sizeOf(JSON.stringify(body));
    if (n > BODY_MAX) {
        return finding(ERR.BODY_TOO_LARGE, "body_size", { n, max: BODY_MAX });
    }
    const values = countValues(body);
    return values > VALUES_MAX ? finding(ERR.BODY_NOT_JSON, "body_values", { n: values, max: VALUES_MAX }) : null;
}
