// SPDX-License-Identifier: MIT
import assert from "node:assert/strict";
import { test } from "node:test";
import { model } from "./cases.mjs";

const { SEARCHABLE, isWord } = await model("search");

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
