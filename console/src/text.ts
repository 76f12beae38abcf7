// SPDX-License-Identifier: MIT
// The console's words, in the reader's language.  Dates and numbers are in it too.
import { useSyncedValue, value } from "./value";
import de from "../texts/de.json";
import en from "../texts/en.json";

export type Key = keyof typeof en;
// A key with a form for each number: NAME.one and NAME.other.
export type CountKey = Key extends infer K ? (K extends `${infer Name}.one` ? Name : never) : never;

const TEXTS: Record<string, Record<Key, string>> = { en, de };
export const LANGUAGES = Object.keys(TEXTS);
const STORED = "adit.console.language";

function preferred(): string {
    const stored = localStorage.getItem(STORED);
    const wanted = [stored ?? "", ...navigator.languages].map((name) => name.slice(0, 2).toLowerCase());
    return wanted.find((name) => LANGUAGES.includes(name)) ?? "en";
}

const language = value(preferred());

export function useLanguage(): string {
    return useSyncedValue(language);
}

export function setLanguage(name: string): void {
    localStorage.setItem(STORED, name);
    language.set(name);
}

export type Values = Record<string, string | number>;

// Returns the text with its {names} replaced.
export function t(key: Key, values: Values = {}): string {
    const text = TEXTS[language.get()]?.[key] ?? en[key];
    return text.replace(/\{(\w+)\}/g, (_, name: string) => String(values[name] ?? ""));
}

// Returns the text in pieces: every second one is the name of what stands there.
export function pieces(key: Key): string[] {
    return (TEXTS[language.get()]?.[key] ?? en[key]).split(/\{(\w+)\}/);
}

// Returns the text for a number, which it contains as {n}.
export function tn(key: CountKey, n: number, values: Values = {}): string {
    const form = new Intl.PluralRules(language.get()).select(n) === "one" ? "one" : "other";
    return t(`${key}.${form}` as Key, { n: number(n), ...values });
}

export function number(n: number): string {
    return new Intl.NumberFormat(language.get()).format(n);
}

function formatted(text: string, options: Intl.DateTimeFormatOptions): string {
    const date = new Date(text);
    if (Number.isNaN(date.getTime())) {
        return text;
    }
    return new Intl.DateTimeFormat(language.get(), options).format(date);
}

// In the reader's zone.
export function dateTime(text: string): string {
    return formatted(text, { dateStyle: "medium", timeStyle: "short" });
}

// To the second, with the zone.
export function exactTime(text: string): string {
    return formatted(text, { dateStyle: "long", timeStyle: "long" });
}

export function timeOfDay(text: string): string {
    return formatted(text, { timeStyle: "medium" });
}

// A day such as 2026-03-29, which is the same in all zones.
export function dayTitle(day: string, dateStyle: "full" | "medium" = "full"): string {
    return formatted(day + "T00:00:00Z", { dateStyle, timeZone: "UTC" });
}

// Such as 3/29, for little room.
export function shortDay(day: string): string {
    return formatted(day + "T00:00:00Z", { day: "numeric", month: "short", timeZone: "UTC" });
}

// Such as "1 day 2 hours".
export function duration(seconds: number): string {
    const units: [string, number][] = [
        ["day", 86400],
        ["hour", 3600],
        ["minute", 60],
        ["second", 1],
    ];
    let rest = seconds;
    const words = units.map(([unit, size]) => {
        const n = Math.floor(rest / size);
        rest %= size;
        return n && new Intl.NumberFormat(language.get(), { style: "unit", unit, unitDisplay: "long" }).format(n);
    });
    return words.filter(Boolean).join(" ");
}
