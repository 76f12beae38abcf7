// SPDX-License-Identifier: MIT
// Cases as data: see tests/unit/cases.h.
import assert from "node:assert/strict";
import fs from "node:fs";
import path from "node:path";

export const FOLDER = process.env.CASES_DIR;

export async function model(name) {
    return import(path.join(process.env.CONSOLE_MODEL, name + ".mjs"));
}

function pieceOf(escape) {
    switch (escape[1]) {
        case "t":
            return "\t";
        case "n":
            return "\n";
        case "r":
            return "\r";
        case "\\":
            return "\\";
        case "x":
            return String.fromCharCode(parseInt(escape.slice(2), 16));
        default: {
            const [, text, n] = /^\\\{([^*]*)\*(\d+)\}$/.exec(escape);
            return text.repeat(Number(n));
        }
    }
}

// Bytes become the text that they are in UTF-8.
function unescapeInput(text) {
    const latin = Buffer.from(text, "utf8").toString("latin1");
    const bytes = latin.replace(/\\(?:[tnr\\]|x[0-9A-Fa-f]{2}|\{[^}]*\})/g, pieceOf);
    return Buffer.from(bytes, "latin1").toString("utf8");
}

// Calls check(expected, input) for each case of the file, and says which case failed.
export function runCases(name, check) {
    const lines = fs.readFileSync(path.join(FOLDER, name), "utf8").split("\n");
    let n = 0;
    for (const [at, line] of lines.entries()) {
        if (line === "" || line.startsWith("#")) {
            continue;
        }
        const [expected, input, why] = line.split("\t");
        assert.ok(why !== undefined, `${name}:${at + 1}: not three fields`);
        n++;
        try {
            check(expected, unescapeInput(input));
        } catch (error) {
            error.message = `${name}:${at + 1} (${why}): ${error.message}`;
            throw error;
        }
    }
    assert.ok(n > 0, `${name} holds no case`);
}
