// SPDX-License-Identifier: MIT
// Domain names.  The server's code is src/model/domain.c; both are tested with the same cases.
import { sizeOf } from "./text";

// Why a text is no domain.  texts/ has words for each.
export type DomainFault =
    | "empty"
    | "long"
    | "dot"
    | "at"
    | "label_empty"
    | "label_long"
    | "underscore"
    | "ascii"
    | "characters"
    | "hyphen";

export const DOMAIN_MAX = 253;
const LABEL_MAX = 63;

function labelFault(label: string): DomainFault | null {
    const body = label.replace(/^_/, "");
    if (label === "") {
        return "label_empty";
    }
    if (sizeOf(label) > LABEL_MAX) {
        return "label_long";
    }
    if (body === "") {
        return "underscore";
    }
    const strange = /[^A-Za-z0-9-]/.exec(body)?.[0];
    if (strange !== undefined) {
        return strange < "\u0080" ? "characters" : "ascii";
    }
    return body.startsWith("-") || body.endsWith("-") ? "hyphen" : null;
}

export function domainFault(domain: string): DomainFault | null {
    if (domain === "") {
        return "empty";
    }
    if (sizeOf(domain) > DOMAIN_MAX) {
        return "long";
    }
    if (domain.startsWith("@")) {
        return "at";
    }
    if (domain.length > 1 && domain.endsWith(".")) {
        return "dot";
    }
    for (const label of domain.split(".")) {
        const fault = labelFault(label);
        if (fault) {
            return fault;
        }
    }
    return null;
}
