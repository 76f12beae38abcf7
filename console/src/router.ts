// SPDX-License-Identifier: MIT
// Addresses of views: #/ROOM/ID?name=value.  The part after # never reaches a server.
import { useEffect, useState } from "preact/hooks";

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

export function useRoute(): Route {
    const [route, setRoute] = useState(() => readRoute());
    useEffect(() => {
        const changed = () => setRoute(readRoute());
        addEventListener("hashchange", changed);
        return () => removeEventListener("hashchange", changed);
    }, []);
    return route;
}
