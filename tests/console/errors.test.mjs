// SPDX-License-Identifier: MIT
// What is said of an error, and how long it stays.
import assert from "node:assert/strict";
import { test } from "node:test";
import { load } from "./page.mjs";

const { ApiError } = await load("api/error");
const { afterChange, faultOf, generally, ownWords } = await load("parts/error_words");
const { setLanguage } = await load("text");
const { isAbout } = await load("model/fault");

function refused(status, field, number = 604) {
    const details = field === undefined ? {} : { field };
    return new ApiError("refused", status, "The server's words", number, details, "op_1", null, true);
}

function failed(kind, isWrite, number = null, status = 0) {
    return new ApiError(kind, status, "", number, {}, "", null, isWrite);
}

test("before the server's words stands what happened, in the reader's language", () => {
    const rows = [
        [400, "The service refused this:", "Der Dienst hat das abgelehnt:"],
        [401, "The service does not accept this key:", "Der Dienst nimmt diesen Schlüssel nicht an:"],
        [403, "This key may not do that:", "Dieser Schlüssel darf das nicht:"],
        [404, "That does not exist:", "Das gibt es nicht:"],
        [409, "That does not fit what is stored:", "Das passt nicht zu dem, was gespeichert ist:"],
        [412, "Somebody changed it meanwhile:", "Jemand hat es inzwischen geändert:"],
        [413, "That is too large:", "Das ist zu groß:"],
        [422, "The service refused this:", "Der Dienst hat das abgelehnt:"],
        [429, "Too many requests at once:", "Zu viele Anfragen auf einmal:"],
        [500, "The service cannot do that now:", "Der Dienst kann das gerade nicht:"],
        [503, "The service cannot do that now:", "Der Dienst kann das gerade nicht:"],
    ];
    for (const [status, english, german] of rows) {
        assert.equal(generally(status), english);
        setLanguage("de");
        assert.equal(generally(status), german);
        setLanguage("en");
    }
});

test("the server's words are shown, and where there are none, the console's", () => {
    const maybe = "A change that you just made may or may not be in effect: look before you try again.";
    assert.equal(ownWords(refused(409)), null);
    const rows = [
        ["unreachable", "The service cannot be reached. Check the connection, and try again."],
        ["timeout", "The service did not answer within 30 s."],
        ["unreadable", "The answer is not the service's (status 0). Tell the operator."],
    ];
    for (const [kind, words] of rows) {
        assert.equal(ownWords(failed(kind, false)), words);
        assert.equal(ownWords(failed(kind, true)), `${words} ${maybe}`);
    }
    // The web server's words are about changes, so they stand only where one may have been made.
    assert.equal(ownWords(failed("refused", false, 9055, 502)), rows[0][1]);
    assert.equal(ownWords(failed("refused", false, 9056, 504)), "The service did not answer in time. Try again.");
    assert.equal(ownWords(failed("refused", true, 9055, 502)), null);
    assert.equal(ownWords(new TypeError("x is null")), "The console failed: TypeError: x is null");
});

test("a reason stands at the member that it is about", () => {
    assert.equal(faultOf(refused(400, "acl"), "acl"), "The server's words");
    assert.equal(faultOf(refused(400, "acl[3]"), "acl"), "The server's words");
    for (const [error, member] of [
        [refused(400, "acl_more"), "acl"],
        [refused(400, "acl"), "description"],
        [refused(400), "acl"],
        [new Error("acl"), "acl"],
        [null, "acl"],
    ]) {
        assert.equal(faultOf(error, member), "");
    }
});

test("a refusal goes once what it is about is changed, and what nobody can mend there stays", () => {
    for (const status of [400, 404, 409, 413, 422]) {
        assert.equal(afterChange(refused(status, "acl[3]"), ["acl"]), null, String(status));
        const other = refused(status, "acl[3]");
        assert.equal(afterChange(other, ["description"]), other, String(status));
        assert.equal(afterChange(refused(status), ["description"]), null, String(status));
    }
    for (const error of [
        ...[401, 403, 412, 429, 500, 503].map((status) => refused(status, "acl")),
        failed("unreachable", true),
        new Error("x"),
        null,
    ]) {
        assert.equal(afterChange(error, ["acl"]), error);
    }
});

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
