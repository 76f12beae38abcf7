// SPDX-License-Identifier: MIT
// Rules in words.
import type { Fault, NearMiss, Reason, Target } from "../../model/acl";
import { type Key, t } from "../../text";

const FAULTS: Record<Fault, Key> = {
    word: "acl.fault_word",
    several: "acl.fault_several",
    url: "acl.fault_url",
    target: "acl.fault_target",
    wildcard: "acl.fault_wildcard",
    domain: "acl.fault_domain",
    long: "acl.fault_long",
    port: "acl.fault_port",
    host: "acl.fault_host",
    host_long: "acl.fault_long",
    colon: "acl.fault_colon",
    ipv4: "acl.fault_ipv4",
    ipv6: "acl.fault_ipv6",
    bare_ipv6: "acl.fault_bare_ipv6",
    bare_port: "acl.fault_bare_port",
    address_wildcard: "acl.fault_address_wildcard",
    label_part: "acl.fault_label_part",
    label_long: "acl.fault_label_long",
    label_wildcard: "acl.fault_label_wildcard",
    label_equals: "acl.fault_label_equals",
    label_characters: "acl.fault_label_characters",
};

// The field has a rule a line.
export function rulesOf(text: string): string[] {
    return text
        .split("\n")
        .map((rule) => rule.trim())
        .filter(Boolean);
}

export function faultText(fault: Fault): string {
    return t(FAULTS[fault]);
}

const REASONS: Record<NearMiss, Key> = {
    below: "acl.why_below",
    parent: "acl.why_parent",
    only_addresses: "acl.why_only_addresses",
    only_name: "acl.why_only_name",
    port: "acl.why_port",
    value: "acl.why_value",
};

const NONE: Record<Extract<Reason, { kind: string }>["kind"], [Key, Key]> = {
    domain: ["acl.why_no_domain", "acl.why_other_domains"],
    address: ["acl.why_no_address", "acl.why_other_addresses"],
    label: ["acl.why_no_label", "acl.why_other_labels"],
};

// Why the rules do not permit it.
export function reasonText(reason: Reason | null): string {
    if (!reason) {
        return "";
    }
    return "rule" in reason ? t(REASONS[reason.why], { rule: reason.rule }) : t(NONE[reason.kind][reason.why === "none" ? 0 : 1]);
}

// What a rule permits, as a sentence.
export function explain(target: Target): string {
    switch (target.kind) {
        case "everything":
            return t("acl.everything");
        case "domain":
            return target.anyBelow ? t("acl.below", { name: target.name }) : t("acl.domain", { name: target.name });
        case "address":
            return t("acl.address", { host: target.host, port: target.port });
        case "label":
            if (target.name === "*" && target.value === "*") {
                return t("acl.label_any");
            }
            if (target.name === "*") {
                return t("acl.label_any_key", { value: target.value });
            }
            return target.value === "*"
                ? t("acl.label_any_value", { key: target.name })
                : t("acl.label", { key: target.name, value: target.value });
    }
}
