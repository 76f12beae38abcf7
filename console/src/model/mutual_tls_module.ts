// SPDX-License-Identifier: MIT
// Mutual TLS modules: the form, the body of a PUT, and the server's checks.
import type { MutualTlsModule } from "../api/types";
import { readEntries, writeEntries } from "./entries";
import * as ERR from "./errors";
import { isIdent } from "./ident";
import { mergeList, mergeOne } from "./merge";
import { type Finding, checkBody, checkList } from "./module";

// What is typed.  The identifiers stand a line each.
export interface MutualTlsForm {
    enabled: boolean;
    certificate_authority_ids: string;
}

export const FRESH_MUTUAL_TLS: MutualTlsModule = { enabled: true, certificate_authorities: [] };

export function mutualTlsFormOf(module: MutualTlsModule): MutualTlsForm {
    return {
        enabled: module.enabled,
        certificate_authority_ids: writeEntries(module.certificate_authorities.map((one) => one.id)),
    };
}

export function mutualTlsBodyOf(form: MutualTlsForm): { enabled: boolean; certificate_authority_ids: string[] } {
    return { enabled: form.enabled, certificate_authority_ids: readEntries(form.certificate_authority_ids) };
}

export function checkMutualTls(form: MutualTlsForm): Record<"certificate_authority_ids" | "body", Finding | null> {
    const body = mutualTlsBodyOf(form);
    return {
        certificate_authority_ids: checkList(body.certificate_authority_ids, {
            tooMany: ERR.AUTHORITIES_TOO_MANY,
            repeated: ERR.AUTHORITY_REPEATED,
            malformed: ERR.AUTHORITY_ID_MALFORMED,
            faultOf: (id) => (isIdent(id) ? null : "ident"),
        }),
        body: checkBody(body),
    };
}

export function mergeMutualTls(before: MutualTlsForm, theirs: MutualTlsForm, yours: MutualTlsForm): MutualTlsForm {
    const ids = (form: MutualTlsForm) => readEntries(form.certificate_authority_ids);
    return {
        enabled: mergeOne(before.enabled, theirs.enabled, yours.enabled),
        certificate_authority_ids: writeEntries(mergeList(ids(before), ids(theirs), ids(yours))),
    };
}
