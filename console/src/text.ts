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

// Returns the text for a number, which it contains as {n}.
export function tn(key: CountKey, n: number, values: Values = {}): string {
    const form = new Intl.PluralRules(language.get()).select(n) === "one" ? "one" : "other";
    return t(`${key}.${form}` as Key, { n: number(n), ...values });
}

export function number(n: number): string {
    return new Intl.NumberFormat(language.get()).format(n);
}

// In the reader's zone.
export function dateTime(text: string): string {
    const date = new Date(text);
    if (Number.isNaN(date.getTime())) {
        return text;
    }
    return new Intl.DateTimeFormat(language.get(), { dateStyle: "medium", timeStyle: "short" }).format(date);
}
