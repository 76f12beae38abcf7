// SPDX-License-Identifier: MIT
import assert from "node:assert/strict";
import { test } from "node:test";
import { model } from "./cases.mjs";

const { seen } = await model("text");

test("a text of spaces is none", () => {
    for (const text of ["", " ", "\t \n", "\u00a0", "\u3000\u2003", "\u2800", "\u3164 "]) {
        assert.equal(seen(text), "", JSON.stringify(text));
    }
    for (const text of [" a ", "0", "\u200b", "\u{1f600}"]) {
        assert.equal(seen(text), text);
    }
});
