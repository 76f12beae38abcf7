// SPDX-License-Identifier: MIT
// What a person may type into the filter of a list: an expression, or a word to search for.
import { quote } from "./filter";

export interface Searchable {
    // What a filter may name: the tables of src/store.
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
        members: ["id", "created_at", "description", "metadata", "key_type", "fingerprint", "acl", "owner_id"],
        find: findCredential,
    },
    oauth: {
        members: [
            "edge_id",
            "enabled",
            "email_addresses",
            "email_domains",
            "teams",
            "organizations",
            "id",
            "provider",
            "admits",
        ],
        find: (word) => anyOf(word, ["edge_id", "id"]),
    },
    mutual_tls: {
        members: ["edge_id", "enabled", "certificate_authority_ids", "id"],
        find: (word) => `${anyOf(word, ["edge_id"])} || ${quote(word)} in obj.certificate_authority_ids`,
    },
    history: {
        members: [
            "id",
            "created_at",
            "event",
            "resource",
            "resource.id",
            "principal",
            "principal.id",
            "api_key_id",
            "operation_id",
            "client_address",
            "operator",
            "database_user",
            "changed",
            "before",
            "after",
        ],
        find: (word) => anyOf(word, ["event", "resource.id", "principal.id", "operator"]),
    },
};
