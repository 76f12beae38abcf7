// SPDX-License-Identifier: MIT
// What differs between two states of a resource, member by member and line by line.

export type Resource = Record<string, unknown>;

export interface Line {
    text: string;
    // The other side lacks it.
    isOnly: boolean;
}

export interface Member {
    // As in an event's changed: provider.teams, without the provider's name.
    name: string;
    before: Line[];
    after: Line[];
    isSame: boolean;
}

// More comparisons take too long: the lines between the first and the last difference all differ.
const COMPARED_MAX = 1_000_000;

const SECRET = "client_secret";

function isObject(value: unknown): value is Resource {
    return typeof value === "object" && value !== null && !Array.isArray(value);
}

function elementText(value: unknown): string {
    if (typeof value === "string") {
        return value;
    }
    // A reference to an authority.
    return isObject(value) && typeof value["id"] === "string" ? value["id"] : JSON.stringify(value);
}

function linesOf(value: unknown): string[] {
    if (value === null || value === undefined || value === "") {
        return [];
    }
    if (Array.isArray(value)) {
        return value.map(elementText);
    }
    return typeof value === "string" ? value.split("\n") : [JSON.stringify(value)];
}

// Returns the one provider that is selected, and its name.
export function providerOf(resource: Resource | null): { name: string; members: Resource } | null {
    const providers = resource?.["provider"];
    for (const [name, members] of isObject(providers) ? Object.entries(providers) : []) {
        if (isObject(members)) {
            return { name, members };
        }
    }
    return null;
}

// Returns whether a module holds a client secret: it has one together with a client ID.
export function hasSecret(module: Resource | null): boolean {
    return typeof providerOf(module)?.members["client_id"] === "string";
}

// The members that people see, as lines of text or elements of a list.  Secrets are none of them.
export function membersOf(resource: Resource | null): Map<string, string[]> {
    const members = new Map<string, string[]>();
    for (const [name, value] of Object.entries(resource ?? {})) {
        if (name === "provider") {
            const provider = providerOf(resource);
            members.set(name, provider ? [provider.name] : []);
            for (const [inner, own] of Object.entries(provider?.members ?? {})) {
                if (inner !== SECRET) {
                    members.set(`provider.${inner}`, linesOf(own));
                }
            }
        } else if (name !== "uri") {
            members.set(name, linesOf(value));
        }
    }
    return members;
}

// Marks the lines that are not part of the longest common sequence.
export function compareLines(before: string[], after: string[]): [Line[], Line[]] {
    let head = 0;
    while (head < before.length && head < after.length && before[head] === after[head]) {
        head++;
    }
    let tail = 0;
    while (tail < before.length - head && tail < after.length - head && before.at(-1 - tail) === after.at(-1 - tail)) {
        tail++;
    }
    const [old, now] = [before.slice(head, before.length - tail), after.slice(head, after.length - tail)];
    const [oldCommon, nowCommon] = old.length * now.length > COMPARED_MAX ? [new Set(), new Set()] : commonPlaces(old, now);
    const mark = (all: string[], inner: number, common: Set<unknown>): Line[] =>
        all.map((text, at) => ({ text, isOnly: at >= head && at < head + inner && !common.has(at - head) }));
    return [mark(before, old.length, oldCommon), mark(after, now.length, nowCommon)];
}

// The places of the longest common sequence in both.
function commonPlaces(old: string[], now: string[]): [Set<number>, Set<number>] {
    const width = now.length + 1;
    // The length of the longest common sequence of what comes from there on.
    const lengths = new Uint32Array((old.length + 1) * width);
    const at = (i: number, k: number) => lengths[i * width + k] ?? 0;
    for (let i = old.length - 1; i >= 0; i--) {
        for (let k = now.length - 1; k >= 0; k--) {
            lengths[i * width + k] = old[i] === now[k] ? at(i + 1, k + 1) + 1 : Math.max(at(i + 1, k), at(i, k + 1));
        }
    }
    const [oldPlaces, nowPlaces] = [new Set<number>(), new Set<number>()];
    for (let i = 0, k = 0; i < old.length && k < now.length; ) {
        if (old[i] === now[k]) {
            oldPlaces.add(i++);
            nowPlaces.add(k++);
        } else if (at(i + 1, k) >= at(i, k + 1)) {
            i++;
        } else {
            k++;
        }
    }
    return [oldPlaces, nowPlaces];
}

// Returns all members of both, in the order of the interface.
export function compare(before: Resource | null, after: Resource | null): Member[] {
    const [old, now] = [membersOf(before), membersOf(after)];
    const names = [...(before ? old : now).keys()];
    for (const name of now.keys()) {
        if (!names.includes(name)) {
            names.push(name);
        }
    }
    return names.map((name) => {
        const [oldLines, nowLines] = compareLines(old.get(name) ?? [], now.get(name) ?? []);
        const isSame = ![...oldLines, ...nowLines].some((line) => line.isOnly);
        return { name, before: oldLines, after: nowLines, isSame };
    });
}
