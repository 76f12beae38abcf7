// SPDX-License-Identifier: MIT
import assert from "node:assert/strict";
import { test } from "node:test";
import { model } from "./cases.mjs";

const { compare, compareLines, hasSecret, membersOf, providerOf } = await model("difference");

function oauth(members) {
    return { enabled: true, provider: { provider_a: members, provider_b: null }, cookie_prefix: "c." };
}

function marked(lines) {
    return lines.map(({ text, isOnly }) => (isOnly ? "!" : "") + text);
}

test("lines that only one side has are marked", () => {
    const rows = [
        [[], [], [], []],
        [["a"], ["a"], ["a"], ["a"]],
        [
            ["a", "b", "c"],
            ["a", "c"],
            ["a", "!b", "c"],
            ["a", "c"],
        ],
        [
            ["a", "b"],
            ["b", "a"],
            ["!a", "b"],
            ["b", "!a"],
        ],
        [["a", "a"], ["a"], ["a", "!a"], ["a"]],
        [
            ["a", "x", "b", "y", "c"],
            ["a", "b", "z", "c"],
            ["a", "!x", "b", "!y", "c"],
            ["a", "b", "!z", "c"],
        ],
        [["__proto__"], ["constructor"], ["!__proto__"], ["!constructor"]],
    ];
    for (const [before, after, wantedBefore, wantedAfter] of rows) {
        const [old, now] = compareLines(before, after);
        assert.deepEqual([marked(old), marked(now)], [wantedBefore, wantedAfter]);
    }
});

test("what is not marked is the same on both sides, in the same order", () => {
    let seed = 7;
    const random = (n) => {
        seed = (seed * 48271) % 2147483647;
        return seed % n;
    };
    for (let round = 0; round < 500; round++) {
        const lines = () => Array.from({ length: random(12) }, () => "abcd"[random(4)]);
        const [old, now] = compareLines(lines(), lines());
        const kept = (side) => side.filter((line) => !line.isOnly).map((line) => line.text);
        assert.deepEqual(kept(old), kept(now));
    }
});

test("texts with too many lines to compare are marked between the first and the last difference", () => {
    const many = (text) => ["same", ...Array.from({ length: 1100 }, (_, n) => text + n), "end"];
    const [old, now] = compareLines(many("a"), many("b"));
    for (const side of [old, now]) {
        assert.deepEqual([side[0].isOnly, side[1].isOnly, side[1100].isOnly, side[1101].isOnly], [false, true, true, false]);
    }
});

test("members are compared one by one, and a secret is none of them", () => {
    const before = oauth({ client_id: "app", client_secret: "hidden", teams: ["a/b", "a/c"], scopes: [] });
    const after = oauth({ client_id: "app", client_secret: null, teams: ["a/c"], scopes: [] });
    assert.deepEqual(
        [...membersOf(before).keys()],
        ["enabled", "provider", "provider.client_id", "provider.teams", "provider.scopes", "cookie_prefix"],
    );
    const changed = compare(before, after).filter((member) => !member.isSame);
    assert.deepEqual(
        changed.map(({ name, before: old, after: now }) => [name, marked(old), marked(now)]),
        [["provider.teams", ["!a/b", "a/c"], ["a/c"]]],
    );
    assert.equal(JSON.stringify(compare(before, after)).includes("hidden"), false);
});

test("another provider is a change of its name and its members", () => {
    const after = { ...oauth(null), provider: { provider_a: null, provider_b: { client_id: null, email_domains: ["x"] } } };
    assert.equal(providerOf(after).name, "provider_b");
    assert.equal(providerOf(oauth(null)), null);
    const names = compare(oauth({ teams: ["a/b"] }), after).filter((member) => !member.isSame);
    assert.deepEqual(
        names.map((member) => member.name),
        ["provider", "provider.teams", "provider.email_domains"],
    );
});

test("values become lines", () => {
    const members = membersOf({
        id: "x",
        uri: "https://other.example/x",
        description: "",
        metadata: "a\nb",
        acl: [],
        enabled: false,
        inactivity_timeout: 0,
        disabled_at: null,
        certificate_authorities: [
            { id: "ca_2", uri: "u" },
            { id: "ca_1", uri: "u" },
        ],
        later: { a: 1 },
    });
    assert.deepEqual(Object.fromEntries(members), {
        id: ["x"],
        description: [],
        metadata: ["a", "b"],
        acl: [],
        enabled: ["false"],
        inactivity_timeout: ["0"],
        disabled_at: [],
        certificate_authorities: ["ca_2", "ca_1"],
        later: ['{"a":1}'],
    });
});

test("what did not exist has no lines", () => {
    const created = compare(null, { id: "x", acl: ["a"] });
    assert.deepEqual(
        created.map((member) => [member.name, member.before.length, marked(member.after), member.isSame]),
        [
            ["id", 0, ["!x"], false],
            ["acl", 0, ["!a"], false],
        ],
    );
    assert.deepEqual(compare(null, null), []);
});

test("a module has a secret together with a client ID", () => {
    assert.equal(hasSecret(oauth({ client_id: "app", client_secret: null })), true);
    assert.equal(hasSecret(oauth({ client_id: null, client_secret: null })), false);
    assert.equal(hasSecret(null), false);
});
