// SPDX-License-Identifier: MIT
import assert from "node:assert/strict";
import { test } from "node:test";
import { model } from "./cases.mjs";

const { firstBelow, placesOf } = await model("places");

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
