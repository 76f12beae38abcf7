// SPDX-License-Identifier: MIT
// What a person may type into the filter of a list: an expression, or a word to search for.
import { FILTERED } from "../api/types";
import { quote } from "./filter";

export interface Searchable {
    // What a filter may name.
    members: string[];
    // The filter that finds the word.
    find(word: string): string;
}

const MAKES_EXPRESSIONS = /["'=<>!&|()[\]]|\bobj\.|^(?:true|false)$/;

// Whether the text is no expression of the filter's language, but words.
export function isWord(text: string): boolean {
    return text !== "" && !MAKES_EXPRESSIONS.test(text);
}

function anyOf(word: string, members: string[]): string {
    return members.map((member) => `obj.${member}.contains(${quote(word)})`).join(" || ");
}

function findCredential(word: string): string {
    if (word.startsWith("bind:") || word === "*") {
        return `${quote(word)} in obj.acl`;
    }
    const [member] =
        [
            ["id", "sshcr_"],
            ["owner_id", "usr_"],
            ["owner_id", "bot_"],
            ["fingerprint", "SHA256:"],
        ].find(([, start]) => word.startsWith(start ?? "")) ?? [];
    return member ? `obj.${member} == ${quote(word)}` : anyOf(word, ["description", "metadata"]);
}

// By the last part of the list's address.
export const SEARCHABLE: Record<string, Searchable> = {
    credentials: {
        members: FILTERED.ssh_credential,
        find: findCredential,
    },
    oauth: {
        members: FILTERED.oauth_module,
        find: (word) => anyOf(word, ["edge_id", "id"]),
    },
    mutual_tls: {
        members: FILTERED.mutual_tls_module,
        find: (word) => `${anyOf(word, ["edge_id"])} || ${quote(word)} in obj.certificate_authority_ids`,
    },
    history: {
        members: FILTERED.audit_event,
        find: (word) => anyOf(word, ["event", "resource.id", "principal.id", "operator"]),
    },
};
