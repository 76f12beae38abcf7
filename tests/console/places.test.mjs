// SPDX-License-Identifier: MIT
// Where rows are, and how high bars are.
import assert from "node:assert/strict";
import { test } from "node:test";
import { model } from "./cases.mjs";

const { firstBelow, placesOf } = await model("places");
const { topOfScale } = await model("scale");

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
