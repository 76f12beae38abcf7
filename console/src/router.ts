// SPDX-License-Identifier: MIT
// Addresses of views: #/ROOM/ID?name=value.  The part after # never reaches a server.
import { useLayoutEffect, useState } from "preact/hooks";
import { session } from "./session";
import { value } from "./value";

export interface Route {
    parts: string[];
    query: Record<string, string>;
}

function decode(part: string): string {
    try {
        return decodeURIComponent(part);
    } catch {
        return part;
    }
}

export function readRoute(hash = location.hash): Route {
    const [path = "", query = ""] = hash.replace(/^#/, "").split(/\?(.*)/s);
    return {
        parts: path.split("/").filter(Boolean).map(decode),
        query: Object.fromEntries(new URLSearchParams(query)),
    };
}

// The address of a view.  Empty values are left out.
export function link(parts: string[], query: Record<string, string> = {}): string {
    const given = Object.entries(query).filter(([, text]) => text !== "");
    const tail = given.length > 0 ? "?" + new URLSearchParams(given).toString() : "";
    return "#/" + parts.map(encodeURIComponent).join("/") + tail;
}

export function go(to: string, replace = false): void {
    if (replace || location.hash === to) {
        history.replaceState(null, "", to);
        dispatchEvent(new HashChangeEvent("hashchange"));
    } else {
        location.hash = to;
    }
}

// Each entry of the browser's history has a number, so that Back finds what its view remembered.  A tab
// that is loaded again begins with other numbers.
let lastEntry = Date.now();
let memories = new Map<string, unknown>();

export function entryNumber(): number {
    const state: unknown = history.state;
    if (typeof state === "object" && state !== null && "entry" in state && typeof state.entry === "number") {
        return state.entry;
    }
    history.replaceState({ entry: ++lastEntry }, "");
    return lastEntry;
}

export function remember(entry: number, name: string, what: unknown): void {
    memories.set(`${entry} ${name}`, what);
}

export function recall<T>(entry: number, name: string): T | undefined {
    return memories.get(`${entry} ${name}`) as T | undefined;
}

// The addresses with which lists were last shown.
const shown = new Map<string, string>();

// A list is shown with that filter.
export function rememberList(list: string[], filter: string): void {
    shown.set(list.join("/"), link(list, { filter }));
}

// The list as it was last shown, for a form that leads back to it.
export function backTo(list: string[]): string {
    return shown.get(list.join("/")) ?? link(list);
}

session.state.watch(() => {
    if (session.state.get().phase === "out") {
        shown.clear();
        memories = new Map();
    }
});

// What is open, for the window's title; "": the room's own title.
export const viewTitle = value("");

export function useViewTitle(title: string): void {
    useLayoutEffect(() => {
        viewTitle.set(title);
        return () => viewTitle.set("");
    }, [title]);
}

export function useRoute(): Route {
    const [route, setRoute] = useState(() => readRoute());
    useLayoutEffect(() => {
        const changed = () => setRoute(readRoute());
        addEventListener("hashchange", changed);
        return () => removeEventListener("hashchange", changed);
    }, []);
    return route;
}
