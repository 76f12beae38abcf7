// SPDX-License-Identifier: MIT
// What the server would say of a credential's members: src/model/ssh_credential.c.
import { MAX_BYTES, type SshCredential } from "../api/types";
import { checkRule } from "./acl";
import * as ERR from "./errors";
import { isIdent } from "./ident";
import { type Finding, checkBody, checkList, checkText, finding } from "./module";

const MAX = MAX_BYTES.SshCredential;

export type Checked = "public_key" | "description" | "metadata" | "acl" | "owner_id";

function checkRules(acl: string[]): Finding | null {
    return checkList(acl, {
        tooMany: ERR.ACL_TOO_MANY,
        malformed: ERR.ACL_RULE,
        faultOf: (rule) => ("fault" in checkRule(rule) ? "rule" : null),
    });
}

// body has the members that would be sent.
export function checkCredential(body: Partial<SshCredential>): Partial<Record<Checked | "body", Finding | null>> {
    const { public_key = "", description = "", metadata = "", acl = [], owner_id = "" } = body;
    return {
        public_key: checkText(public_key, MAX.public_key, ERR.PUBLIC_KEY_TOO_LONG),
        description: checkText(description, MAX.description, ERR.DESCRIPTION_TOO_LONG),
        metadata: checkText(metadata, MAX.metadata, ERR.METADATA_TOO_LONG),
        acl: checkRules(acl),
        owner_id:
            owner_id === "" || isIdent(owner_id)
                ? null
                : finding(ERR.OWNER_ID_MALFORMED, /\s/.test(owner_id) ? "ident_space" : "ident", { entry: owner_id }),
        body: checkBody(body),
    };
}
