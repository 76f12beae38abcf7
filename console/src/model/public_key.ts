// SPDX-License-Identifier: MIT
// The type and the fingerprint of an SSH public key in each form that the interface accepts.  The
// server judges keys.  But what this cannot read is not sent: it may be a private key.
import { sha256 } from "@noble/hashes/sha2.js";

export interface PublicKey {
    type: string;
    // Of RSA; 0 for other types, whose name says it.
    bits: number;
    // As "ssh-keygen -l" prints it.
    fingerprint: string;
}

export interface Unread {
    fault: "unknown";
}

const UNREAD: Unread = { fault: "unknown" };

// ---- bytes ----

function decodeBase64(text: string): Uint8Array | null {
    if (!/^(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?$/.test(text)) {
        return null;
    }
    return Uint8Array.from(atob(text), (character) => character.charCodeAt(0));
}

function encodeBase64(bytes: Uint8Array): string {
    return btoa(String.fromCharCode(...bytes));
}

// Reads strings of the SSH wire form (RFC 4251, section 5).
function readStrings(blob: Uint8Array): Uint8Array[] | null {
    const view = new DataView(blob.buffer, blob.byteOffset, blob.byteLength);
    const strings: Uint8Array[] = [];
    let at = 0;
    while (at < blob.length) {
        if (at + 4 > blob.length) {
            return null;
        }
        const end = at + 4 + view.getUint32(at);
        if (end > blob.length) {
            return null;
        }
        strings.push(blob.subarray(at + 4, end));
        at = end;
    }
    return strings;
}

function makeBlob(...strings: (string | Uint8Array)[]): Uint8Array {
    const parts = strings.map((one) => (typeof one === "string" ? new TextEncoder().encode(one) : one));
    const blob = new Uint8Array(parts.reduce((sum, part) => sum + 4 + part.length, 0));
    let at = 0;
    for (const part of parts) {
        new DataView(blob.buffer).setUint32(at, part.length);
        blob.set(part, at + 4);
        at += 4 + part.length;
    }
    return blob;
}

// ---- DER (X.690), as far as keys need it ----

const INTEGER = 0x02;
const BIT_STRING = 0x03;
const OBJECT_IDENTIFIER = 0x06;
const SEQUENCE = 0x30;

// Returns the contents of the elements, or null if their tags differ from those wanted.
function readDer(bytes: Uint8Array, ...tags: number[]): Uint8Array[] | null {
    const found: Uint8Array[] = [];
    let at = 0;
    for (const tag of tags) {
        let length = bytes[at + 1] ?? 0x100;
        if (bytes[at] !== tag) {
            return null;
        }
        at += 2;
        if (length & 0x80) {
            const n = length & 0x7f;
            if (n < 1 || n > 3) {
                return null;
            }
            length = 0;
            for (let i = 0; i < n; i++) {
                length = length * 256 + (bytes[at++] ?? 0);
            }
        }
        if (at + length > bytes.length) {
            return null;
        }
        found.push(bytes.subarray(at, at + length));
        at += length;
    }
    return found;
}

function hex(bytes: Uint8Array): string {
    return Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");
}

const RSA = "2a864886f70d010101";
const ED25519 = "2b6570";
const EC = "2a8648ce3d0201";
const CURVES: Record<string, string> = {
    "2a8648ce3d030107": "nistp256",
    "2b81040022": "nistp384",
    "2b81040023": "nistp521",
};

// RFC 8017, A.1.1.
function fromPkcs1(der: Uint8Array): Uint8Array | null {
    const [body] = readDer(der, SEQUENCE) ?? [];
    const [modulus, exponent] = (body && readDer(body, INTEGER, INTEGER)) ?? [];
    return modulus && exponent ? makeBlob("ssh-rsa", exponent, modulus) : null;
}

// Curves allow a point in a short form, which the wire form lacks, so that one stays unread.
function fromPoint(curve: string, point: Uint8Array): Uint8Array | null {
    return point[0] === 4 ? makeBlob("ecdsa-sha2-" + curve, curve, point) : null;
}

// RFC 5280, 4.1: SubjectPublicKeyInfo.
function fromInfo(der: Uint8Array): Uint8Array | null {
    const [body] = readDer(der, SEQUENCE) ?? [];
    const [algorithm, bits] = (body && readDer(body, SEQUENCE, BIT_STRING)) ?? [];
    const [name] = (algorithm && readDer(algorithm, OBJECT_IDENTIFIER)) ?? [];
    if (!algorithm || !name || !bits || bits[0] !== 0) {
        return null;
    }
    const key = bits.subarray(1);
    switch (hex(name)) {
        case RSA:
            return fromPkcs1(key);
        case ED25519:
            return makeBlob("ssh-ed25519", key);
        case EC: {
            const parameters = readDer(algorithm, OBJECT_IDENTIFIER, OBJECT_IDENTIFIER)?.[1];
            const curve = parameters && CURVES[hex(parameters)];
            return curve ? fromPoint(curve, key) : null;
        }
        default:
            return null;
    }
}

// ---- forms ----

// Blanks at line ends are passed over, as the server does.
function linesOf(text: string): string[] {
    return text.split("\n").map((line) => line.replace(/[ \t\r]+$/, ""));
}

// Lines of base64, which blanks may indent.
function joinBase64(lines: string[]): string {
    return lines.map((line) => line.replace(/^[ \t\r]+/, "")).join("");
}

function readPem(text: string): Uint8Array | null {
    const lines = linesOf(text);
    const label = /^-----BEGIN ((?:RSA )?PUBLIC KEY)-----$/.exec(lines[0] ?? "")?.[1];
    if (!label || lines.at(-1) !== `-----END ${label}-----`) {
        return null;
    }
    const data = lines.slice(1, -1);
    const der = data.includes("") ? null : decodeBase64(joinBase64(data));
    if (!der) {
        return null;
    }
    return label === "PUBLIC KEY" ? fromInfo(der) : fromPkcs1(der);
}

// RFC 4716.  Headers have a colon, and go on after a line that ends with a backslash.
function readSsh2(text: string): Uint8Array | null {
    const lines = linesOf(text).slice(1);
    if (lines.pop() !== "---- END SSH2 PUBLIC KEY ----") {
        return null;
    }
    while (lines[0]?.includes(":")) {
        while (lines.shift()?.endsWith("\\")) {
            // The next line belongs to the header.
        }
    }
    return decodeBase64(joinBase64(lines));
}

function readLine(text: string): Uint8Array | null {
    const [, name, data] = /^(\S+)[ \t]+(\S+)(?:[ \t][^\r\n]*)?$/.exec(text) ?? [];
    const blob = data ? decodeBase64(data) : null;
    return blob && typeOf(blob) === name ? blob : null;
}

function typeOf(blob: Uint8Array): string {
    const name = readStrings(blob)?.[0];
    return name ? new TextDecoder().decode(name) : "";
}

// Of a positive integer in its shortest form, perhaps after a byte for the sign.
function bitsOf(integer: Uint8Array): number {
    const first = integer.findIndex((byte) => byte !== 0);
    return first < 0 ? 0 : (integer.length - first) * 8 - Math.clz32(integer[first] ?? 0) + 24;
}

const TYPES = [
    "ssh-rsa",
    "ssh-ed25519",
    "ecdsa-sha2-nistp256",
    "ecdsa-sha2-nistp384",
    "ecdsa-sha2-nistp521",
    "sk-ssh-ed25519@openssh.com",
    "sk-ecdsa-sha2-nistp256@openssh.com",
];

// Ignores white space around the key.
export function readPublicKey(given: string): PublicKey | Unread {
    const text = given.replace(/^[ \t-\r]+|[ \t-\r]+$/g, "");
    const blob = text.startsWith("-----BEGIN ")
        ? readPem(text)
        : text.startsWith("---- BEGIN SSH2 PUBLIC KEY ----")
          ? readSsh2(text)
          : readLine(text);
    const type = blob ? typeOf(blob) : "";
    if (!blob || !TYPES.includes(type)) {
        return UNREAD;
    }
    const modulus = type === "ssh-rsa" ? readStrings(blob)?.[2] : undefined;
    return {
        type,
        bits: modulus ? bitsOf(modulus) : 0,
        fingerprint: "SHA256:" + encodeBase64(sha256(blob)).replace(/=+$/, ""),
    };
}

// ---- several keys, certificates, keys behind other words ----

const PEM_BLOCKS = /-----BEGIN ((?:RSA )?PUBLIC KEY)-----[^-]*-----END \1-----/g;

// Whether a word is the type that the data behind it begins with, also of a certificate, whose data
// holds more than strings.
function hasTypeAndData(line: string): boolean {
    const words = line.trim().split(/[ \t]+/);
    return words.some((word, at) => {
        const blob = decodeBase64(words[at + 1] ?? "");
        const type = makeBlob(word);
        return blob !== null && blob.length > type.length && hex(blob.subarray(0, type.length)) === hex(type);
    });
}

// Whether the text holds public keys and certificates in each of its lines or blocks.  It is not one
// key, but no secret either, so the service may be asked what is wrong with it.
export function isOfPublicKeys(text: string): boolean {
    const blocks = text.match(PEM_BLOCKS) ?? [];
    const lines = text
        .replace(PEM_BLOCKS, "")
        .split(/[\r\n]+/)
        .filter((line) => line.trim() !== "");
    return blocks.length + lines.length > 0 && blocks.every((block) => readPem(block) !== null) && lines.every(hasTypeAndData);
}

// ---- private keys ----

// The server's rule, src/model/key_scan.c: a comment may be "my private key's other half".
function namesPrivate(text: string): boolean {
    const lower = text.toLowerCase();
    return (
        text.includes("PRIVATE KEY") ||
        text.includes("AGE-SECRET-KEY-") ||
        text.includes("b3BlbnNzaC1rZXktdjE") ||
        ["private key--", "private key --", "putty-user-key-file", "private-lines:"].some((words) => lower.includes(words))
    );
}

// PKCS #1, #8 and #12 and SEC 1 begin with a version.  A public key begins with an algorithm or a large
// number.
function isPrivateDer(der: Uint8Array | null | undefined): boolean {
    const [body] = (der && readDer(der, SEQUENCE)) ?? [];
    const [version] = (body && readDer(body, INTEGER)) ?? [];
    return version?.length === 1 && (version[0] ?? 4) <= 3;
}

// A private key in an envelope for public ones: SubjectPublicKeyInfo.
function innerKey(der: Uint8Array | null): Uint8Array | undefined {
    const [body] = (der && readDer(der, SEQUENCE)) ?? [];
    return body && readDer(body, SEQUENCE, BIT_STRING)?.[1]?.subarray(1);
}

// Whether the text has a private key in it, also one without a label, or with that of a public one.
export function looksPrivate(text: string): boolean {
    const bare = text.replace(/-----(?:BEGIN|END)[^-]*-----/g, "").replace(/\s+/g, "");
    const der = decodeBase64(bare);
    return namesPrivate(text) || isPrivateDer(der) || isPrivateDer(innerKey(der));
}
