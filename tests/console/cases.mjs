// SPDX-License-Identifier: MIT
// Cases as data: see tests/unit/cases.h.
import assert from "node:assert/strict";
import fs from "node:fs";
import path from "node:path";
import { load } from "./page.mjs";

export const FOLDER = process.env.CASES_DIR;

export async function model(name) {
    return load("model/" + name);
}

function pieceOf(text) {
    switch (text[1]) {
        case "t":
            return "\t";
        case "n":
            return "\n";
        case "r":
            return "\r";
        case "\\":
            return "\\";
        case "x":
            return String.fromCharCode(parseInt(text.slice(2), 16));
        default: {
            const [, repeated, n] = /^\\\{([^*]*)\*(\d+)\}$/.exec(text);
            return repeated.repeat(Number(n));
        }
    }
}

// Bytes become the text that they are in UTF-8.
function unescapeInput(text) {
    const latin = Buffer.from(text, "utf8").toString("latin1");
    const bytes = latin.replace(/\\(?:[tnr\\]|x[0-9A-Fa-f]{2}|\{[^}]*\})/g, pieceOf);
    return Buffer.from(bytes, "latin1").toString("utf8");
}

// The names of the case files in a folder.
export function namesOf(folder) {
    return fs.readdirSync(path.join(FOLDER, folder)).sort();
}

// {expected, input, why, line} of each case of the file.
export function readCases(name) {
    const lines = fs.readFileSync(path.join(FOLDER, name), "utf8").split("\n");
    const cases = [];
    for (const [at, text] of lines.entries()) {
        if (text === "" || text.startsWith("#")) {
            continue;
        }
        const [expected, input, why] = text.split("\t");
        assert.ok(why !== undefined, `${name}:${at + 1}: not three fields`);
        cases.push({ expected, input: unescapeInput(input), why, line: at + 1 });
    }
    assert.ok(cases.length > 0, `${name} holds no case`);
    return cases;
}

// Calls check(expected, input) for each case of the file, and says which case failed.
export function runCases(name, check) {
    for (const { expected, input, why, line } of readCases(name)) {
        try {
            check(expected, input);
        } catch (error) {
            error.message = `${name}:${line} (${why}): ${error.message}`;
            throw error;
        }
    }
}
