// SPDX-License-Identifier: MIT
import assert from "node:assert/strict";
import { test } from "node:test";
import { model } from "./cases.mjs";

const { addDays, clauseOfDay, dayOf, lastDays, startOfDay, withDays } = await model("days");
const HOUR_MS = 3_600_000;

test("a time is of the day that the reader's calendar shows", () => {
    const rows = [
        ["2026-03-28T23:30:00Z", "UTC", "2026-03-28"],
        ["2026-03-28T23:30:00Z", "Europe/Berlin", "2026-03-29"],
        ["2026-03-28T23:30:00Z", "America/New_York", "2026-03-28"],
        ["2026-01-01T00:00:00Z", "America/Los_Angeles", "2025-12-31"],
        ["2026-06-01T18:20:00Z", "Asia/Kathmandu", "2026-06-02"],
        ["2026-06-01T10:30:00Z", "Pacific/Kiritimati", "2026-06-02"],
        ["no time", "UTC", ""],
    ];
    for (const [time, zone, wanted] of rows) {
        assert.equal(dayOf(time, zone), wanted, `${time} ${zone}`);
    }
});

test("a day begins at its first second, also where clocks change", () => {
    const rows = [
        // Day, zone, its first second, its hours.
        ["2026-01-15", "UTC", "2026-01-15T00:00:00Z", 24],
        ["2026-03-29", "Europe/Berlin", "2026-03-28T23:00:00Z", 23],
        ["2026-10-25", "Europe/Berlin", "2026-10-24T22:00:00Z", 25],
        ["2026-03-08", "America/New_York", "2026-03-08T05:00:00Z", 23],
        ["2026-11-01", "America/New_York", "2026-11-01T04:00:00Z", 25],
        ["2026-04-05", "Australia/Lord_Howe", "2026-04-04T13:00:00Z", 24.5],
        ["2026-06-01", "Pacific/Kiritimati", "2026-05-31T10:00:00Z", 24],
        ["2026-06-01", "Etc/GMT+12", "2026-06-01T12:00:00Z", 24],
        // It has no midnight: clocks go from 24:00 to 1:00.
        ["2018-11-04", "America/Sao_Paulo", "2018-11-04T03:00:00Z", 23],
    ];
    for (const [day, zone, wanted, hours] of rows) {
        const start = startOfDay(day, zone);
        assert.equal(start, wanted, `${day} ${zone}`);
        assert.equal(dayOf(start, zone), day);
        assert.equal(dayOf(Date.parse(start) - 1000, zone), addDays(day, -1));
        assert.equal((Date.parse(startOfDay(addDays(day, 1), zone)) - Date.parse(start)) / HOUR_MS, hours, `${day} ${zone}`);
    }
});

test("the last days leave none out while clocks change", () => {
    const now = Date.parse("2026-03-29T22:30:00Z");
    assert.deepEqual(lastDays(4, now, "Europe/Berlin"), ["2026-03-30", "2026-03-29", "2026-03-28", "2026-03-27"]);
    assert.deepEqual(lastDays(2, Date.parse("2026-03-01T03:00:00Z"), "America/New_York"), ["2026-02-28", "2026-02-27"]);
});

test("rows are grouped by day, and later rows change no heading before them", () => {
    const times = [
        "2026-03-30T00:00:00Z",
        "2026-03-29T21:59:59Z",
        "2026-03-28T23:00:00Z",
        "2026-03-28T22:59:59Z",
        "2026-03-28T23:00:00Z",
    ];
    const shown = withDays(times, (time) => time, "Europe/Berlin");
    const wanted = ["2026-03-30", 0, "2026-03-29", 1, 2, "2026-03-28", 3, "2026-03-29", 4];
    assert.deepEqual(
        shown.map((row) => (typeof row === "string" ? row : row.day)),
        wanted.map((row) => (typeof row === "number" ? times[row] : row)),
    );
    for (let n = 0; n < times.length; n++) {
        const fewer = withDays(times.slice(0, n), (time) => time, "Europe/Berlin");
        assert.deepEqual(fewer, shown.slice(0, fewer.length));
    }
    const places = shown.filter((row) => typeof row !== "string").map((row) => row.place);
    assert.equal(new Set(places).size, 4);
});

test("the filter of a day has its first second and the next day's", () => {
    assert.equal(
        clauseOfDay("obj.created_at", "2026-10-25", "Europe/Berlin"),
        'obj.created_at >= timestamp("2026-10-24T22:00:00Z") && obj.created_at < timestamp("2026-10-25T23:00:00Z")',
    );
});
