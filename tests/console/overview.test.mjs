// SPDX-License-Identifier: MIT
// What the overview counts, how high its bars are, and where the rows of a long list are.
import assert from "node:assert/strict";
import { test } from "node:test";
import { model } from "./cases.mjs";

const { NO_DAYS, addEvents, addKeys, coversFrom, expiringKeys } = await model("record");
const { firstBelow, placesOf } = await model("places");
const { topOfScale } = await model("scale");

function event(created_at, id = "x", after = {}) {
    return { created_at, resource: { id }, after };
}

test("changes are counted by the reader's days, page by page", () => {
    const zone = "Europe/Berlin";
    let state = addEvents(
        NO_DAYS,
        [event("2026-10-25T23:30:00Z"), event("2026-10-25T22:30:00Z"), event("2026-10-24T22:00:00Z")],
        zone,
    );
    assert.deepEqual(state.counts, { "2026-10-26": 1, "2026-10-25": 2 });
    assert.equal(coversFrom(state, "2026-10-25"), false);
    state = addEvents(state, [event("2026-10-24T21:59:59Z")], zone);
    assert.deepEqual(state.counts, { "2026-10-26": 1, "2026-10-25": 2, "2026-10-24": 1 });
    assert.equal(coversFrom(state, "2026-10-25"), true);
    assert.equal(coversFrom(NO_DAYS, "2026-10-25"), false);
});

test("the latest event of a key says whether it expires soon", () => {
    const now = Date.parse("2026-01-01T00:00:00Z");
    const key = (expires_at, revoked_at = null) => ({ expires_at, revoked_at, description: "d", principal_id: "usr_1" });
    let keys = addKeys(new Map(), [
        event("", "later", key("2026-01-20T00:00:00Z")),
        event("", "revoked", key("2026-01-02T00:00:00Z", "2025-12-31T00:00:00Z")),
        event("", "gone", null),
        event("", "soon", key("2026-01-02T00:00:00Z")),
        event("", "expired", key("2025-12-31T00:00:00Z")),
        event("", "far", key("2026-02-20T00:00:00Z")),
        event("", "never", key(null)),
    ]);
    keys = addKeys(keys, [event("", "gone", key("2026-01-02T00:00:00Z")), event("", "revoked", key("2026-01-02T00:00:00Z"))]);
    assert.deepEqual(
        expiringKeys(keys, now, 30).map(({ id }) => id),
        ["soon", "later"],
    );
});

test("each begins where the one before it ends", () => {
    assert.deepEqual(placesOf([]), [0]);
    assert.deepEqual(placesOf([40, 56, 56, 40]), [0, 40, 96, 152, 192]);
});

test("what is at a place", () => {
    const places = placesOf([40, 56, 56, 40]);
    const found = [-5, 0, 39, 40, 95, 96, 151, 152, 191, 192, 1e6].map((at) => firstBelow(places, at));
    assert.deepEqual(found, [0, 0, 0, 1, 1, 2, 2, 3, 3, 3, 3]);
    assert.equal(firstBelow(placesOf([]), 10), 0);
});

test("the top of a scale is round, even, and above all", () => {
    const found = [0, 1, 2, 3, 5, 6, 7, 10, 11, 39, 41, 99, 101, 1203].map(topOfScale);
    assert.deepEqual(found, [2, 2, 2, 4, 6, 6, 10, 10, 20, 40, 60, 100, 200, 2000]);
});
