// SPDX-License-Identifier: MIT
import assert from "node:assert/strict";
import { test } from "node:test";
import { model } from "./cases.mjs";

const { topOfScale } = await model("scale");

test("the top of a scale is round, even, and above all", () => {
    const found = [0, 1, 2, 3, 5, 6, 7, 10, 11, 39, 41, 99, 101, 1203].map(topOfScale);
    assert.deepEqual(found, [2, 2, 2, 4, 6, 6, 10, 10, 20, 40, 60, 100, 200, 2000]);
});
