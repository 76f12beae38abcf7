// SPDX-License-Identifier: MIT
// Rules: what they are, and what one or several credentials permit.
import assert from "node:assert/strict";
import { test } from "node:test";
import { model, runCases } from "./cases.mjs";

const { checkRule, judge, readIpv6, whyNot } = await model("acl");
const { judgeGrants } = await model("grants");

// The server's reason, for each fault.
const REASONS = {
    word: "the rule does not begin with 'bind:' in lowercase",
    several: "the string contains several rules",
    url: "the target is a URL",
    target: "the rule names no target",
    wildcard: "a domain may contain '*' only as a leading '*.'",
    domain: "the target is not a domain",
    long: "the domain is longer than 253 bytes, with its '*.'",
    port: "the port must be a number from 1 to 65535",
    host: "the host before the port is missing",
    host_long: "the host is longer than 253 bytes",
    colon: "a host may not contain ':', except an IPv6 address in brackets",
    ipv4: "the host is digits and dots only, but is not an IPv4 address",
    ipv6: "the brackets must contain an IPv6 address without a zone",
    bare_ipv6: "the address in brackets needs a ':<port>'",
    bare_port: "the target is a port without a host",
    address_wildcard: "the host of an address takes no wildcard",
    label_part: "a label needs both a key and a value",
    label_long: "the key or the value of the label is longer than 255 bytes",
    label_wildcard: "a label may contain '*' only as the whole key or value",
    label_equals: "a label must contain exactly one '='",
    label_characters: "a label's key and value must be printable ASCII without space",
};

test("rules are accepted and refused as the server does, with the same reason", () => {
    const seen = new Set();
    runCases("acl_rules.cases", (expected, input) => {
        const reading = checkRule(input);
        if (expected === "ok") {
            assert.ok("target" in reading, reading.fault);
            return;
        }
        assert.ok("fault" in reading, "it is accepted");
        seen.add(reading.fault);
        const said = expected.replace("bad: ", "");
        const reason = REASONS[reading.fault];
        assert.ok(reason.includes(said), `${reading.fault}, expected: ${said}`);
    });
    assert.deepEqual([...seen].sort(), Object.keys(REASONS).sort());
});

test("rules permit what they permit on the server", () => {
    runCases("acl_match.cases", (expected, input) => {
        const at = input.startsWith("-> ") ? 0 : input.indexOf(" -> ") + 1;
        const rules = input.slice(0, at).split(" ").filter(Boolean);
        assert.equal(judge(rules, input.slice(at + 3)).isPermitted ? "permit" : "deny", expected);
    });
});

test("the rule that permits is the first one that does", () => {
    assert.equal(judge(["bind:b.a", "bind:*.a", "*"], "c.a").rule, "bind:*.a");
    assert.equal(judge(["bind:b.a"], "c.a").rule, null);
});

test("addresses of IPv6 have one spelling", () => {
    assert.equal(readIpv6("::1"), readIpv6("0:0:0:0:0:0:0:1"));
    assert.equal(readIpv6("::ffff:1.2.3.4"), readIpv6("0:0:0:0:0:FFFF:102:304"));
    for (const bad of ["", ":", ":::", "1::2::3", "1:2:3:4:5:6:7", "::1.2.3", "1.2.3.4::", "::12345", "fe80::1%eth0"]) {
        assert.equal(readIpv6(bad), null, bad);
    }
});

test("a refused target has a reason", () => {
    const rows = [
        [["bind:b.example", "bind:*.a.example"], "a.example", ["parent", "bind:*.a.example"]],
        [["bind:a.example"], "x.A.example", ["below", "bind:a.example"]],
        [["bind:a.example:22"], "a.example:23", ["port", "bind:a.example:22"]],
        [["bind:[::1]:22"], "[0::1]:23", ["port", "bind:[::1]:22"]],
        [["bind:a.example:22"], "a.example", ["only_addresses", "bind:a.example:22"]],
        [["bind:*.example"], "a.example:22", ["only_name", "bind:*.example"]],
        [["bind:team=web"], "team=ops", ["value", "bind:team=web"]],
        [["bind:a.example"], "b.example", ["others", "domain"]],
        [["bind:a.example"], "b.example:22", ["none", "address"]],
        [["bind:a.example:22"], "b.example:22", ["others", "address"]],
        [["bind:a.example", "bad"], "team=web", ["none", "label"]],
        [["bind:x=y"], "team=web", ["others", "label"]],
        [["bind:x=y"], "b.example", ["none", "domain"]],
    ];
    for (const [rules, target, wanted] of rows) {
        assert.equal(judge(rules, target).isPermitted, false);
        const reason = whyNot(rules, target);
        assert.deepEqual([reason.why, reason.rule ?? reason.kind], wanted, target);
    }
    assert.equal(whyNot(["bind:a.example"], "a b"), null);
});

const OTHERS = [
    { id: "1", acl: ["bind:a.example", "bind:b.example"], enabled: true },
    { id: "2", acl: ["bind:b.example"], enabled: true },
    { id: "3", acl: ["bind:team=*"], enabled: true },
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
    assert.deepEqual(idsOf(["bind:x.example"], [...OTHERS, { id: "4", acl: [], enabled: true }], "c.example"), [
        true,
        null,
        ["4 null"],
    ]);
    assert.deepEqual(idsOf([], [], "c.example"), [true, null, []]);
});

test("a paused credential permits nothing", () => {
    assert.deepEqual(idsOf(["bind:x.example"], [{ id: "4", acl: [], enabled: false }], "c.example"), [false, null, []]);
});

test("a credential that is not stored permits nothing", () => {
    assert.deepEqual(idsOf(null, [], "c.example"), [false, undefined, []]);
    assert.deepEqual(idsOf(null, OTHERS, "a.example"), [true, undefined, ["1 bind:a.example"]]);
});

test("a malformed target is permitted where everything is", () => {
    assert.deepEqual(idsOf(["bind:x.example"], OTHERS, "a b"), [false, null, []]);
    assert.deepEqual(idsOf(["bind:x.example"], [{ id: "5", acl: ["*"], enabled: true }], "a b"), [true, null, ["5 *"]]);
});
