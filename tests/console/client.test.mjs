// SPDX-License-Identifier: MIT
// Requests, and what becomes of their answers.
import assert from "node:assert/strict";
import { test } from "node:test";
import { LIVE, answerWith, brokenOff, load, refusal } from "./page.mjs";

const { call, randomName } = await load("api/client");
const { ApiError, isRefusal } = await load("api/error");
const { createCredential, isOwnerRefused } = await load("api/create");
const { nextQuery } = await load("api/list");
const ERR = await load("model/errors");
const { session } = await load("session");

const KEY = "adit_key";

function begin() {
    session.begin(KEY, { isAdmin: true, writes: "all" }, false);
}

// What ApiError says of a failed request.
async function failureOf(asking) {
    const error = await asking.then(
        () => assert.fail("it succeeds"),
        (reason) => reason,
    );
    assert.ok(error instanceof ApiError, String(error));
    const { kind, status, number, message, operationId, retryAfterS, isWrite } = error;
    return { kind, status, number, message, operationId, retryAfterS, isWrite };
}

// What no answer gives.
const NOTHING = { status: 0, number: null, message: "", operationId: "", retryAfterS: null };

test("the service is asked for its name until it answers, and then no more", async () => {
    for (const [answer, kind] of [
        [brokenOff, "unreachable"],
        [{ body: {} }, "unreadable"],
    ]) {
        const asked = answerWith(answer);
        assert.equal((await failureOf(call("GET", "x"))).kind, kind);
        assert.deepEqual(
            asked.map(({ url }) => url),
            ["https://console.invalid/adit/livez"],
        );
        assert.equal("authorization" in asked[0].headers, false);
    }
    const asked = answerWith(LIVE, { body: 1 }, { body: 2 });
    assert.equal((await call("GET", "a")).value, 1);
    assert.equal((await call("GET", "b")).value, 2);
    assert.deepEqual(
        asked.map(({ url }) => url.split("/").at(-1)),
        ["livez", "a", "b"],
    );
});

test("a request has the key and the version in its headers, and all else where the interface reads it", async () => {
    begin();
    const asked = answerWith({ status: 201, body: { id: 1 }, headers: { etag: '"7"' } }, { status: 204 }, {});
    const made = await call("POST", "things", { body: { a: "é" }, idempotencyKey: "i", query: { limit: "1" } });
    assert.deepEqual(made, { status: 201, value: { id: 1 }, etag: '"7"' });
    assert.deepEqual((await call("DELETE", "things/1", { ifMatch: '"7"' })).value, null);
    await call("GET", "things", { key: "other" }).catch(() => undefined);
    assert.equal(asked[0].url, "https://console.invalid/adit/things?limit=1");
    assert.deepEqual(
        asked.map(({ method, headers, body }) => [method, headers, body]),
        [
            [
                "POST",
                {
                    "service-version": "2",
                    authorization: "Bearer " + KEY,
                    "content-type": "application/json",
                    "idempotency-key": "i",
                },
                '{"a":"é"}',
            ],
            ["DELETE", { "service-version": "2", authorization: "Bearer " + KEY, "if-match": '"7"' }, undefined],
            ["GET", { "service-version": "2", authorization: "Bearer other" }, undefined],
        ],
    );
    for (const { cache, redirect, referrerPolicy } of asked) {
        assert.deepEqual([cache, redirect, referrerPolicy], ["no-store", "error", "no-referrer"]);
    }
});

test("each answer that goes wrong has its kind", async () => {
    begin();
    const refused = { kind: "refused", message: "The server's words", operationId: "op_1", retryAfterS: 7 };
    const rows = [
        [refusal(403, 9005), { ...refused, status: 403, number: 9005 }],
        [refusal(409, 609), { ...refused, status: 409, number: 609 }],
        [refusal(503, 9030), { ...refused, status: 503, number: 9030 }],
        [brokenOff, { ...NOTHING, kind: "unreachable" }],
        [{ status: 502 }, { ...NOTHING, kind: "unreadable", status: 502 }],
        [
            { status: 502, body: "<html>" },
            { ...NOTHING, kind: "unreadable", status: 502 },
        ],
        [
            { status: 500, body: { msg: 7 } },
            { ...NOTHING, kind: "unreadable", status: 500 },
        ],
        [{ status: 200 }, { ...NOTHING, kind: "unreadable", status: 200 }],
    ];
    for (const [answer, wanted] of rows) {
        for (const [method, ask, isWrite] of [
            ["GET", {}, false],
            ["PUT", {}, true],
            ["POST", { isProbe: true }, false],
        ]) {
            answerWith(answer);
            assert.deepEqual(await failureOf(call(method, "x", ask)), { ...wanted, isWrite });
        }
    }
    assert.equal(session.state.get().phase, "in");
});

