// SPDX-License-Identifier: MIT
// What the server would say of a credential's members: src/model/ssh_credential.c.
import type { SshCredential } from "../api/types";
import { checkRule } from "./acl";
import * as ERR from "./errors";
import { isIdent } from "./ident";
import { type Finding, checkBody, checkList, checkText, finding } from "./module";

export const DESCRIPTION_MAX = 255;
export const METADATA_MAX = 4096;
const PUBLIC_KEY_MAX = 16384;

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
        public_key: checkText(public_key, PUBLIC_KEY_MAX, ERR.PUBLIC_KEY_TOO_LONG),
        description: checkText(description, DESCRIPTION_MAX, ERR.DESCRIPTION_TOO_LONG),
        metadata: checkText(metadata, METADATA_MAX, ERR.METADATA_TOO_LONG),
        acl: checkRules(acl),
        owner_id: owner_id === "" || isIdent(owner_id) ? null : finding(ERR.OWNER_ID_MALFORMED, /\s/.test(owner_id) ? "ident_space" : "ident", { entry: owner_id }),
        body: checkBody(body),
    };
}
