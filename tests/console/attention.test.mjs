// SPDX-License-Identifier: MIT
import assert from "node:assert/strict";
import { test } from "node:test";
import { model } from "./cases.mjs";

const { lettingNobodyIn } = await model("attention");

const NAMES = ["a", "b", "c", "d", "e", "f", "g", "h"];

test("modules that let nobody in have no provider, or one whose addresses nobody verifies", () => {
    assert.equal(lettingNobodyIn([]), 'obj.enabled == true && obj.provider == ""');
    assert.equal(
        lettingNobodyIn(NAMES),
        'obj.enabled == true && (obj.provider == "" || obj.provider in ["b", "h"] && ' +
            "(size(obj.email_addresses) > 0 || size(obj.email_domains) > 0))",
    );
});
