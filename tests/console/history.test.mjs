// SPDX-License-Identifier: MIT
// Events in words, and where their resources are.
import assert from "node:assert/strict";
import { test } from "node:test";
import { load } from "./page.mjs";

const { pathOf, viewOf } = await load("rooms/history/read");
const { EVENTS, changedText, eventText, makerOf, memberText, subjectOf } = await load("rooms/history/words");
const { membersOf } = await load("model/difference");
const { kindOf } = await load("model/restore");

function eventOf(event, id, more = {}) {
    return { event, resource: { id }, before: null, after: null, ...more };
}

test("a resource has an address in the interface, and one of its view", () => {
    const rows = [
        ["ssh_credential_created", "sshcr_1", "ssh_credentials/sshcr_1", "#/credentials/sshcr_1"],
        ["oauth_module_rekeyed", "e~1/r.1", "edges/https/e~1/routes/r.1/oauth", "#/modules/oauth/e~1/r.1"],
        ["mutual_tls_module_deleted", "e", "edges/tls/e/mutual_tls", "#/modules/mutual_tls/e"],
        ["api_key_created", "ak_1", "", null],
        ["account_created", "acc_1", "", null],
        ["later_created", "x", "", null],
    ];
    for (const [event, id, path, view] of rows) {
        assert.deepEqual([pathOf(eventOf(event, id)), viewOf(eventOf(event, id))], [path, view], event);
    }
    assert.equal(pathOf({ ...eventOf("ssh_credential_created"), resource: null }), "ssh_credentials/");
});

test("every kind of event that may be chosen has words and a resource, and an unknown one its name", () => {
    const names = EVENTS.flatMap(([prefix, , events]) => {
        assert.ok(
            events.every(([name]) => name.startsWith(prefix)),
            prefix,
        );
        return events.map(([name]) => name);
    });
    for (const name of names) {
        assert.notEqual(eventText(name), name);
        assert.notEqual(kindOf(name), null, name);
    }
    assert.equal(new Set(names.map(eventText)).size, names.length);
    assert.equal(eventText("later_created"), "later_created");
});

test("members have words, and an unknown one its name", () => {
    assert.equal(memberText("acl"), "May bind");
    assert.equal(memberText("provider.teams"), "Teams");
    for (const name of ["later", "constructor", "__proto__"]) {
        assert.equal(memberText(name), name);
    }
    const secret = "provider.client_secret";
    const module = (client_id) => ({ provider: { provider_a: { client_id, client_secret: null } } });
    const said = [module("app"), module(null), null].map((after) =>
        changedText(secret, eventOf("oauth_module_updated", "e/r", { after })),
    );
    assert.notEqual(said[0], said[1]);
    assert.equal(said[1], said[2]);
    assert.equal(membersOf(module("app")).has(secret), false);
});

test("what a change was about is called as people call it", () => {
    const rows = [
        ["ssh_credential_created", "sshcr_1", { after: { description: "laptop" } }, "laptop"],
        ["ssh_credential_deleted", "sshcr_1", { before: { description: "gone" } }, "gone"],
        ["ssh_credential_created", "sshcr_1", { after: { description: " \u00a0" } }, "No description"],
        ["api_key_updated", "ak_1", { before: { description: "old" }, after: { description: "new" } }, "new"],
        ["oauth_module_created", "shop/r", {}, "Route r of edge shop"],
        ["mutual_tls_module_created", "front", {}, "Edge front"],
        ["principal_created", "bot_1", { after: { kind: "bot" } }, "Bot"],
        ["principal_created", "usr_1", { after: { kind: "user" } }, "User"],
        ["account_created", "acc_1", {}, "Account"],
        ["later_created", "x", {}, ""],
    ];
    for (const [event, id, states, words] of rows) {
        assert.equal(subjectOf(eventOf(event, id, states)), words);
    }
    assert.equal(makerOf({ principal: { id: "usr_1" }, operator: null }), "usr_1");
    assert.equal(makerOf({ principal: null, operator: "root" }), "root");
    assert.notEqual(makerOf({ principal: null, operator: null }), "");
});
