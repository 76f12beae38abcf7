// SPDX-License-Identifier: MIT
import assert from "node:assert/strict";
import { test } from "node:test";
import { model } from "./cases.mjs";

const { commandFor, kindOf, planRestore, withSecret } = await model("restore");

const CREDENTIAL = {
    id: "sshcr_1",
    uri: "u",
    created_at: "2026-01-01T00:00:00Z",
    description: "d",
    metadata: "",
    public_key: "k",
    acl: ["bind:a.example"],
    owner_id: "usr_1",
};

function oauth(client_id, client_secret = null, more = {}) {
    return {
        enabled: true,
        provider: { a: { client_id, client_secret, scopes: [] }, b: null },
        cookie_prefix: "c.",
        inactivity_timeout: 0,
        ...more,
    };
}

test("a credential that exists gets what the interface can change", () => {
    const present = { ...CREDENTIAL, description: "other", acl: [], owner_id: "usr_2" };
    assert.deepEqual(planRestore("ssh_credential", CREDENTIAL, present), {
        method: "PATCH",
        body: { description: "d", acl: ["bind:a.example"] },
        fixed: ["owner_id"],
        secret: "none",
    });
    assert.equal(planRestore("ssh_credential", CREDENTIAL, { ...CREDENTIAL, uri: "other" }), "same");
    // Empty texts and lists clear.
    const cleared = planRestore("ssh_credential", { ...CREDENTIAL, description: "", acl: [] }, CREDENTIAL);
    assert.deepEqual(cleared.body, { description: "", acl: [] });
});

test("a credential that is gone is created", () => {
    const { id, uri, created_at, ...body } = CREDENTIAL;
    const plan = planRestore("ssh_credential", CREDENTIAL, null);
    assert.deepEqual([plan.method, plan.body, plan.fixed], ["POST", body, ["id", "created_at"]]);
    assert.ok(id && uri && created_at);
});

test("what did not exist is deleted", () => {
    assert.equal(planRestore("ssh_credential", null, CREDENTIAL).method, "DELETE");
    assert.equal(planRestore("mutual_tls_module", null, { enabled: true, certificate_authorities: [] }).method, "DELETE");
    assert.equal(planRestore("oauth_module", null, null), "same");
});

test("a module is replaced, with a secret where it had one", () => {
    const plan = planRestore("oauth_module", oauth("app"), oauth("other", "stored"));
    assert.deepEqual(plan, {
        method: "PUT",
        body: { enabled: true, provider: { a: { client_id: "app", scopes: [] } }, cookie_prefix: "c.", inactivity_timeout: 0 },
        fixed: [],
        secret: "needed",
    });
    assert.equal(withSecret(plan, "typed", oauth("other", "stored")).provider.a.client_secret, "typed");
    // The stored secret belongs to another client.
    assert.equal(withSecret(plan, "", oauth("other", "stored")).provider.a.client_secret, "");

    const keepable = planRestore("oauth_module", oauth("app"), oauth("app", "stored", { enabled: false }));
    assert.equal(keepable.secret, "keepable");
    assert.equal(withSecret(keepable, "", oauth("app", "stored")).provider.a.client_secret, "stored");
    assert.equal(withSecret(keepable, "typed", oauth("app", "stored")).provider.a.client_secret, "typed");

    // A key that reads only sees no secret.
    assert.equal(planRestore("oauth_module", oauth("app"), oauth("app", null, { enabled: false })).secret, "needed");
    const managed = planRestore("oauth_module", oauth(null), null);
    assert.deepEqual([managed.secret, managed.body.provider], ["none", { a: { scopes: [] } }]);
    assert.equal("client_secret" in withSecret(managed, "typed", null).provider.a, false);
    const none = planRestore("oauth_module", { ...oauth(null), provider: { a: null, b: null } }, null);
    assert.equal("provider" in none.body, false);
    assert.equal(planRestore("oauth_module", oauth(null), oauth(null)), "same");
});

test("authorities are named by their identifiers, in order", () => {
    const wanted = {
        enabled: false,
        certificate_authorities: [
            { id: "b", uri: "" },
            { id: "a", uri: "" },
        ],
    };
    assert.deepEqual(planRestore("mutual_tls_module", wanted, null).body, {
        enabled: false,
        certificate_authority_ids: ["b", "a"],
    });
    assert.equal(planRestore("mutual_tls_module", wanted, wanted), "same");
});

test("what the interface cannot restore has a reason", () => {
    assert.equal(planRestore("api_key", { id: "x" }, null), "api_key");
    assert.equal(planRestore("principal", { id: "x" }, null), "kind");
    assert.equal(planRestore("account", { id: "x" }, null), "kind");
    assert.equal(planRestore(kindOf("later_created"), null, null), "unseen");
    assert.equal(kindOf("oauth_module_rekeyed"), "oauth_module");
});

test("the operator's command names the change, or the second after it", () => {
    const event = {
        id: "ae_7",
        event: "oauth_module_updated",
        created_at: "2026-12-31T23:59:59Z",
        resource: { id: "e/r" },
        before: {},
        after: {},
    };
    assert.equal(commandFor(event, "before"), "aditctl restore --event ae_7");
    assert.equal(commandFor(event, "after"), "aditctl restore --at 2027-01-01T00:00:00Z -- e/r");
    assert.equal(commandFor({ ...event, resource: { id: "~e" } }, "after"), "aditctl restore --at 2027-01-01T00:00:00Z -- '~e'");
    assert.equal(commandFor({ ...event, event: "principal_created", before: null }, "before"), "");
    assert.equal(commandFor({ ...event, event: "later_created" }, "before"), "");
    assert.equal(
        commandFor({ ...event, event: "api_key_updated", after: { principal_id: "usr_1" } }, "before"),
        "aditctl key issue --for usr_1",
    );
});
