// SPDX-License-Identifier: MIT
// Two states of a resource, side by side.
import type { JSX } from "preact";
import { type Line, type Member, type Resource, compare } from "../../model/difference";
import { Value } from "../../parts/value";
import { t } from "../../text";
import { memberText } from "./words";

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
}

function Lines({ lines, as }: { lines: Line[]; as: "del" | "ins" }): JSX.Element {
    const Mark = as;
    if (lines.length === 0) {
        return <span class="small">{t("history.unset")}</span>;
    }
    return (
        <>
            {lines.map((line, n) =>
                line.isOnly ? (
                    <Mark key={n}>
                        <Value text={line.text} />
                    </Mark>
                ) : (
                    <div key={n}>
                        <Value text={line.text} />
                    </div>
                ),
            )}
        </>
    );
}

function Row({ member, before, after }: { member: Member } & Pick<Properties, "before" | "after">): JSX.Element {
    const absent = <span class="small">{t("history.absent")}</span>;
    return (
        <tr class={member.isSame ? "same" : "differs"}>
            <th scope="row">{memberText(member.name)}</th>
            <td class="given">{before ? <Lines lines={member.before} as="del" /> : absent}</td>
            <td class="given">{after ? <Lines lines={member.after} as="ins" /> : absent}</td>
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
                {shown.map((member) => (
                    <Row key={member.name} member={member} before={given.before} after={given.after} />
                ))}
                {given.hidden.map((name) => (
                    <tr key={name} class="differs">
                        <th scope="row">{memberText(name)}</th>
                        <td colSpan={2}>{t("history.secret_set")}</td>
                    </tr>
                ))}
            </tbody>
        </table>
    );
}
