// SPDX-License-Identifier: MIT
// The modules of the console, and what they look for in a page when they are loaded.  Import this before
// any of them.
import path from "node:path";

function storage() {
    const items = new Map();
    return {
        getItem: (name) => items.get(name) ?? null,
        setItem: (name, text) => items.set(name, String(text)),
        removeItem: (name) => items.delete(name),
    };
}

// On an origin that no request of a test reaches.
export const PAGE = "https://console.invalid/adit/console";

const events = new EventTarget();
const given = {
    location: Object.assign(new URL(PAGE), { hash: "" }),
    document: { currentScript: { src: PAGE + "/console.js" } },
    navigator: { languages: ["en"] },
    localStorage: storage(),
    sessionStorage: storage(),
    addEventListener: events.addEventListener.bind(events),
    dispatchEvent: events.dispatchEvent.bind(events),
};
for (const [name, value] of Object.entries(given)) {
    Object.defineProperty(globalThis, name, { value, writable: true, configurable: true });
}

// name has no ending: "api/client".
export async function load(name) {
    return import(path.join(process.env.CONSOLE_MODULES, name + ".mjs"));
}

// The service's next answers, in order: each is {status, body, headers}, or a function that returns it for
// the request, or throws as fetch() does.  Returns the list of what was asked.
export function answerWith(...answers) {
    const asked = [];
    globalThis.fetch = async (url, init) => {
        const request = { url: String(url), ...init };
        asked.push(request);
        const next = answers.shift();
        const { status = 200, body = null, headers = {} } = typeof next === "function" ? next(request) : next;
        return new Response(body === null ? null : JSON.stringify(body), { status, headers });
    };
    return asked;
}

// What the service says of itself, which is asked once.
export const LIVE = { body: {}, headers: { "service-operation-id": "op_0" } };

// An error of the service, as an answer.
export function refusal(status, number, details = {}) {
    return {
        status,
        body: { error_code: `ERR_SERVICE_${number}`, status_code: status, details, msg: "The server's words" },
        headers: { "service-operation-id": "op_1", "retry-after": "7" },
    };
}

// What fetch() does without a connection.
export function brokenOff() {
    throw new TypeError("fetch failed");
}

// The words of what a component without hooks draws.
export function wordsOf(drawn) {
    if (Array.isArray(drawn)) {
        return drawn.map(wordsOf).join("");
    }
    if (drawn === null || drawn === undefined || typeof drawn === "boolean") {
        return "";
    }
    if (typeof drawn !== "object") {
        return String(drawn);
    }
    return wordsOf(typeof drawn.type === "function" ? drawn.type(drawn.props) : drawn.props.children);
}
