// SPDX-License-Identifier: MIT
import assert from "node:assert/strict";
import fs from "node:fs";
import path from "node:path";
import { test } from "node:test";
import { FOLDER, model, runCases } from "./cases.mjs";

const { isOfPublicKeys, looksPrivate, readPublicKey } = await model("public_key");

function readAll(folder) {
    const names = fs.readdirSync(path.join(FOLDER, "keys", folder)).sort();
    assert.ok(names.length > 0, folder);
    return names.map((name) => [name, fs.readFileSync(path.join(FOLDER, "keys", folder, name), "utf8")]);
}

test("each accepted key has the type and the fingerprint that ssh-keygen prints", () => {
    const files = new Map(readAll("accepted"));
    for (const [name, text] of files) {
        const wanted = files.get(name + ".fingerprint");
        if (wanted) {
            const key = readPublicKey(text);
            assert.equal(`${key.type} ${key.fingerprint}`, wanted.trim(), name);
            assert.equal(looksPrivate(text), false, name);
        }
    }
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
        const [, text] = readAll("accepted").find(([name]) => name.startsWith(`rsa${bits}`) && name.endsWith(".line"));
        assert.equal(readPublicKey(text).bits, bits);
    }
});

test("no private key is read as a public one", () => {
    let n = 0;
    for (const folder of ["refused/private", "refused/private-bare"]) {
        for (const [name, text] of readAll(folder)) {
            assert.ok(looksPrivate(text) || "fault" in readPublicKey(text), name);
            n += looksPrivate(text) ? 1 : 0;
        }
    }
    assert.ok(n > 50, `only ${n} are known as private keys`);
});

test("what the server takes for a private key is one here", () => {
    for (const [name, text] of readAll("refused/private")) {
        assert.equal(looksPrivate(text), true, name);
    }
});

test("the service is asked about certificates, options and several keys", () => {
    for (const folder of ["certificate", "options", "several"]) {
        const unread = readAll("refused/" + folder).filter(([, text]) => "fault" in readPublicKey(text));
        const asked = unread.filter(([, text]) => isOfPublicKeys(text) && !looksPrivate(text));
        assert.ok(asked.length >= 5, folder);
    }
});

test("what may hold a secret is not sent", () => {
    for (const folder of ["refused/private", "refused/private-bare", "refused/form"]) {
        for (const [name, text] of readAll(folder)) {
            assert.ok(looksPrivate(text) || !isOfPublicKeys(text), name);
        }
    }
    const [, key] = readAll("accepted").find(([name]) => name.endsWith(".line"));
    for (const text of ["", " ", "hunter2", "ssh-ed25519", "ssh-ed25519 hunter2", key + "\nhunter2", "hunter2\n" + key]) {
        assert.equal(isOfPublicKeys(text), false, text);
    }
    assert.equal(isOfPublicKeys(key + "\n" + key), true);
});

test("damaged keys end without an exception", () => {
    for (const folder of fs.readdirSync(path.join(FOLDER, "keys", "refused"))) {
        if (folder !== "reasons") {
            for (const [, text] of readAll("refused/" + folder)) {
                readPublicKey(text);
                looksPrivate(text);
            }
        }
    }
});
