// SPDX-License-Identifier: MIT
// A key in several credentials: what any of them permits.
import assert from "node:assert";
import { test } from "node:test";

const { judgeGrants } = await import(process.env.CONSOLE_MODEL + "/grants.mjs");

const OTHERS = [
    { id: "1", acl: ["bind:a.example", "bind:b.example"] },
    { id: "2", acl: ["bind:b.example"] },
    { id: "3", acl: ["bind:team=*"] },
];

function idsOf(own, others, target) {
    const verdict = judgeGrants(own, others, target);
    return [verdict.isPermitted, verdict.own?.rule, verdict.others.map((one) => `${one.grant.id} ${one.rule}`)];
}

test("grants add up", () => {
    assert.deepEqual(idsOf(["bind:x.example"], OTHERS, "x.example"), [true, "bind:x.example", []]);
    assert.deepEqual(idsOf(["bind:x.example"], OTHERS, "b.example"), [true, null, ["1 bind:b.example", "2 bind:b.example"]]);
    assert.deepEqual(idsOf(["bind:*.example"], OTHERS, "b.example"), [
        true,
        "bind:*.example",
        ["1 bind:b.example", "2 bind:b.example"],
    ]);
    assert.deepEqual(idsOf(["bind:x.example"], OTHERS, "c.example"), [false, null, []]);
    assert.deepEqual(idsOf(["bind:x.example"], OTHERS, "team=web"), [true, null, ["3 bind:team=*"]]);
});

test("a credential without rules permits everything", () => {
    assert.deepEqual(idsOf(["bind:x.example"], [...OTHERS, { id: "4", acl: [] }], "c.example"), [true, null, ["4 null"]]);
    assert.deepEqual(idsOf([], [], "c.example"), [true, null, []]);
});

test("a credential that is not stored permits nothing", () => {
    assert.deepEqual(idsOf(null, [], "c.example"), [false, undefined, []]);
    assert.deepEqual(idsOf(null, OTHERS, "a.example"), [true, undefined, ["1 bind:a.example"]]);
});

test("a malformed target is permitted where everything is", () => {
    assert.deepEqual(idsOf(["bind:x.example"], OTHERS, "a b"), [false, null, []]);
    assert.deepEqual(idsOf(["bind:x.example"], [{ id: "5", acl: ["*"] }], "a b"), [true, null, ["5 *"]]);
});
