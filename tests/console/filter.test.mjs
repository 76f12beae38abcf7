// SPDX-License-Identifier: MIT
// Filters: made of words and clicks, and read.
import assert from "node:assert/strict";
import { test } from "node:test";
import { model } from "./cases.mjs";

const { both, quote } = await model("filter");
const { clausesAbout, clausesOf, withClause } = await model("clauses");
const { SEARCHABLE, isWord } = await model("search");
const attention = await model("attention");

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

test("words are told from expressions", () => {
    for (const text of ["laptop", "ada@laptop", "build server 7", "SHA256:abc", "a.example.com", "objective", "bind:x", "*"]) {
        assert.equal(isWord(text), true, text);
    }
    for (const text of ["", "obj.id", 'a == "b"', "team=web", "size(x)", "!x", "'x'", "a || b", "true"]) {
        assert.equal(isWord(text), false, text);
    }
});

test("a word becomes a filter", () => {
    const { find } = SEARCHABLE.credentials;
    assert.equal(find("a\\b"), 'obj.description.contains("a\\\\b") || obj.metadata.contains("a\\\\b")');
    assert.equal(find("sshcr_1"), 'obj.id == "sshcr_1"');
    assert.equal(find("usr_1"), 'obj.owner_id == "usr_1"');
    assert.equal(find("bot_1"), 'obj.owner_id == "bot_1"');
    assert.equal(find("SHA256:x"), 'obj.fingerprint == "SHA256:x"');
    assert.equal(find("bind:a.example"), '"bind:a.example" in obj.acl');
    assert.equal(SEARCHABLE.oauth.find("e"), 'obj.edge_id.contains("e") || obj.id.contains("e")');
});

test("whom a module lets in is the service's answer, not the console's", () => {
    assert.equal(attention.NOBODY, 'obj.admits == "nobody"');
    assert.equal(attention.ANYONE, 'obj.admits == "anyone"');
});
