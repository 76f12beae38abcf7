// SPDX-License-Identifier: MIT
// Two people changed the same thing.

// Returns the list after the changes of both: what either added is there, what either removed is not.
export function mergeList(before: string[], theirs: string[], yours: string[]): string[] {
    const isKept = (entry: string) => !before.includes(entry) || (theirs.includes(entry) && yours.includes(entry));
    return [...new Set([...theirs, ...yours])].filter(isKept);
}

function isSame(one: string[], other: string[]): boolean {
    return one.length === other.length && one.every((entry, n) => entry === other[n]);
}

// Returns the lists of one thing after the changes of both, where all of them together name who is
// permitted, and where no entry in any of them permits everybody.  They become empty only if that is what
// both want: if each removed what the other kept, all of it stays, and a list is kept from somebody who
// emptied it.
export function mergePermits(before: string[][], theirs: string[][], yours: string[][]): string[][] {
    const isFree = (lists: string[][]) => lists.every((list) => list.length === 0);
    const isAlike = (one: string[][], other: string[][]) => one.every((list, n) => isSame(list, other[n] ?? []));
    if (isAlike(yours, before)) {
        return theirs;
    }
    if (isAlike(theirs, before)) {
        return yours;
    }
    if (isFree(theirs) || isFree(yours)) {
        return isFree(theirs) ? yours : theirs;
    }
    const merged = theirs.map((list, n) => mergeList(before[n] ?? [], list, yours[n] ?? []));
    return isFree(merged) ? theirs.map((list, n) => [...new Set([...list, ...(yours[n] ?? [])])]) : merged;
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
