// SPDX-License-Identifier: MIT
// What a refusal is about.
import assert from "node:assert";
import { test } from "node:test";

const { isAbout } = await import(process.env.CONSOLE_MODEL + "/fault.mjs");

test("a refusal is about its field", () => {
    assert.equal(isAbout("description", ["description"]), true);
    assert.equal(isAbout("description", ["metadata", "acl"]), false);
    assert.equal(isAbout("acl[3]", ["acl"]), true);
    assert.equal(isAbout("provider.provider_a.email_domains[0]", ["email_domains"]), true);
    assert.equal(isAbout("provider.provider_a.email_domains[0]", ["email_addresses"]), false);
    assert.equal(isAbout("provider.provider_a.email_domains[0]", []), false);
});

test("the service judges a secret and its client together", () => {
    assert.equal(isAbout("provider.provider_a.client_secret", ["client_id"]), true);
    assert.equal(isAbout("provider.provider_a.scopes", ["client_secret"]), true);
    assert.equal(isAbout("provider.provider_a.client_id", ["provider"]), true);
    assert.equal(isAbout("provider.provider_a.client_id", ["teams"]), false);
});

test("without a field, each change may mend it", () => {
    assert.equal(isAbout("", ["metadata"]), true);
});
