// SPDX-License-Identifier: MIT
// What a key may do, and what is said of it.
import assert from "node:assert/strict";
import { test } from "node:test";
import { LIVE, answerWith, brokenOff, load, refusal } from "./page.mjs";

const { ApiError } = await load("api/error");
const { readRights } = await load("api/rights");
const ERR = await load("model/errors");
const { session } = await load("session");
const { aboutKey, isSendable, malformed, rightsText } = await load("rooms/sign_in/words");

// The service answers each request by the end of its address.
function service(answers) {
    const all = { livez: LIVE, ssh_credentials: {}, audit_events: {}, mutual_tls: { status: 204 }, ...answers };
    const answer = ({ url }) => {
        const given = all[new URL(url).pathname.split("/").at(-1)];
        return typeof given === "function" ? given() : { body: given.status === 204 ? null : {}, ...given };
    };
    return answerWith(...Array.from({ length: 8 }, () => answer));
}

test("signing in that goes wrong fails with its reason, and goes well after that", async () => {
    // These are kept for the session.  The name of the service is asked for first, so it comes first here.
    for (const name of ["livez", "ssh_credentials", "audit_events", "mutual_tls"]) {
        const rows = [
            [brokenOff, "unreachable"],
            [{ status: 502 }, "unreadable"],
        ];
        if (name !== "livez") {
            rows.push(
                ...[
                    [401, 203],
                    [409, 609],
                    [412, 9038],
                    [413, 9006],
                    [429, 9053],
                    [502, 9055],
                    [503, 9030],
                ].map(([status, number]) => [refusal(status, number), "refused"]),
            );
        }
        for (const [answer, kind] of rows) {
            service({ [name]: answer });
            await assert.rejects(readRights("adit_key"), (error) => {
                assert.deepEqual([error instanceof ApiError, error.kind, error.isWrite], [true, kind, false], name);
                return true;
            });
            assert.equal(session.state.get().phase, "out");
        }
    }
    service({});
    assert.deepEqual(await readRights("adit_key"), { isAdmin: true, writes: "all" });
});

test("rights are what the service grants", async () => {
    const rows = [
        [{}, { isAdmin: true, writes: "all" }],
        [{ audit_events: refusal(403, ERR.AUDIT_NOT_ADMIN) }, { isAdmin: false, writes: "all" }],
        [{ mutual_tls: refusal(403, ERR.KEY_READ_ONLY) }, { isAdmin: true, writes: "nothing" }],
        [
            { audit_events: refusal(403, ERR.KEY_OWN), mutual_tls: refusal(403, ERR.KEY_OWN) },
            { isAdmin: false, writes: "own" },
        ],
        [
            { audit_events: refusal(403, ERR.AUDIT_NOT_ADMIN), mutual_tls: refusal(403, ERR.KEY_READ_ONLY) },
            { isAdmin: false, writes: "nothing" },
        ],
    ];
    for (const [answers, wanted] of rows) {
        const asked = service(answers);
        assert.deepEqual(await readRights("adit_key"), wanted);
        assert.ok(asked.every(({ headers }) => headers.authorization === "Bearer adit_key"));
        // What is asked for changes nothing: no edge has that name.
        const writes = asked.filter(({ method }) => method !== "GET").map(({ url }) => new URL(url).pathname);
        assert.equal(writes.length, 1);
        assert.match(writes[0], /\/edges\/tls\/console-[0-9a-f]{32}\/mutual_tls$/);
    }
    // Another refusal is none of those that tell what a key may do.
    service({ ssh_credentials: refusal(403, 9071) });
    await assert.rejects(readRights("adit_key"), { number: 9071 });
});

test("rights are said in words", () => {
    const rows = [
        [true, "all", "This key is an admin's. It may change everything of its account."],
        [false, "all", "This key is not an admin's. It may change everything of its account."],
        [false, "own", "This key is not an admin's. It may change the credentials of its User or Bot."],
        [true, "nothing", "This key is an admin's. It can read everything in its account, and change nothing."],
    ];
    for (const [isAdmin, writes, words] of rows) {
        assert.equal(rightsText({ isAdmin, writes }), words);
    }
});

test("what is no whole key is not sent, or said in words about a key", () => {
    for (const key of ["adit_short", "a!~"]) {
        assert.equal(isSendable(key), true, key);
    }
    for (const key of ["", "not a key", "\u00e9", "adit_ x", "a\n", "a\u007f"]) {
        assert.equal(isSendable(key), false, JSON.stringify(key));
    }
    const refused = (number) => new ApiError("refused", 401, "about Authorization", number, {}, "op_1", null, false);
    for (const number of [ERR.AUTH_MISSING, ERR.AUTH_NOT_BEARER, ERR.KEY_MALFORMED]) {
        const said = aboutKey(refused(number));
        assert.match(said.message, /^This is no whole API key\./);
        assert.deepEqual([said.status, said.number, said.operationId], [401, number, "op_1"]);
    }
    const other = refused(203);
    assert.equal(aboutKey(other), other);
    assert.equal(malformed(0, null, "").number, null);
});
