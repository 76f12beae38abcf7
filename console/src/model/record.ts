// SPDX-License-Identifier: MIT
// What events say of the account: changes a day, and keys that expire.
import { addDays, dayOf } from "./days";

interface Known {
    created_at: string;
    resource: { id: string } | null;
    after: Record<string, unknown> | null;
}

// ---- changes a day ----

export interface PerDay {
    counts: Record<string, number>;
    // The last event that was read, which is the oldest: its day may have more.
    lastDay: string;
}

export const NO_DAYS: PerDay = { counts: {}, lastDay: "" };

export function addEvents(state: PerDay, events: Known[], zone: string): PerDay {
    const counts = { ...state.counts };
    let { lastDay } = state;
    for (const event of events) {
        lastDay = dayOf(event.created_at, zone);
        counts[lastDay] = (counts[lastDay] ?? 0) + 1;
    }
    return { counts, lastDay };
}

// Whether the days from that one on are known.  A change may be listed below those of a later second,
// so events of the day before have to be there.
export function coversFrom(state: PerDay, day: string): boolean {
    return state.lastDay !== "" && state.lastDay <= addDays(day, -1);
}

// ---- keys that expire ----

export interface ExpiringKey {
    id: string;
    description: string;
    holder: string;
    expiresAt: string;
}

// The latest state of each key, by its identifier.  Null: it is gone, and so is its name.
export type Keys = Map<string, Record<string, unknown> | null>;

// Events come newest first, so the first one of a key is its latest state.
export function addKeys(state: Keys, events: Known[]): Keys {
    const keys = new Map(state);
    for (const { resource, after } of events) {
        if (resource && !keys.has(resource.id)) {
            keys.set(resource.id, after);
        }
    }
    return keys;
}

// The keys that work now and expire within so many days, the next one first.
export function expiringKeys(keys: Keys, now: number, days: number): ExpiringKey[] {
    const found: ExpiringKey[] = [];
    for (const [id, key] of keys) {
        const expiresAt = key?.["expires_at"];
        if (!key || key["revoked_at"] || typeof expiresAt !== "string") {
            continue;
        }
        const left = Date.parse(expiresAt) - now;
        if (left > 0 && left <= days * 86_400_000) {
            found.push({
                id,
                description: String(key["description"] ?? ""),
                holder: String(key["principal_id"] ?? ""),
                expiresAt,
            });
        }
    }
    return found.sort((a, b) => Date.parse(a.expiresAt) - Date.parse(b.expiresAt));
}
