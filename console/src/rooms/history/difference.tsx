// SPDX-License-Identifier: MIT
// Two states of a resource, side by side.
import type { JSX } from "preact";
import { type Titles, useTitles } from "../../api/providers";
import { type Line, type Member, type Resource, compare, hasSecret } from "../../model/difference";
import { Value } from "../../parts/value";
import { exactTime, t } from "../../text";
import { memberText } from "./words";

const TRUTHS = ["enabled", "is_admin", "options_passthrough", "read_only"];

interface Properties {
    label: string;
    // The columns' titles, and the states; null: there is no resource.
    titles: [string, string];
    before: Resource | null;
    after: Resource | null;
    // Also members that do not differ.
    hasSame: boolean;
    // Members whose values nobody may see, and which were set.
    hidden: string[];
    // What stands after it instead of the state's own value, by member.
    instead?: Record<string, string>;
}

// Times in the reader's zone, truth in words, and a provider's name with how people call it.
function valueText(member: string, text: string, labelOf: Titles["labelOf"]): string {
    if (member === "provider") {
        return labelOf(text);
    }
    if (member.endsWith("_at")) {
        return exactTime(text);
    }
    return TRUTHS.includes(member) ? t(text === "true" ? "history.yes" : "history.no") : text;
}

function Lines({ member, lines, as }: { member: string; lines: Line[]; as: "del" | "ins" }): JSX.Element {
    const Mark = as;
    const { labelOf } = useTitles();
    if (lines.length === 0) {
        return <span class="small">{t("history.unset")}</span>;
    }
    return (
        <>
            {lines.map((line, n) =>
                line.isOnly ? (
                    <Mark key={n}>
                        <Value text={valueText(member, line.text, labelOf)} />
                    </Mark>
                ) : (
                    <div key={n}>
                        <Value text={valueText(member, line.text, labelOf)} />
                    </div>
                ),
            )}
        </>
    );
}

// A state that does not exist is one cell beside all members of the other one: rows is their number, in
// the first of them.
function Row({ member, given, rows }: { member: Member; given: Properties; rows: number }): JSX.Element {
    const words = given.instead?.[member.name];
    const absent = rows > 0 && (
        <td class="absent small" rowSpan={rows}>
            {t("history.absent")}
        </td>
    );
    return (
        <tr class={member.isSame ? "same" : "differs"}>
            <th scope="row">{memberText(member.name)}</th>
            {given.before ? (
                <td class="given">
                    <Lines member={member.name} lines={member.before} as="del" />
                </td>
            ) : (
                absent
            )}
            {given.after ? (
                <td class="given">
                    {words ? <span class="instead">{words}</span> : <Lines member={member.name} lines={member.after} as="ins" />}
                </td>
            ) : (
                absent
            )}
        </tr>
    );
}

export function Difference(given: Properties): JSX.Element {
    const members = compare(given.before, given.after);
    const shown = members.filter((member) => given.hasSame || !member.isSame || !given.before || !given.after);
    return (
        <table class="difference" aria-label={given.label}>
            <thead>
                <tr>
                    <th scope="col">{t("history.member")}</th>
                    <th scope="col">{given.titles[0]}</th>
                    <th scope="col">{given.titles[1]}</th>
                </tr>
            </thead>
            <tbody>
                {shown.map((member, n) => (
                    <Row key={member.name} member={member} given={given} rows={n === 0 ? shown.length : 0} />
                ))}
                {given.hidden.map((name) => (
                    <tr key={name} class="differs">
                        <th scope="row">{memberText(name)}</th>
                        <td colSpan={2}>{t(hasSecret(given.after) ? "history.secret_set" : "history.secret_removed")}</td>
                    </tr>
                ))}
            </tbody>
        </table>
    );
}
