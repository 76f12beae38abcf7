// SPDX-License-Identifier: MIT
// Two people changed the same thing.

// Returns the list after the changes of both: what either added is there, what either removed is not.
export function mergeList(before: string[], theirs: string[], yours: string[]): string[] {
    const isKept = (entry: string) => !before.includes(entry) || (theirs.includes(entry) && yours.includes(entry));
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

// Returns the value after the changes of both.  There is one, so where both changed it, it is yours.
export function mergeOne<T>(before: T, theirs: T, yours: T): T {
    return yours === before ? theirs : yours;
}
