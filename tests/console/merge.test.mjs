// SPDX-License-Identifier: MIT
import assert from "node:assert/strict";
import { test } from "node:test";
import { model } from "./cases.mjs";

const { mergeList, mergeText } = await model("merge");

test("rules have what either added and lack what either removed", () => {
    const rows = [
        [["a"], ["a"], ["a"], ["a"]],
        [["a"], ["a", "b"], ["a", "c"], ["a", "b", "c"]],
        [["a", "b"], ["a"], ["b"], []],
        [["a", "b"], ["a"], ["a", "b", "c"], ["a", "c"]],
        [[], ["a", "b"], ["b", "a"], ["a", "b"]],
    ];
    for (const [before, theirs, yours, wanted] of rows) {
        assert.deepEqual(mergeList(before, theirs, yours), wanted);
    }
});

test("a text that one changed is theirs, and one that both changed is both", () => {
    assert.equal(mergeText("a", "a", "b", " / "), "b");
    assert.equal(mergeText("a", "b", "a", " / "), "b");
    assert.equal(mergeText("a", "b", "b", " / "), "b");
    assert.equal(mergeText("a", "b", "c", " / "), "b / c");
    assert.equal(mergeText("a", "", "c", " / "), "c");
    assert.equal(mergeText("a", "b", "", " / "), "b");
});
