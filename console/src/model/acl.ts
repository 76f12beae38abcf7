// SPDX-License-Identifier: MIT
// Bind rules: what they name and permit.  The server's code is src/model/acl.c, acl_target.c and
// domain.c; both are tested with the same cases.
import { DOMAIN_MAX, domainFault } from "./domain";
import { sizeOf } from "./text";

export type Target =
    | { kind: "everything" }
    | { kind: "domain"; name: string; anyBelow: boolean }
    | { kind: "address"; host: string; port: number; ipv6: string | null }
    | { kind: "label"; name: string; value: string };

// Why a text is no rule.  texts/ has words for each, under acl.fault.
export type Fault =
    | "word"
    | "several"
    | "url"
    | "target"
    | "wildcard"
    | "domain"
    | "long"
    | "port"
    | "host"
    | "host_long"
    | "colon"
    | "ipv4"
    | "ipv6"
    | "bare_ipv6"
    | "bare_port"
    | "address_wildcard"
    | "label_part"
    | "label_long"
    | "label_wildcard"
    | "label_equals"
    | "label_characters";

export type Reading = { target: Target } | { fault: Fault };

const LABEL_PART_MAX = 255;
const PORT_MAX = 65535;

function refuse(fault: Fault): Reading {
    return { fault };
}

// ---- names and addresses ----

function isDomain(name: string): boolean {
    return domainFault(name) === null;
}

function isIpv4(host: string): boolean {
    const octets = host.split(".");
    return octets.length === 4 && octets.every((octet) => /^(?:0|[1-9]\d{0,2})$/.test(octet) && Number(octet) <= 255);
}

function readGroups(text: string): number[] | null {
    if (text === "") {
        return [];
    }
    const groups: number[] = [];
    const words = text.split(":");
    for (const [at, word] of words.entries()) {
        if (word.includes(".")) {
            if (at !== words.length - 1 || !isIpv4(word)) {
                return null;
            }
            const [a = 0, b = 0, c = 0, d = 0] = word.split(".").map(Number);
            groups.push(a * 256 + b, c * 256 + d);
        } else if (/^[0-9A-Fa-f]{1,4}$/.test(word)) {
            groups.push(parseInt(word, 16));
        } else {
            return null;
        }
    }
    return groups;
}

// RFC 4291, 2.2.  Returns the address in one spelling of its own, or null.
export function readIpv6(text: string): string | null {
    const halves = text.split("::");
    if (halves.length > 2) {
        return null;
    }
    const front = readGroups(halves[0] ?? "");
    const back = halves.length === 2 ? readGroups(halves[1] ?? "") : [];
    // An IPv4 address ends the whole text.
    if (!front || !back || (halves.length === 2 && (halves[0] ?? "").includes("."))) {
        return null;
    }
    const missing = 8 - front.length - back.length;
    if (halves.length === 2 ? missing < 1 : missing !== 0) {
        return null;
    }
    return [...front, ...new Array<number>(missing).fill(0), ...back].map((group) => group.toString(16)).join(":");
}

// ---- reading ----

function readDomain(text: string): Reading {
    const anyBelow = text.startsWith("*.");
    const name = anyBelow ? text.slice(2) : text;
    if (sizeOf(text) > DOMAIN_MAX) {
        return refuse("long");
    }
    if (name.includes("*")) {
        return refuse("wildcard");
    }
    return isDomain(name) ? { target: { kind: "domain", name, anyBelow } } : refuse("domain");
}

function readAddress(host: string, port: string): Reading {
    if (!/^[1-9]\d*$/.test(port) || Number(port) > PORT_MAX) {
        return refuse("port");
    }
    const address = (ipv6: string | null): Reading => ({ target: { kind: "address", host, port: Number(port), ipv6 } });
    if (host.length >= 2 && host.startsWith("[") && host.endsWith("]")) {
        const ipv6 = readIpv6(host.slice(1, -1));
        return ipv6 === null ? refuse("ipv6") : address(ipv6);
    }
    if (host === "") {
        return refuse("host");
    }
    if (host.includes(":")) {
        return refuse("colon");
    }
    if (/^[\d.]+$/.test(host)) {
        return isIpv4(host) ? address(null) : refuse("ipv4");
    }
    if (host.includes("*")) {
        return refuse("address_wildcard");
    }
    if (sizeOf(host) > DOMAIN_MAX) {
        return refuse("host_long");
    }
    return isDomain(host) ? address(null) : refuse("domain");
}

function labelFault(part: string): Fault | null {
    if (part === "") {
        return "label_part";
    }
    if (sizeOf(part) > LABEL_PART_MAX) {
        return "label_long";
    }
    if (part === "*") {
        return null;
    }
    switch (/[*=]|[^!-~]|,/.exec(part)?.[0]) {
        case undefined:
            return null;
        case "*":
            return "label_wildcard";
        case "=":
            return "label_equals";
        default:
            return "label_characters";
    }
}

// What a rule names after "bind:", and what a client asks to bind.
export function readTarget(text: string): Reading {
    if (text === "") {
        return refuse("target");
    }
    const equals = text.indexOf("=");
    if (equals >= 0) {
        const [name, value] = [text.slice(0, equals), text.slice(equals + 1)];
        const fault = labelFault(name) ?? labelFault(value);
        return fault ? refuse(fault) : { target: { kind: "label", name, value } };
    }
    if (text.endsWith("]")) {
        return refuse("bare_ipv6");
    }
    const colon = text.lastIndexOf(":");
    return colon >= 0 ? readAddress(text.slice(0, colon), text.slice(colon + 1)) : readDomain(text);
}

