// SPDX-License-Identifier: MIT
// A key may be in several credentials.  Each is a grant, and grants add up: src/model/ssh_decision.c.
import { type Judgement, judge } from "./acl";

export interface Grant {
    id: string;
    acl: string[];
    // One that is not grants nothing.
    enabled: boolean;
}

export interface Verdict<G extends Grant> {
    isPermitted: boolean;
    // By the rules in question; null: there are none, as the key is not stored with them.
    own: Judgement | null;
    // The others that permit it, each with the rule that does, or null if it has no rules.
    others: { grant: G; rule: string | null }[];
}

export function judgeGrants<G extends Grant>(own: string[] | null, others: G[], target: string): Verdict<G> {
    const judged = own && judge(own, target);
    const permitting = others
        .filter((grant) => grant.enabled)
        .map((grant) => ({ grant, ...judge(grant.acl, target) }))
        .filter((one) => one.isPermitted)
        .map(({ grant, rule }) => ({ grant, rule }));
    return { isPermitted: judged?.isPermitted === true || permitting.length > 0, own: judged, others: permitting };
}
