// SPDX-License-Identifier: MIT
import assert from "node:assert/strict";
import { test } from "node:test";
import { model } from "./cases.mjs";

const attention = await model("attention");

test("whom a module lets in is the service's answer, not the console's", () => {
    assert.equal(attention.NOBODY, 'obj.admits == "nobody"');
    assert.equal(attention.ANYONE, 'obj.admits == "anyone"');
});
