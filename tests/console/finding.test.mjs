// SPDX-License-Identifier: MIT
// What the service would refuse, in words.
import assert from "node:assert/strict";
import { test } from "node:test";
import { load } from "./page.mjs";

const { accepted, acceptedBytes, acceptedEntries, refusal, shorten } = await load("parts/finding");
const { checkCredential } = await load("model/credential");
const { checkMutualTls } = await load("model/mutual_tls_module");
const { checkOauth, freshOauth, oauthFormOf } = await load("model/oauth_module");
const { PROVIDERS } = await load("model/providers");

const FRESH = freshOauth(PROVIDERS.map(({ standard }) => standard));

// What the form for that provider says at a member.
function saidOf(member, members) {
    const form = { ...oauthFormOf(FRESH), provider: "provider_a", ...members };
    return refusal(checkOauth(form, FRESH)[member]);
}

function numbers(n) {
    return Array.from({ length: n }, (_, at) => String(at)).join("\n");
}

test("an OAuth module that the service would refuse is refused in words", () => {
    const client = { client_id: "app", client_secret: "s" };
    const rows = [
        ["email_addresses", "u@a.example\nu@v@w", "Error 7043: u@v@w: an address is local-part@domain"],
        ["email_addresses", "u@a.example\nu@a.example", "Error 7046: u@a.example: the entry is in the list twice."],
        ["email_domains", "*.a.example", "Error 7039: *.a.example: a label of a domain may contain"],
        ["email_domains", '""', "Error 7052: an entry is empty."],
        ["teams", "o", "Error 7040: o: a team is organization/team"],
        ["organizations", "@o", "Error 9095: @o: leave out the @ in front."],
        ["organizations", "x".repeat(1025), `Error 9020: ${"x".repeat(80)}…: the entry has 1,025 bytes; at most 1,024 are`],
        ["organizations", numbers(1001), "Error 7058: there are 1,001 entries; at most 1,000 are accepted."],
        ["client_id", "\u00e9".repeat(513), "Error 9021: the text has 1,026 bytes; at most 1,024 are accepted."],
        ["cookie_prefix", "a b", "Error 7042: the name of a cookie may contain"],
        ["inactivity_timeout", "4294967296", "Error 215: the value must be a whole number from 0 to 4294967295."],
        ["maximum_duration", "1.5", "Error 215: the value must be"],
        ["auth_check_interval", "-1", "Error 215: the value must be"],
    ];
    for (const [member, text, words] of rows) {
        const said = saidOf(member, { ...client, [member]: text });
        assert.equal(said.slice(0, words.length), words);
    }
    assert.match(saidOf("scopes", { scopes: "s" }), /^Error 390: scopes need a client ID/);
    assert.match(saidOf("client_secret", { client_id: "app" }), /^Error 383: the client ID needs a secret/);
    // It is said at the member that is missing.
    assert.match(saidOf("client_id", { client_secret: "s" }), /^Error 384: the secret needs a client ID/);
    const large = Array.from({ length: 70 }, (_, at) => String(at).padStart(1000, "x")).join("\n");
    assert.match(
        saidOf("body", { organizations: large }),
        /^Error 9006: the request has 7\d,\d{3} bytes as JSON; at most 65,536 are/,
    );
    assert.equal(saidOf("organizations", { organizations: "o" }), "");
});

test("so are a mutual TLS module and a credential", () => {
    const authorities = (text) =>
        refusal(checkMutualTls({ enabled: true, certificate_authority_ids: text }).certificate_authority_ids);
    assert.match(authorities("a b"), /^Error 228: a b: an identifier has 1 to 255 characters/);
    assert.equal(authorities("a\na"), "Error 9023: a: the entry is in the list twice.");
    assert.equal(authorities(numbers(1001)), "Error 7075: there are 1,001 entries; at most 1,000 are accepted.");
    assert.equal(authorities("a\nb"), "");
    const found = checkCredential({ description: "\u00e9".repeat(128), owner_id: "a b", acl: ["bind:b..c"] });
    assert.equal(refusal(found.description), "Error 604: the text has 256 bytes; at most 255 are accepted.");
    assert.equal(refusal(found.owner_id), "Error 9012: “a b”: an identifier has no spaces.");
    assert.match(refusal(found.acl), /^Error 600: bind:b\.\.c: this rule is not accepted/);
    assert.equal(refusal(null), "");
});

test("what is accepted is said, and nothing of nothing", () => {
    assert.equal(accepted("1 day"), "Accepted: 1 day");
    assert.equal(acceptedEntries(1), "Accepted: 1 of at most 1,000 entries");
    assert.equal(acceptedBytes(14, 1024), "Accepted: 14 of at most 1,024 bytes");
    assert.deepEqual([acceptedEntries(0), acceptedBytes(0, 1024)], ["", ""]);
});

test("a long entry is cut between characters", () => {
    assert.equal(shorten("\u{1f600}".repeat(3), 3), "\u{1f600}".repeat(3));
    assert.equal(shorten("\u{1f600}".repeat(4), 3), "\u{1f600}".repeat(3) + "…");
});

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
