// SPDX-License-Identifier: MIT
import assert from "node:assert/strict";
import { test } from "node:test";
import { model } from "./cases.mjs";

const { both, quote } = await model("filter");

test("a text is quoted, and ends no string", () => {
    assert.equal(quote('a"b\\c\n'), '"a\\"b\\\\c\\n"');
});

test("a filter gets narrower, and no clause twice", () => {
    assert.equal(both("", "a == 1"), "a == 1");
    assert.equal(both("a == 1", "a == 1"), "a == 1");
    assert.equal(both("a == 1", "b == 2"), "a == 1 && b == 2");
    assert.equal(both("a == 1 && b == 2", "b == 2"), "a == 1 && b == 2");
    assert.equal(both("a == 1 || b == 2", "c == 3"), "(a == 1 || b == 2) && c == 3");
});
