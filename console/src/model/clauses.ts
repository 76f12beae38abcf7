// SPDX-License-Identifier: MIT
// Clauses of a filter, which clicks replace.  Those that somebody typed stay.
import { both } from "./filter";

// Splits at each && that stands in no brackets and no string.  A filter with such a || is one clause.
export function clausesOf(filter: string): string[] {
    const clauses: string[] = [];
    let start = 0;
    let depth = 0;
    let quoted = "";
    for (let at = 0; at < filter.length; at++) {
        const now = filter.charAt(at);
        const two = filter.slice(at, at + 2);
        if (quoted) {
            at += now === "\\" ? 1 : 0;
            quoted = now === quoted ? "" : quoted;
        } else if (now === '"' || now === "'") {
            quoted = now;
        } else if ("([".includes(now)) {
            depth++;
        } else if (")]".includes(now)) {
            depth--;
        } else if (depth === 0 && two === "||") {
            return [filter.trim()];
        } else if (depth === 0 && two === "&&") {
            clauses.push(filter.slice(start, at).trim());
            start = at + 2;
            at++;
        }
    }
    return [...clauses, filter.slice(start).trim()].filter(Boolean);
}

function begins(clause: string, members: string[]): boolean {
    return members.some((member) => clause.startsWith(member) && !/^\w/.test(clause.slice(member.length)));
}

// Returns the clauses that begin with one of the members, such as obj.event.
export function clausesAbout(filter: string, ...members: string[]): string[] {
    return clausesOf(filter).filter((clause) => begins(clause, members));
}

// Returns the filter with that clause instead of those about the members.  "" removes them.
export function withClause(filter: string, members: string[], clause: string): string {
    const kept = clausesOf(filter).filter((one) => !begins(one, members));
    const rest = kept.join(" && ");
    return clause ? both(rest, clause) : rest;
}