function namesEverything(rule: string): boolean {
    return rule === "*" || rule === "bind:*";
}

const PARTS = /[\t-\r ,;]+/;

function isList(rule: string): boolean {
    const later = rule.split(PARTS).filter(Boolean).slice(1);
    return (
        later.some((part) => part.startsWith("bind:")) || (rule.startsWith("bind:") && rule.includes(",") && !rule.includes("="))
    );
}

// A rule that may be stored.  A number is a domain by its grammar, but a port was meant.
export function checkRule(rule: string): Reading {
    const reading = readRule(rule);
    const isPort =
        "target" in reading && reading.target.kind === "domain" && !reading.target.anyBelow && /^\d+$/.test(reading.target.name);
    return isPort ? refuse("bare_port") : reading;
}

export function readRule(rule: string): Reading {
    if (namesEverything(rule)) {
        return { target: { kind: "everything" } };
    }
    const reading = rule.startsWith("bind:") ? readTarget(rule.slice("bind:".length)) : refuse("word");
    if ("fault" in reading && isList(rule)) {
        return refuse("several");
    }
    if ("fault" in reading && rule.startsWith("bind:") && rule.includes("://")) {
        return refuse("url");
    }
    return reading;
}

// ---- judging ----

function isSame(a: string, b: string): boolean {
    return a.toLowerCase() === b.toLowerCase();
}

function isBelow(name: string, suffix: string): boolean {
    return name.length > suffix.length && isSame(name.slice(-suffix.length - 1), "." + suffix);
}

function targetPermits(rule: Target, asked: Target): boolean {
    if (rule.kind === "everything") {
        return true;
    }
    if (rule.kind === "domain" && asked.kind === "domain") {
        return rule.anyBelow
            ? isBelow(asked.name, rule.name) || (asked.anyBelow && isSame(rule.name, asked.name))
            : !asked.anyBelow && isSame(rule.name, asked.name);
    }
    if (rule.kind === "address" && asked.kind === "address") {
        const isSameHost = rule.ipv6 === null ? isSame(rule.host, asked.host) : rule.ipv6 === asked.ipv6;
        return rule.port === asked.port && (rule.ipv6 === null) === (asked.ipv6 === null) && isSameHost;
    }
    if (rule.kind === "label" && asked.kind === "label") {
        return ["*", asked.name].includes(rule.name) && ["*", asked.value].includes(rule.value);
    }
    return false;
}

export interface Judgement {
    isPermitted: boolean;
    // The first rule that permits it, or null: no rule does, or there are none.
    rule: string | null;
}

// Whether the rules permit the target.  Without rules, everything is permitted.  A malformed rule
// permits nothing, and a malformed target is permitted only where everything is.
export function judge(rules: string[], target: string): Judgement {
    const asked = readTarget(target);
    for (const rule of rules) {
        const own = readRule(rule);
        if (
            "target" in own &&
            (own.target.kind === "everything" || ("target" in asked && targetPermits(own.target, asked.target)))
        ) {
            return { isPermitted: true, rule };
        }
    }
    return { isPermitted: rules.length === 0, rule: null };
}

// Why no rule permits it: the rule that comes nearest, or that none is about such targets.
export type NearMiss = "below" | "parent" | "only_addresses" | "only_name" | "port" | "value";

export type Reason = { why: NearMiss; rule: string } | { why: "none" | "others"; kind: "domain" | "address" | "label" };

function nearMiss(rule: Target, asked: Target): NearMiss | null {
    if (rule.kind === "domain" && asked.kind === "domain" && !asked.anyBelow) {
        return rule.anyBelow
            ? isSame(rule.name, asked.name)
                ? "parent"
                : null
            : isBelow(asked.name, rule.name)
              ? "below"
              : null;
    }
    if (rule.kind === "address" && asked.kind === "address") {
        return targetPermits({ ...rule, port: asked.port }, asked) ? "port" : null;
    }
    if (rule.kind === "address" && asked.kind === "domain") {
        return isSame(rule.host, asked.name) ? "only_addresses" : null;
    }
    if (rule.kind === "domain" && asked.kind === "address") {
        return targetPermits(rule, { kind: "domain", name: asked.host, anyBelow: false }) ? "only_name" : null;
    }
    return rule.kind === "label" && asked.kind === "label" && rule.name === asked.name ? "value" : null;
}

// For a target that can be read and that no rule permits.
export function whyNot(rules: string[], target: string): Reason | null {
    const reading = readTarget(target);
    if ("fault" in reading || reading.target.kind === "everything") {
        return null;
    }
    const asked = reading.target;
    const read = rules.flatMap((rule) => {
        const own = readRule(rule);
        return "target" in own ? [{ rule, target: own.target }] : [];
    });
    for (const { rule, target: own } of read) {
        const why = nearMiss(own, asked);
        if (why) {
            return { why, rule };
        }
    }
    return { why: read.some((one) => one.target.kind === asked.kind) ? "others" : "none", kind: asked.kind };
}

export function permitsEverything(rules: string[]): boolean {
    return rules.length === 0 || rules.some(namesEverything);
}
