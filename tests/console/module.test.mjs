// SPDX-License-Identifier: MIT
import assert from "node:assert/strict";
import { test } from "node:test";
import { model, runCases } from "./cases.mjs";

const { domainFault } = await model("domain");
const { isIdent } = await model("ident");
const { readUint32 } = await model("uint32");
const { readEntries, writeEntries } = await model("entries");
const { mergeOne } = await model("merge");
const { checkBody } = await model("module");
const oauth = await model("oauth_module");
const tls = await model("mutual_tls_module");

const { PROVIDERS } = await model("providers");
const NAMES = PROVIDERS.map(({ standard }) => standard);
const FRESH = oauth.freshOauth(NAMES);

// A part of the server's reason for each fault.
const REASONS = {
    empty: "empty",
    long: "longer than 253",
    dot: "ends with a dot",
    at: "begins with '@'",
    label_empty: "label between dots is empty",
    label_long: "longer than 63",
    underscore: "only an underscore",
    ascii: "xn--",
    characters: "may contain letters",
    hyphen: "hyphen",
};

test("domains are refused for the server's reason", () => {
    runCases("domains.cases", (expected, input) => {
        // A text in the browser is never what is not UTF-8.
        if (!expected.startsWith("ip") && !input.includes("\ufffd")) {
            const fault = domainFault(input);
            assert.equal(fault ? "bad: " + REASONS[fault] : "ok", expected);
        }
    });
});

test("identifiers and numbers are the server's", () => {
    runCases("identifiers.cases", (expected, input) => assert.equal(isIdent(input) ? "ok" : "bad", expected));
    runCases("uint32.cases", (expected, input) => assert.equal(String(readUint32(input) ?? "bad"), expected));
    for (const bad of ["", "007", "+1", "1.", ".5", "1e", "0x10", "1 2", "NaN", "Infinity"]) {
        assert.equal(readUint32(bad), null, bad);
    }
});

test("every list of texts stands in a field and comes back", () => {
    const hostile = [
        "plain",
        " led",
        "trailed ",
        "two\nlines",
        "\r",
        "\t",
        '"quoted"',
        '"a"@b.example',
        "",
        "\\n",
        "\u00a0",
        "\u202e",
    ];
    assert.deepEqual(readEntries(writeEntries(hostile)), hostile);
    assert.equal(writeEntries(["a", '"a"@b.example']), 'a\n"a"@b.example');
    assert.deepEqual(readEntries("  a \r\n\n b\n"), ["a", "b"]);
});

// The form can hold one provider's configuration, and no member of a wrong type.
function formOf(body) {
    const providers = Object.entries(body.provider ?? {});
    const given = providers.filter(([, config]) => config !== null);
    const config = given[0]?.[1] ?? {};
    const isList = (value) =>
        value === undefined || value === null || (Array.isArray(value) && value.every((one) => typeof one === "string"));
    const isText = (value) => value === undefined || value === null || typeof value === "string";
    const { client_id, client_secret, ...lists } = config;
    const names = oauth.hasTeams(FRESH, given[0]?.[0]) ? 5 : 3;
    const known = ["scopes", "email_addresses", "email_domains", "teams", "organizations"].slice(0, names);
    const isExpressible =
        Object.keys(body).every((name) => ["provider", "cookie_prefix"].includes(name)) &&
        given.length <= 1 &&
        providers.every(
            ([name, one]) => NAMES.includes(name) && (one === null || (typeof one === "object" && !Array.isArray(one))),
        ) &&
        [client_id, client_secret].every(isText) &&
        Object.entries(lists).every(([name, list]) => known.includes(name) && isList(list));
    if (!isExpressible) {
        return null;
    }
    const form = { ...oauth.oauthFormOf(FRESH), provider: given[0]?.[0] ?? "", cookie_prefix: body.cookie_prefix ?? "" };
    for (const name of known) {
        form[name] = writeEntries(lists[name] ?? []);
    }
    return { ...form, client_id: client_id ?? "", client_secret: client_secret ?? "" };
}

