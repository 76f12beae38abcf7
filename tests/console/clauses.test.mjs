// SPDX-License-Identifier: MIT
import assert from "node:assert/strict";
import { test } from "node:test";
import { model } from "./cases.mjs";

const { clausesAbout, clausesOf, withClause } = await model("clauses");

test("a filter is split at && outside brackets and strings", () => {
    const rows = [
        ["", []],
        ["a == 1", ["a == 1"]],
        ["a == 1 && b == 2&&c", ["a == 1", "b == 2", "c"]],
        ["(a && b) && c", ["(a && b)", "c"]],
        ['a == " && " && b == \'"&&\'', ['a == " && "', "b == '\"&&'"]],
        ['a == "\\" && " && b', ['a == "\\" && "', "b"]],
        ["a || b && c", ["a || b && c"]],
        ["(a || b) && c in [1 && 2]", ["(a || b)", "c in [1 && 2]"]],
        ['a == "||" && b', ['a == "||"', "b"]],
    ];
    for (const [filter, wanted] of rows) {
        assert.deepEqual(clausesOf(filter), wanted, filter);
    }
});

test("a clause replaces those about its member and no others", () => {
    const rows = [
        ["", "obj.event", 'obj.event == "x"', 'obj.event == "x"'],
        ['obj.event == "x"', "obj.event", 'obj.event == "y"', 'obj.event == "y"'],
        ['obj.event.startsWith("x") && a', "obj.event", 'obj.event == "y"', 'a && obj.event == "y"'],
        ['obj.event_x == "x"', "obj.event", 'obj.event == "y"', 'obj.event_x == "x" && obj.event == "y"'],
        ['obj.event == "x" && a', "obj.event", "", "a"],
        ["a || b", "obj.event", 'obj.event == "y"', '(a || b) && obj.event == "y"'],
        ["b == 1", "a", "a > 1 && a < 3", "b == 1 && a > 1 && a < 3"],
        ["b == 1 && a > 1 && a < 3", "a", "", "b == 1"],
    ];
    for (const [filter, member, clause, wanted] of rows) {
        assert.equal(withClause(filter, [member], clause), wanted, filter);
    }
    assert.deepEqual(clausesAbout("a > 1 && b && a < 3", "a"), ["a > 1", "a < 3"]);
    assert.deepEqual(clausesAbout("a > 1 && b && c == 2", "a", "c"), ["a > 1", "c == 2"]);
    assert.equal(withClause("a > 1 && b && c == 2", ["a", "c"], "a == 5"), "b && a == 5");
    assert.equal(withClause("a > 1 && c == 2", ["a", "c"], ""), "");
});
