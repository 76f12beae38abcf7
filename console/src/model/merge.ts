// SPDX-License-Identifier: MIT
// Two people changed the same thing.

// Returns the rules after the changes of both: what either added is there, what either removed is not.
export function mergeRules(before: string[], theirs: string[], yours: string[]): string[] {
    const isKept = (rule: string) => !before.includes(rule) || (theirs.includes(rule) && yours.includes(rule));
    return [...new Set([...theirs, ...yours])].filter(isKept);
}

// Returns the text after the changes of both.  Where both changed it, both texts stand there.
export function mergeText(before: string, theirs: string, yours: string, between: string): string {
    if (yours === before || yours === theirs) {
        return theirs;
    }
    if (theirs === before) {
        return yours;
    }
    return theirs && yours ? theirs + between + yours : theirs || yours;
}
