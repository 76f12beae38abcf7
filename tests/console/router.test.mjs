// SPDX-License-Identifier: MIT
import assert from "node:assert/strict";
import { test } from "node:test";
import { load } from "./page.mjs";

const { backTo, link, readRoute, recall, remember, rememberList } = await load("router");
const { path } = await load("api/client");
const { oauthPath } = await load("rooms/modules/address");
const { session } = await load("session");

const HOSTILE = ["a/b", "a?b=c", "a#b", "a%2Fb", "%", "a b", "..", "é\u202e", "\u{1f600}", "<b>\"'&lt;"];

test("an address gives the parts and the values that it is made of", () => {
    for (const id of HOSTILE) {
        assert.deepEqual(readRoute(link(["modules", "oauth", id], { filter: id, other: "+&=" })), {
            parts: ["modules", "oauth", id],
            query: { filter: id, other: "+&=" },
        });
    }
    assert.equal(link(["credentials"], { filter: "" }), "#/credentials");
    assert.equal(link(["modules", "oauth", "e/1"], { filter: 'a == "?"' }), "#/modules/oauth/e%2F1?filter=a+%3D%3D+%22%3F%22");
});

test("any text after # is an address", () => {
    const rows = [
        ["", [], {}],
        ["#", [], {}],
        ["#/", [], {}],
        ["#/a//b/", ["a", "b"], {}],
        ["#/%/%zz", ["%", "%zz"], {}],
        ["#/a?x=1?y=2&x=3", ["a"], { x: "3" }],
        ["#/a?filter=a == 1 %26%26 b", ["a"], { filter: "a == 1 && b" }],
        ["#/a?__proto__=1", ["a"], JSON.parse('{"__proto__": "1"}')],
    ];
    for (const [hash, parts, query] of rows) {
        assert.deepEqual(readRoute(hash), { parts, query }, hash);
    }
});

test("an identifier leaves the path of its request as it is", () => {
    for (const id of HOSTILE) {
        const address = new URL(path`edges/tls/${id}/mutual_tls`, "https://a.example/");
        // A browser takes "." and ".." away, and the service has no such identifiers.
        if (id !== "..") {
            const parts = address.pathname.split("/").map(decodeURIComponent);
            assert.deepEqual(parts, ["", "edges", "tls", id, "mutual_tls"]);
        }
        assert.deepEqual([address.search, address.hash], ["", ""], id);
    }
    assert.equal(oauthPath("e/1", "r?"), "edges/https/e%2F1/routes/r%3F/oauth");
});

test("a form leads back to its list as that was shown, until the person signs out", () => {
    const list = ["modules", "oauth"];
    session.begin("key", { isAdmin: true, writes: "all" }, false);
    assert.equal(backTo(list), "#/modules/oauth");
    rememberList(list, 'obj.edge_id == "e"');
    remember(7, "list", 40);
    assert.equal(backTo(list), link(list, { filter: 'obj.edge_id == "e"' }));
    assert.equal(backTo(["modules", "mutual_tls"]), "#/modules/mutual_tls");
    assert.deepEqual([recall(7, "list"), recall(7, "other"), recall(8, "list")], [40, undefined, undefined]);
    session.end();
    assert.deepEqual([backTo(list), recall(7, "list")], ["#/modules/oauth", undefined]);
});