test("no answer within the time is its own kind, and what the caller ended is no error of the service", async (context) => {
    begin();
    const late = AbortSignal.abort(new DOMException("late", "TimeoutError"));
    context.mock.method(AbortSignal, "timeout", () => late);
    context.mock.method(AbortSignal, "any", ([own]) => own, { times: 1 });
    answerWith(({ signal }) => signal.throwIfAborted());
    assert.deepEqual(await failureOf(call("PATCH", "x")), { ...NOTHING, kind: "timeout", isWrite: true });
    answerWith(({ signal }) => signal.throwIfAborted());
    await assert.rejects(call("GET", "x", { signal: AbortSignal.abort() }), { name: "AbortError" });
});

test("401 ends the session, unless it is about another key", async () => {
    begin();
    answerWith(refusal(401, 203));
    await failureOf(call("GET", "x", { key: "tried" }));
    assert.equal(session.state.get().phase, "in");
    // The person has signed in again before a late answer about the last key.
    answerWith(() => {
        session.begin("new", { isAdmin: true, writes: "all" }, false);
        return refusal(401, 203);
    });
    await failureOf(call("GET", "x"));
    assert.deepEqual([session.state.get().phase, session.key()], ["in", "new"]);
    answerWith(refusal(401, 203));
    await failureOf(call("GET", "x"));
    const { phase, refusal: reason } = session.state.get();
    assert.deepEqual([phase, reason.number, session.key(), session.storedKey()], ["again", 203, "", ""]);
});

test("the key outlives the tab only where the person asks for that", () => {
    const rights = { isAdmin: true, writes: "all" };
    session.begin("a", rights, true);
    assert.equal(session.storedKey(), "a");
    session.begin("b", rights, false);
    assert.equal(session.storedKey(), "");
    session.begin("c", rights, true);
    session.end();
    assert.deepEqual([session.storedKey(), session.key(), session.state.get().phase], ["", "", "out"]);
});

test("creating the same again has the same key, until it is created", async () => {
    begin();
    const made = { status: 201, body: {} };
    const asked = answerWith(brokenOff, brokenOff, made, made, made);
    for (const body of [{ a: 1 }, { a: 2 }, { a: 1 }, { a: 1 }, { a: 2 }]) {
        await createCredential(body).catch(() => undefined);
    }
    const [first, second, again, later, other] = asked.map(({ headers }) => headers["idempotency-key"]);
    assert.deepEqual([again === first, other === second], [true, true]);
    assert.equal(new Set([first, second, later]).size, 3);
    assert.match(randomName(), /^console-[0-9a-f]{32}$/);
});

test("refusals are known by their numbers", () => {
    const error = (number) => new ApiError("refused", 403, "", number, {}, "", null, true);
    assert.deepEqual(
        [ERR.NOT_ADMIN, ERR.OWNER_UNKNOWN, 203, null].map((number) => isOwnerRefused(error(number))),
        [true, true, false, false],
    );
    assert.equal(isRefusal(new Error("x"), [203]), false);
});

test("the next page is asked of the page's own origin, with all that its address says", () => {
    assert.equal(nextQuery(null), null);
    assert.deepEqual(nextQuery("https://other.example/v/credentials?after=a%2Fb&limit=100&filter=a+%3D%3D+1"), {
        after: "a/b",
        limit: "100",
        filter: "a == 1",
    });
    assert.deepEqual(nextQuery("/credentials?after=x"), { after: "x" });
});
