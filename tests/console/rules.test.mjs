// SPDX-License-Identifier: MIT
// Rules in words, and the form of a credential.
import assert from "node:assert/strict";
import { test } from "node:test";
import { load } from "./page.mjs";

const { checkRule, whyNot } = await load("model/acl");
const { changesOf, chosen, differences, formOf } = await load("rooms/credentials/form");
const { explain, faultText, reasonText, rulesOf } = await load("rooms/credentials/rules");

function saidOf(rule) {
    const reading = checkRule(rule);
    return "target" in reading ? explain(reading.target) : faultText(reading.fault);
}

test("each rule is explained", () => {
    const rows = [
        ["*", "permits everything."],
        ["bind:a.example", "permits the name a.example, and none below it."],
        [
            "bind:*.a.example",
            "permits every name below a.example, such as a.a.example and b.a.a.example, but not a.example itself.",
        ],
        ["bind:b.example:22", "permits the address b.example with port 22, and no other port."],
        ["bind:team=*", "permits labels of the key team with any value."],
        ["bind:*=web", "permits labels of any key with the value web."],
        ["bind:*=*", "permits every label."],
        ["bind:team=web", "permits the label team=web."],
        ["bind:b..c", "is not a domain: labels have 1 to 63 letters, digits and inner hyphens, with dots between them."],
        ["<b>x</b>", "is no rule: a rule begins with bind:."],
        ["bind:a.example bind:b.example", "holds several rules. Write each on a line of its own."],
    ];
    for (const [rule, words] of rows) {
        assert.equal(saidOf(rule), words, rule);
    }
});

test("a refused target has its reason in words", () => {
    const rules = ["bind:*.a.example", "bind:b.example:22", "bind:c.example", "bind:team=ops"];
    const rows = [
        ["a.example", "bind:*.a.example permits the names below it, but not the name itself."],
        ["x.c.example", "bind:c.example permits that one name, and none below it."],
        ["b.example:23", "bind:b.example:22 permits another port."],
        ["b.example", "bind:b.example:22 permits it as an address with that port only. Ask with the port."],
        ["c.example:22", "bind:c.example permits the name, but no address with a port."],
        ["team=web", "bind:team=ops permits another value."],
        ["z.test", "The rules here are about other names."],
        ["z.test:1", "The rules here are about other addresses."],
        ["stage=web", "The rules here are about other labels."],
    ];
    for (const [target, words] of rows) {
        assert.equal(reasonText(whyNot(rules, target)), words, target);
    }
    assert.equal(reasonText(whyNot(["bind:c.example"], "team=web")), "None of the rules here is about labels.");
    assert.equal(reasonText(whyNot(["bind:team=ops"], "c.example")), "None of the rules here is about names.");
    assert.equal(reasonText(whyNot(["bind:team=ops"], "c.example:1")), "None of the rules here is about addresses with a port.");
    assert.equal(reasonText(null), "");
});

const STORED = { description: "d", metadata: "m", acl: ["bind:a.example", "bind:b.example"] };

test("only what differs is written", () => {
    const form = formOf(STORED);
    assert.deepEqual(changesOf(form, STORED), {});
    assert.deepEqual(changesOf({ ...form, description: "" }, STORED), { description: "" });
    assert.deepEqual(changesOf({ ...form, acl: "bind:b.example\n\n bind:c.example \n" }, STORED), {
        acl: ["bind:b.example", "bind:c.example"],
    });
    assert.deepEqual(changesOf({ ...form, acl: "" }, STORED), { acl: [] });
    assert.deepEqual(rulesOf(" \n\t\n"), []);
});

test("each choice between two people's changes fills the form", () => {
    const before = formOf(STORED);
    const theirs = { ...before, description: "theirs", acl: "bind:a.example\nbind:b.example\nbind:t.example" };
    const yours = { ...before, description: "yours", acl: "bind:a.example\nbind:b.example\nbind:y.example" };
    assert.deepEqual(chosen("theirs", before, theirs, yours), theirs);
    assert.deepEqual(chosen("yours", before, theirs, yours), yours);
    assert.deepEqual(chosen("both", before, theirs, yours), {
        description: "theirs / yours",
        metadata: "m",
        acl: "bind:a.example\nbind:b.example\nbind:t.example\nbind:y.example",
    });
    assert.deepEqual(
        differences(before, theirs, yours).map(({ name, before: old, theirs: other }) => [name, old === other]),
        [
            ["description", false],
            ["acl", false],
            ["metadata", true],
        ],
    );
});
