// SPDX-License-Identifier: MIT
// What was typed, how it joins what others changed meanwhile, and what was just done.
import assert from "node:assert/strict";
import { beforeEach, test } from "node:test";
import { load } from "./page.mjs";

const { forgetDraft, getDraft, isUnsaved, setDraft, unsaved } = await load("draft");
const { clearNotice, discardDraft, notice } = await load("notice");
const { session } = await load("session");
const { mergeList, mergePermits, mergeText } = await load("model/merge");

function texts() {
    return notice.shown.get().map(({ text }) => (typeof text === "function" ? text() : text));
}

const undo = () => Promise.resolve();

function go(view) {
    location.hash = view;
    dispatchEvent(new Event("hashchange"));
}

beforeEach(() => {
    session.begin("key", { isAdmin: true, writes: "all" }, false);
    location.hash = "#/credentials";
});

test("a draft is there until it is forgotten, or the person signs out", () => {
    setDraft("credentials/1", { description: "typed" });
    setDraft("credentials/2", { description: "other" });
    forgetDraft("credentials/1");
    assert.equal(getDraft("credentials/1"), undefined);
    assert.deepEqual(getDraft("credentials/2"), { description: "other" });
    unsaved.set([{ name: "credentials/2", title: "Credential" }]);
    notice.set({ text: "done", undo });
    session.refuse("key", null);
    assert.equal(isUnsaved("credentials/2"), true);
    session.end();
    assert.deepEqual([getDraft("credentials/2"), isUnsaved("credentials/2"), texts()], [undefined, false, []]);
});

test("the browser asks before what is not saved goes", () => {
    const leave = () => {
        const event = new Event("beforeunload", { cancelable: true });
        dispatchEvent(event);
        return event.defaultPrevented;
    };
    assert.equal(leave(), false);
    unsaved.set([{ name: "credentials/new", title: "New" }]);
    assert.equal(leave(), true);
});

test("a discarded draft comes back, and what was typed since can come back too", async () => {
    const name = "credentials/1";
    const type = (text) => {
        setDraft(name, { text });
        unsaved.set([{ name, title: "Credential" }]);
    };
    const [undone, again] = ["first", "second"];
    type(undone);
    discardDraft(name);
    assert.deepEqual([getDraft(name), isUnsaved(name), texts().length], [undefined, false, 1]);
    type(again);
    await notice.shown.get()[0].undo();
    assert.deepEqual([getDraft(name), location.hash], [{ text: undone }, "#/credentials/1"]);
    location.hash = "#/credentials";
    await notice.shown.get()[0].undo();
    assert.deepEqual([getDraft(name), location.hash], [{ text: again }, "#/credentials/1"]);
    // What was saved is not lost.
    const before = texts().length;
    forgetDraft(name);
    setDraft(name, { text: "saved" });
    discardDraft(name);
    assert.equal(texts().length, before);
    session.end();
});

test("a notice goes with its view, and what can be undone stays", async () => {
    session.end();
    notice.set({ text: "deleted", undo });
    notice.set({ text: "saved" });
    // It may be set just before its view is opened.
    go("#/credentials/1");
    await Promise.resolve();
    assert.deepEqual(texts(), ["saved", "deleted"]);
    go("#/history");
    assert.deepEqual(texts(), ["deleted"]);
    notice.set({ text: "saved again" });
    dispatchEvent(new Event("input"));
    assert.deepEqual(texts(), ["deleted"]);
    notice.close(notice.shown.get()[0].id);
    assert.deepEqual(texts(), []);
});

test("the last three that can be undone stay, and one that cannot is beside them", () => {
    session.end();
    for (const text of ["1", "2", "3", "4"]) {
        notice.set({ text, undo });
    }
    assert.deepEqual(texts(), ["4", "3", "2"]);
    notice.set({ text: "saved" });
    notice.set({ text: "saved too" });
    assert.deepEqual(texts(), ["saved too", "4", "3", "2"]);
    clearNotice();
    assert.deepEqual(texts(), ["4", "3", "2"]);
});

test("rules have what either added and lack what either removed", () => {
    const rows = [
        [["a"], ["a"], ["a"], ["a"]],
        [["a"], ["a", "b"], ["a", "c"], ["a", "b", "c"]],
        [["a", "b"], ["a"], ["b"], []],
        [["a", "b"], ["a"], ["a", "b", "c"], ["a", "c"]],
        [[], ["a", "b"], ["b", "a"], ["a", "b"]],
    ];
    for (const [before, theirs, yours, wanted] of rows) {
        assert.deepEqual(mergeList(before, theirs, yours), wanted);
    }
});

test("lists that limit who is permitted become empty only if both want that", () => {
    // before, theirs, yours, wanted: each with one list or several.
    const rows = [
        [[["a"]], [["a", "b"]], [["a", "c"]], [["a", "b", "c"]]],
        [[["a", "b"]], [["a"]], [["a", "b", "c"]], [["a", "c"]]],
        // Each removed what the other kept.
        [[["a", "b"]], [["a"]], [["b"]], [["a", "b"]]],
        [
            [["a"], ["x"]],
            [[], ["x"]],
            [["a"], []],
            [["a"], ["x"]],
        ],
        // One permits everybody, the other adds somebody.
        [[["a"]], [[]], [["a", "b"]], [["a", "b"]]],
        [[["a"]], [["a", "b"]], [[]], [["a", "b"]]],
        [[[]], [["a"]], [["b"]], [["a", "b"]]],
        // One changed nothing.
        [[["a"]], [[]], [["a"]], [[]]],
        [[["a"]], [["a"]], [[]], [[]]],
        [[["a"]], [[]], [[]], [[]]],
        // What went from one list to another.
        [
            [["a"], []],
            [[], ["x"]],
            [["a", "b"], []],
            [["b"], ["x"]],
        ],
    ];
    for (const [before, theirs, yours, wanted] of rows) {
        assert.deepEqual(mergePermits(before, theirs, yours), wanted, JSON.stringify([before, theirs, yours]));
    }
});

test("a text that one changed is theirs, and one that both changed is both", () => {
    assert.equal(mergeText("a", "a", "b", " / "), "b");
    assert.equal(mergeText("a", "b", "a", " / "), "b");
    assert.equal(mergeText("a", "b", "b", " / "), "b");
    assert.equal(mergeText("a", "b", "c", " / "), "b / c");
    assert.equal(mergeText("a", "", "c", " / "), "c");
    assert.equal(mergeText("a", "b", "", " / "), "b");
});