test("OAuth modules are refused as the server refuses them", () => {
    let n = 0;
    runCases("oauth_module.cases", (expected, input) => {
        const form = formOf(JSON.parse(input));
        if (!form) {
            return;
        }
        n++;
        const found = Object.entries(oauth.checkOauth(form, FRESH)).filter(([, finding]) => finding);
        if (expected.startsWith("ok")) {
            assert.deepEqual(found, []);
            assert.equal(form.provider, expected.slice(3));
        } else {
            const member = expected
                .split(" ")[1]
                .replace(/\[\d+\]$/, "")
                .split(".")
                .at(-1);
            assert.ok(
                found.some(([name, finding]) => name === member && finding.number === Number(expected.split(" ")[0])),
                JSON.stringify(found),
            );
        }
    });
    assert.ok(n > 70, `only ${n} cases are forms`);
});

test("mutual TLS modules are refused as the server refuses them", () => {
    let n = 0;
    runCases("mutual_tls_module.cases", (expected, input) => {
        const { enabled = true, certificate_authority_ids = [], ...others } = JSON.parse(input);
        if (Object.keys(others).length > 0) {
            return;
        }
        n++;
        const found = tls.checkMutualTls({ enabled, certificate_authority_ids: writeEntries(certificate_authority_ids) });
        assert.equal(String(found.certificate_authority_ids?.number ?? "ok"), expected.split(" ")[0]);
    });
    assert.ok(n >= 12, `only ${n} cases are forms`);
});

test("lengths, counts and the whole body have the server's limits", () => {
    const check = (members) => {
        const found = oauth.checkOauth(
            { ...oauth.oauthFormOf(FRESH), provider: "provider_a", client_id: "i", client_secret: "s", ...members },
            FRESH,
        );
        return Object.entries(found)
            .filter(([, finding]) => finding)
            .map(([name, finding]) => `${name} ${finding.number}`)
            .join();
    };
    const many = (n, before = "") => Array.from({ length: n }, (_, at) => before + at).join("\n");
    assert.equal(check({}), "");
    assert.equal(check({ client_id: "\u00e9".repeat(512), client_secret: "s".repeat(1024) }), "");
    assert.equal(check({ client_id: "\u00e9".repeat(513) }), "client_id 9021");
    assert.equal(check({ client_secret: "s".repeat(1025) }), "client_secret 9022");
    assert.equal(check({ client_secret: "\u0000" }), "client_secret 213");
    assert.equal(check({ scopes: "\ud800" }), "scopes 213");
    assert.equal(check({ scopes: "s".repeat(1025) }), "scopes 9019");
    assert.equal(check({ organizations: "s".repeat(1025) }), "organizations 9020");
    assert.equal(check({ organizations: "o\n@o" }), "organizations 9095");
    assert.equal(check({ teams: "@o/t" }), "teams 7040");
    assert.equal(check({ teams: "o/" + "t".repeat(1023) }), "teams 7040");
    for (const [name, number] of [
        ["scopes", 7056],
        ["teams", 7057],
        ["organizations", 7058],
        ["email_addresses", 7060],
        ["email_domains", 7061],
    ]) {
        assert.equal(
            check({ [name]: many(1001, name === "teams" ? "o/" : name === "email_addresses" ? "u@d" : "") }),
            `${name} ${number}`,
        );
    }
    for (const name of ["inactivity_timeout", "maximum_duration", "auth_check_interval"]) {
        assert.equal(check({ [name]: "4294967296" }), `${name} 215`);
        assert.equal(check({ [name]: " 8.64E+4 " }), "");
    }
    const full = { scopes: many(1000), teams: many(1000, "o/"), organizations: many(1000), email_domains: many(1000) };
    assert.equal(check(full), "body 213");
    assert.equal(
        check({ organizations: Array.from({ length: 66 }, (_, at) => String(at).padStart(1000, "x")).join("\n") }),
        "body 9006",
    );
    assert.equal(checkBody({ a: "x".repeat(65536 - 8) }), null);
    assert.equal(checkBody({ a: "x".repeat(65536 - 7) }).number, 9006);
});

function stored(name, members) {
    return {
        ...FRESH,
        provider: {
            ...FRESH.provider,
            [name]: { client_id: "id", client_secret: "hush", scopes: [], email_addresses: [], email_domains: [], ...members },
        },
    };
}

