// SPDX-License-Identifier: MIT
import assert from "node:assert/strict";
import { test } from "node:test";
import { model, namesOf, readCases, runCases } from "./cases.mjs";

const { isOfPublicKeys, looksPrivate, readPublicKey } = await model("public_key");

// The cases of a class of keys, or of those that are accepted.
function keys(name) {
    return readCases(`keys/${name}.cases`);
}

function acceptedLine(prefix) {
    return keys("accepted").find(({ why }) => why.startsWith(prefix) && why.endsWith(".line")).input;
}

test("each accepted key has the type and the fingerprint that ssh-keygen prints", () => {
    runCases("keys/accepted.cases", (expected, input) => {
        const key = readPublicKey(input);
        assert.equal(`${key.type} ${key.fingerprint}`, expected);
        assert.equal(looksPrivate(input), false);
    });
});

test("spellings that the server accepts are read", () => {
    runCases("public_keys.cases", (expected, input) => {
        if (!expected.startsWith("refused")) {
            const key = readPublicKey(input);
            assert.equal(`${key.type} ${key.fingerprint}`, expected);
        }
    });
});

test("the size of an RSA key is its modulus's", () => {
    for (const bits of [2048, 16384]) {
        assert.equal(readPublicKey(acceptedLine(`rsa${bits}`)).bits, bits);
    }
});

test("no private key is read as a public one", () => {
    let n = 0;
    for (const name of ["private", "private-bare"]) {
        for (const { input, why } of keys(name)) {
            assert.ok(looksPrivate(input) || "fault" in readPublicKey(input), why);
            n += looksPrivate(input) ? 1 : 0;
        }
    }
    assert.ok(n > 50, `only ${n} are known as private keys`);
});

test("what the server takes for a private key is one here", () => {
    for (const { input, why } of keys("private")) {
        assert.equal(looksPrivate(input), true, why);
    }
});

test("the service is asked about certificates, options and several keys", () => {
    for (const name of ["certificate", "options", "several"]) {
        const unread = keys(name).filter(({ input }) => "fault" in readPublicKey(input));
        const asked = unread.filter(({ input }) => isOfPublicKeys(input) && !looksPrivate(input));
        assert.ok(asked.length >= 5, name);
    }
});

test("what may hold a secret is not sent", () => {
    for (const name of ["private", "private-bare", "form"]) {
        for (const { input, why } of keys(name)) {
            assert.ok(looksPrivate(input) || !isOfPublicKeys(input), why);
        }
    }
    const key = acceptedLine("");
    for (const text of ["", " ", "hunter2", "ssh-ed25519", "ssh-ed25519 hunter2", key + "\nhunter2", "hunter2\n" + key]) {
        assert.equal(isOfPublicKeys(text), false, text);
    }
    assert.equal(isOfPublicKeys(key + "\n" + key), true);
});

test("damaged keys end without an exception", () => {
    for (const file of namesOf("keys")) {
        for (const { input } of readCases("keys/" + file)) {
            readPublicKey(input);
            looksPrivate(input);
        }
    }
});
