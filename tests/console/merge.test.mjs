// SPDX-License-Identifier: MIT
import assert from "node:assert/strict";
import { test } from "node:test";
import { model } from "./cases.mjs";

const { mergeList, mergePermits, mergeText } = await model("merge");

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

test("lists that limit who is permitted become empty only if both want that", () => {
    // before, theirs, yours, wanted: each with one list or several.
    const rows = [
        [[["a"]], [["a", "b"]], [["a", "c"]], [["a", "b", "c"]]],
        [[["a", "b"]], [["a"]], [["a", "b", "c"]], [["a", "c"]]],
        // Each removed what the other kept.
        [[["a", "b"]], [["a"]], [["b"]], [["a", "b"]]],
        [
            [["a"], ["x"]],
            [[], ["x"]],
            [["a"], []],
            [["a"], ["x"]],
        ],
        // One permits everybody, the other adds somebody.
        [[["a"]], [[]], [["a", "b"]], [["a", "b"]]],
        [[["a"]], [["a", "b"]], [[]], [["a", "b"]]],
        [[[]], [["a"]], [["b"]], [["a", "b"]]],
        // One changed nothing.
        [[["a"]], [[]], [["a"]], [[]]],
        [[["a"]], [["a"]], [[]], [[]]],
        [[["a"]], [[]], [[]], [[]]],
        // What went from one list to another.
        [
            [["a"], []],
            [[], ["x"]],
            [["a", "b"], []],
            [["b"], ["x"]],
        ],
    ];
    for (const [before, theirs, yours, wanted] of rows) {
        assert.deepEqual(mergePermits(before, theirs, yours), wanted, JSON.stringify([before, theirs, yours]));
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
