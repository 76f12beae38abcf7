// SPDX-License-Identifier: MIT
// Requests to the interface, which is on the page's own origin.  The key is sent in Authorization
// and is part of no address.
import { session } from "../session";
import { ApiError } from "./error";

// Adit waits at most 10 s for its own parts, and the web server as long for Adit.
const DEADLINE_MS = 30_000;

// The script is PREFIX/console/console.js.
const base = new URL("../", (document.currentScript as HTMLScriptElement).src);

export interface Answer<T> {
    status: number;
    value: T;
    etag: string | null;
}

export interface Ask {
    query?: Record<string, string>;
    body?: unknown;
    ifMatch?: string;
    ifNoneMatch?: string;
    idempotencyKey?: string;
    // The request changes nothing, although its method could.
    isProbe?: boolean;
    // A key to try, instead of the session's.
    key?: string;
    signal?: AbortSignal;
}

interface ErrorBody {
    error_code?: unknown;
    msg?: unknown;
    details?: unknown;
}

// The start of the names of the service's own headers, such as "service".
let service: Promise<string> | null = null;

async function findService(): Promise<string> {
    const answer = await send("livez", { method: "GET", headers: {} }, false);
    for (const name of answer.headers.keys()) {
        if (name.endsWith("-operation-id")) {
            return name.slice(0, -"-operation-id".length);
        }
    }
    throw failure("unreadable", answer.status, false);
}

function serviceName(): Promise<string> {
    service ??= findService().catch((error: unknown) => {
        service = null;
        throw error;
    });
    return service;
}

function failure(kind: ApiError["kind"], status: number, isWrite: boolean): ApiError {
    return new ApiError(kind, status, "", null, {}, "", null, isWrite);
}

async function send(path: string, init: RequestInit, isWrite: boolean): Promise<Response> {
    const late = AbortSignal.timeout(DEADLINE_MS);
    const signal = init.signal ? AbortSignal.any([init.signal, late]) : late;
    try {
        return await fetch(new URL(path, base), {
            ...init,
            signal,
            cache: "no-store",
            redirect: "error",
            referrerPolicy: "no-referrer",
        });
    } catch (error) {
        if (init.signal?.aborted) {
            throw error;
        }
        throw failure(late.aborted ? "timeout" : "unreachable", 0, isWrite);
    }
}

function texts(value: unknown): Record<string, string> {
    const found: Record<string, string> = {};
    for (const [name, text] of Object.entries(value ?? {})) {
        found[name] = String(text);
    }
    return found;
}

function numberOf(code: unknown): number | null {
    const digits = /\d+$/.exec(String(code));
    return digits && Number(digits[0]);
}

async function refusal(answer: Response, name: string, isWrite: boolean): Promise<ApiError> {
    const wait = Number(answer.headers.get("retry-after"));
    let body: ErrorBody;
    try {
        body = (await answer.json()) as ErrorBody;
    } catch {
        return failure("unreadable", answer.status, isWrite);
    }
    if (typeof body.msg !== "string") {
        return failure("unreadable", answer.status, isWrite);
    }
    return new ApiError(
        "refused",
        answer.status,
        body.msg,
        numberOf(body.error_code),
        texts(body.details),
        answer.headers.get(name + "-operation-id") ?? "",
        wait > 0 ? wait : null,
        isWrite,
    );
}

// Sends a request and returns its answer.  Throws ApiError, or the signal's error.  After 401 the
// session has ended, and the person is asked for a key.
export async function call<T>(method: string, path: string, ask: Ask = {}): Promise<Answer<T>> {
    const name = await serviceName();
    const key = ask.key ?? session.key();
    const isWrite = method !== "GET" && !ask.isProbe;
    const headers: Record<string, string> = { [name + "-version"]: "2", authorization: "Bearer " + key };
    const query = new URLSearchParams(ask.query ?? {}).toString();
    const init: RequestInit = { method, headers };
    if (ask.body !== undefined) {
        headers["content-type"] = "application/json";
        init.body = JSON.stringify(ask.body);
    }
    if (ask.ifMatch) {
        headers["if-match"] = ask.ifMatch;
    }
    if (ask.ifNoneMatch) {
        headers["if-none-match"] = ask.ifNoneMatch;
    }
    if (ask.idempotencyKey) {
        headers["idempotency-key"] = ask.idempotencyKey;
    }
    if (ask.signal) {
        init.signal = ask.signal;
    }
    const answer = await send(path + (query ? "?" + query : ""), init, isWrite);
    if (!answer.ok) {
        const error = await refusal(answer, name, isWrite);
        if (answer.status === 401 && ask.key === undefined) {
            session.refuse(key, error);
        }
        throw error;
    }
    try {
        const value = (answer.status === 204 ? null : await answer.json()) as T;
        return { status: answer.status, value, etag: answer.headers.get("etag") };
    } catch {
        ask.signal?.throwIfAborted();
        throw failure("unreadable", answer.status, isWrite);
    }
}

// Returns a path with identifiers in it, each encoded.
export function path(parts: TemplateStringsArray, ...ids: string[]): string {
    return String.raw({ raw: parts }, ...ids.map(encodeURIComponent));
}

// A name that nothing else has, such as an Idempotency-Key.  crypto.randomUUID is missing on plain
// HTTP.
export function randomName(): string {
    const bytes = crypto.getRandomValues(new Uint8Array(16));
    return "console-" + Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");
}
