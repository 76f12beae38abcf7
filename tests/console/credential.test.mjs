// SPDX-License-Identifier: MIT
import assert from "node:assert/strict";
import { test } from "node:test";
import { model } from "./cases.mjs";

const { checkCredential } = await model("credential");

// The members at fault, with the server's numbers.
function faultsOf(body) {
    return Object.fromEntries(
        Object.entries(checkCredential(body))
            .filter(([, found]) => found)
            .map(([member, found]) => [member, found.number]),
    );
}

test("a credential is checked as the service does", () => {
    const rows = [
        [{}, {}],
        [{ description: "\u00e9".repeat(127) + "a", metadata: "m".repeat(4096), owner_id: "usr_1", acl: ["*", "*"] }, {}],
        [{ description: "\u00e9".repeat(128) }, { description: 604 }],
        [{ metadata: "m".repeat(4097) }, { metadata: 605 }],
        [{ public_key: "k".repeat(16385) }, { public_key: 9026 }],
        [{ acl: ["bind:a.example", "bind:b..c"] }, { acl: 600 }],
        [{ acl: new Array(1001).fill("*") }, { acl: 9016 }],
        [{ acl: new Array(1000).fill("*") }, {}],
        [{ owner_id: "usr 1" }, { owner_id: 9012 }],
        [{ owner_id: " " }, { owner_id: 9012 }],
        [{ description: "\ud800" }, { description: 213 }],
        [{ acl: new Array(1000).fill("bind:" + "a".repeat(63) + ".example") }, { body: 9006 }],
    ];
    for (const [body, wanted] of rows) {
        assert.deepEqual(faultsOf(body), wanted, JSON.stringify(body).slice(0, 80));
    }
});