test("a secret that is left alone stays, with its client only", () => {
    const before = stored("provider_c");
    const form = oauth.oauthFormOf(before);
    const sent = (members) => oauth.oauthBodyOf({ ...form, ...members }, before).provider;
    assert.equal(JSON.stringify(form).includes("hush"), false);
    assert.equal(sent({}).provider_c.client_secret, "hush");
    assert.equal(sent({ client_secret: "new" }).provider_c.client_secret, "new");
    assert.equal(sent({ client_id: "other" }).provider_c.client_secret, null);
    assert.equal(sent({ client_id: "" }).provider_c.client_secret, null);
    assert.equal(sent({ provider: "provider_d" }).provider_d.client_secret, null);
    assert.equal(oauth.checkOauth({ ...form, client_id: "other" }, before).client_secret.fault, "secret_again");
    assert.equal(oauth.checkOauth(form, stored("provider_c", { client_secret: null })).client_secret.fault, "secret_again");
});

test("a form that nobody changed is the module as it is stored", () => {
    const lists = {
        scopes: ["a b"],
        email_addresses: ["u@a.example"],
        email_domains: ["a.example"],
        teams: ["o/t"],
        organizations: [" o\n"],
    };
    const before = {
        ...stored("provider_a", lists),
        enabled: false,
        options_passthrough: true,
        cookie_prefix: "x",
        inactivity_timeout: 1,
        maximum_duration: 2,
        auth_check_interval: 3,
    };
    const body = oauth.oauthBodyOf(oauth.oauthFormOf(before), before);
    assert.deepEqual(body, { ...before, provider: { provider_a: before.provider.provider_a } });
});

test("two people change a module", () => {
    const before = oauth.oauthFormOf(stored("provider_b", { email_domains: ["a", "b"] }));
    const theirs = { ...before, enabled: false, maximum_duration: "7", email_domains: "a\nb\nt" };
    const yours = { ...before, maximum_duration: "8", client_secret: "new", email_domains: "b\ny" };
    assert.deepEqual(oauth.mergeOauth(before, theirs, yours), {
        ...before,
        enabled: false,
        maximum_duration: "8",
        client_secret: "new",
        email_domains: "b\nt\ny",
    });
    assert.equal(mergeOne(1, 2, 1), 2);
    assert.deepEqual(
        tls.mergeMutualTls(
            { enabled: true, certificate_authority_ids: "a" },
            { enabled: false, certificate_authority_ids: "a\nt" },
            { enabled: true, certificate_authority_ids: "a\ny" },
        ),
        { enabled: false, certificate_authority_ids: "a\nt\ny" },
    );
});

test("the question whom a module lets in holds no secret", () => {
    const own = { client_id: "app", client_secret: "hush", scopes: ["repo"], teams: ["o/t"] };
    const question = oauth.questionOf(oauth.oauthFormOf(stored("provider_a", own)), stored("provider_a", own));
    assert.ok(!JSON.stringify(question).includes("hush"));
    assert.deepEqual(question, {
        enabled: true,
        provider: {
            provider_a: {
                client_id: "app",
                client_secret: "-",
                scopes: ["repo"],
                email_addresses: [],
                email_domains: [],
                teams: ["o/t"],
                organizations: [],
            },
        },
    });
    assert.deepEqual(oauth.questionOf(oauth.oauthFormOf(FRESH), FRESH), { enabled: true, provider: null });
    // Scopes that are typed before the client are no scopes of the managed application.
    const typed = { ...oauth.oauthFormOf(stored("provider_c")), client_id: "", scopes: "x", client_secret: "typed" };
    assert.deepEqual(oauth.questionOf(typed, FRESH).provider.provider_c, {
        client_id: null,
        client_secret: null,
        scopes: [],
        email_addresses: [],
        email_domains: [],
    });
});

test("the names of a list", () => {
    assert.deepEqual(oauth.namesOf(stored("provider_a", { teams: ["o/t"] }), "teams"), ["o/t"]);
    assert.deepEqual(oauth.namesOf(stored("provider_b"), "teams"), []);
    assert.deepEqual(oauth.namesOf(FRESH, "email_domains"), []);
});
