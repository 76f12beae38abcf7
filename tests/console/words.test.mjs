// SPDX-License-Identifier: MIT
// The console's words, and dates and numbers in the reader's language and zone.
import assert from "node:assert/strict";
import { test } from "node:test";
import { load, wordsOf } from "./page.mjs";

const { dateTime, dayTitle, duration, exactTime, number, pieces, setLanguage, shortDay, t, timeOfDay, tn } = await load("text");
const { Value } = await load("parts/value");
const { seen } = await load("model/text");

// Versions of the tables of languages differ in their kinds of spaces.
function plain(text) {
    return text.replace(/\s/gu, " ");
}

function inLanguage(name, check) {
    setLanguage(name);
    try {
        check();
    } finally {
        setLanguage("en");
    }
}

function inZone(zone, check) {
    process.env.TZ = zone;
    try {
        check();
    } finally {
        process.env.TZ = "UTC";
    }
}

test("words are in the language of the moment, with their values", () => {
    assert.equal(t("error.number", { number: 604 }), "Error 604.");
    assert.equal(t("error.number"), "Error .");
    inLanguage("de", () => assert.equal(t("error.number", { number: 604 }), "Fehler 604."));
    // A value is no pattern.
    assert.equal(t("error.bug", { text: "$& {number}" }), "The console failed: $& {number}");
    assert.deepEqual(pieces("error.number"), ["Error ", "number", "."]);
});

test("a number has its form", () => {
    assert.equal(tn("form.entries", 1, { max: "9" }).startsWith("1 "), true);
    assert.equal(tn("acl.also", 1), "1 other credential with this key permits it too:");
    assert.equal(tn("acl.also", 0), "0 other credentials with this key permit it too:");
    assert.equal(tn("acl.also", 1234), "1,234 other credentials with this key permit it too:");
    inLanguage("de", () => assert.equal(number(1234.5), "1.234,5"));
});

test("times are those of the reader's zone, also where clocks change", () => {
    const rows = [
        ["UTC", "en", "Mar 28, 2026, 11:30 PM"],
        ["Asia/Kathmandu", "en", "Mar 29, 2026, 5:15 AM"],
        ["Asia/Kathmandu", "de", "29.03.2026, 05:15"],
        ["Europe/Berlin", "en", "Mar 29, 2026, 12:30 AM"],
    ];
    for (const [zone, language, wanted] of rows) {
        inZone(zone, () => inLanguage(language, () => assert.equal(plain(dateTime("2026-03-28T23:30:00Z")), wanted)));
    }
    inZone("Europe/Berlin", () => {
        assert.equal(plain(exactTime("2026-03-28T23:30:05Z")), "March 29, 2026 at 12:30:05 AM GMT+1");
        assert.equal(plain(exactTime("2026-03-29T01:30:05Z")), "March 29, 2026 at 3:30:05 AM GMT+2");
        assert.equal(plain(timeOfDay("2026-03-29T01:30:05Z")), "3:30:05 AM");
    });
    // What is no time is shown as it is.
    for (const format of [dateTime, exactTime, timeOfDay]) {
        assert.equal(format("later"), "later");
    }
});

test("a day is the same in all zones", () => {
    for (const zone of ["Pacific/Kiritimati", "Etc/GMT+12"]) {
        inZone(zone, () => {
            assert.equal(dayTitle("2026-03-29"), "Sunday, March 29, 2026");
            assert.equal(dayTitle("2026-03-29", "medium"), "Mar 29, 2026");
            assert.equal(shortDay("2026-03-29"), "Mar 29");
        });
    }
});

test("a duration has only the units that it needs", () => {
    const rows = [
        [0, ""],
        [1, "1 second"],
        [60, "1 minute"],
        [86400, "1 day"],
        [93784, "1 day 2 hours 3 minutes 4 seconds"],
        [4294967295, "49,710 days 6 hours 28 minutes 15 seconds"],
    ];
    for (const [seconds, wanted] of rows) {
        assert.equal(duration(seconds), wanted);
    }
    inLanguage("de", () => assert.equal(duration(90000), "1 Tag 1 Stunde"));
});

test("characters that cannot be seen are shown by their numbers", () => {
    const rows = [
        ["a\u202eb", "aU+202Eb"],
        ["\u0000\u200b\u00ad\ufeff", "U+0000U+200BU+00ADU+FEFF"],
        ["\ttwo\nlines", "\ttwo\nlines"],
        ["\u{1f468}\u200d\u{1f469}", "\u{1f468}\u200d\u{1f469}"],
        ["<b>&lt;", "<b>&lt;"],
    ];
    for (const [text, wanted] of rows) {
        assert.equal(wordsOf(Value({ text })), wanted, JSON.stringify(text));
        // Its direction changes nothing around it.
        assert.equal(Value({ text }).type, "bdi");
    }
});

test("a text of spaces is none", () => {
    for (const text of ["", " ", "\t \n", "\u00a0", "\u3000\u2003", "\u2800", "\u3164 "]) {
        assert.equal(seen(text), "", JSON.stringify(text));
    }
    for (const text of [" a ", "0", "\u200b", "\u{1f600}"]) {
        assert.equal(seen(text), text);
    }
});
