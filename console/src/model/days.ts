// SPDX-License-Identifier: MIT
// Days of a time zone, written as 2026-03-29.  A day has 23 to 25 hours.

const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;

const formats = new Map<string, Intl.DateTimeFormat>();

export function ownZone(): string {
    return new Intl.DateTimeFormat().resolvedOptions().timeZone;
}

function formatOf(zone: string): Intl.DateTimeFormat {
    let format = formats.get(zone);
    if (!format) {
        format = new Intl.DateTimeFormat("en", {
            timeZone: zone,
            calendar: "iso8601",
            numberingSystem: "latn",
            year: "numeric",
            month: "2-digit",
            day: "2-digit",
        });
        formats.set(zone, format);
    }
    return format;
}

// Returns "" for what is no time.
export function dayOf(time: string | number, zone: string): string {
    const date = new Date(time);
    if (Number.isNaN(date.getTime())) {
        return "";
    }
    const found: Record<string, string> = {};
    for (const { type, value } of formatOf(zone).formatToParts(date)) {
        found[type] = value;
    }
    return `${found["year"]}-${found["month"]}-${found["day"]}`;
}

export function addDays(day: string, n: number): string {
    return new Date(Date.parse(day + "T00:00:00Z") + n * DAY_MS).toISOString().slice(0, 10);
}

// Returns the first second of the day, such as 2026-03-28T23:00:00Z.  It is not always midnight: some
// zones change their clocks then.
export function startOfDay(day: string, zone: string): string {
    const noon = Date.parse(day + "T12:00:00Z");
    // No zone is a day from UTC.
    let [before, from] = [(noon - 36 * HOUR_MS) / 1000, (noon + 12 * HOUR_MS) / 1000];
    while (from - before > 1) {
        const middle = Math.floor((before + from) / 2);
        if (dayOf(middle * 1000, zone) < day) {
            before = middle;
        } else {
            from = middle;
        }
    }
    return new Date(from * 1000).toISOString().replace(".000Z", "Z");
}

// The last n days until now, newest first.
export function lastDays(n: number, now: number, zone: string): string[] {
    const today = dayOf(now, zone);
    return Array.from({ length: n }, (_, back) => addDays(today, -back));
}

export interface Heading {
    day: string;
    // A day may have several headings: changes are listed by their beginning.
    place: number;
}

// Puts a heading in front of each run of rows of one day.  Rows that are added at the end change no
// heading before them.
export function withDays<T>(rows: T[], timeOf: (row: T) => string, zone: string): (T | Heading)[] {
    const shown: (T | Heading)[] = [];
    let last: string | null = null;
    for (const row of rows) {
        const day = dayOf(timeOf(row), zone);
        if (day !== last) {
            shown.push({ day, place: shown.length });
            last = day;
        }
        shown.push(row);
    }
    return shown;
}

// The filter for one day.
export function clauseOfDay(member: string, day: string, zone: string): string {
    const [from, to] = [startOfDay(day, zone), startOfDay(addDays(day, 1), zone)];
    return `${member} >= timestamp("${from}") && ${member} < timestamp("${to}")`;
}
