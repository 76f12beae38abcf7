// SPDX-License-Identifier: MIT
// What can be changed of a credential, as the form has it.
import type { SshCredential } from "../../api/types";
import { mergePermits, mergeText } from "../../model/merge";
import type { Choice, Difference } from "../../parts/conflict";
import { type Key, t } from "../../text";
import { rulesOf } from "./rules";

export interface Form {
    description: string;
    metadata: string;
    acl: string;
}

export function formOf(credential: SshCredential): Form {
    return { description: credential.description, metadata: credential.metadata, acl: credential.acl.join("\n") };
}

// The members that differ from what is stored.
export function changesOf(yours: Form, stored: SshCredential): Partial<SshCredential> {
    const before = formOf(stored);
    return {
        ...(yours.description !== before.description ? { description: yours.description } : {}),
        ...(yours.metadata !== before.metadata ? { metadata: yours.metadata } : {}),
        ...(yours.acl !== before.acl ? { acl: rulesOf(yours.acl) } : {}),
    };
}

const TITLES: Record<keyof Form, Key> = {
    description: "credentials.description",
    acl: "credentials.acl",
    metadata: "credentials.metadata",
};

export function differences(before: Form, theirs: Form, yours: Form): Difference[] {
    return (Object.keys(TITLES) as (keyof Form)[]).map((name) => ({
        name,
        title: t(TITLES[name]),
        before: before[name],
        theirs: theirs[name],
        yours: yours[name],
    }));
}

export function chosen(choice: Choice, before: Form, theirs: Form, yours: Form): Form {
    if (choice !== "both") {
        return choice === "theirs" ? theirs : yours;
    }
    return {
        description: mergeText(before.description, theirs.description, yours.description, " / "),
        metadata: mergeText(before.metadata, theirs.metadata, yours.metadata, "\n"),
        acl: mergePermits([rulesOf(before.acl)], [rulesOf(theirs.acl)], [rulesOf(yours.acl)])
            .flat()
            .join("\n"),
    };
}
