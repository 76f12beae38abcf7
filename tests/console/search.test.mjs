// SPDX-License-Identifier: MIT
import assert from "node:assert/strict";
import fs from "node:fs";
import path from "node:path";
import { test } from "node:test";
import { FOLDER, model } from "./cases.mjs";

const { SEARCHABLE, isWord } = await model("search");

// The service's tables of what filters may name: rows of the table of members, and more of the file.
const TABLES = {
    credentials: ["SSH_CREDENTIAL", "ssh_credential_filter.c"],
    oauth: ["OAUTH_MODULE", "oauth_module.c"],
    mutual_tls: ["MUTUAL_TLS_MODULE", "mutual_tls_module.c"],
    history: ["", "audit_event.c"],
};

function read(name) {
    return fs.readFileSync(path.join(FOLDER, "../../src", name), "utf8");
}

function rowsOf(table) {
    const [, rows] = read("model/member_table.h").split(`#define ${table}_MEMBERS(`);
    const filtered = /MEMBER\(with, ([a-z_]+), [^)]*? FILTERED,/g;
    return [...rows.split("\n\n")[0].matchAll(filtered)].map((found) => found[1]);
}

for (const [list, [table, file]] of Object.entries(TABLES)) {
    test(`the members of ${list} are those of ${file}`, () => {
        const more = [...read(`store/${file}`).matchAll(/^ {4}\{"([a-z_.]+)", FILTER_/gm)].map((found) => found[1]);
        assert.deepEqual(SEARCHABLE[list].members, [...(table ? rowsOf(table) : []), ...more]);
    });
}

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
