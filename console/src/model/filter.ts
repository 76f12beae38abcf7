// SPDX-License-Identifier: MIT
// Filters of lists, built by clicking: a subset of CEL, doc/openapi.yaml.

// Returns the text as a string of the filter's language, which has all of JSON's escapes.
export function quote(text: string): string {
    return JSON.stringify(text);
}

// Returns a filter for what matches both.  A clause that stands there is not added again.
export function both(filter: string, clause: string): string {
    const given = filter.trim();
    if (given === "" || given === clause) {
        return clause;
    }
    if (given.split(" && ").includes(clause)) {
        return given;
    }
    // && is tighter than ||.
    return `${given.includes("||") ? `(${given})` : given} && ${clause}`;
}
