// SPDX-License-Identifier: MIT
// The filter of events: as text, and by choices and clicks that replace its clauses.
import type { ComponentChildren, JSX } from "preact";
import type { ApiError } from "../../api/client";
import { clausesAbout, withClause } from "../../model/clauses";
import { dayOf, ownZone, startOfDay } from "../../model/days";
import { quote } from "../../model/filter";
import { FilterForm } from "../../parts/filter";
import { go, link } from "../../router";
import { t } from "../../text";
import { EVENTS, HISTORY } from "./words";

// The list with that clause, instead of others about the member.
export function narrowed(filter: string, member: string, clause: string): string {
    return link(HISTORY, { filter: withClause(filter, member, clause) });
}

// A value that narrows the list to events with the same one.
export function Narrow(given: { filter: string; member: string; value: string; children: ComponentChildren }): JSX.Element {
    return (
        <a
            class="narrow"
            title={t("list.narrow")}
            href={narrowed(given.filter, given.member, `${given.member} == ${quote(given.value)}`)}
        >
            {given.children}
        </a>
    );
}

interface ChoiceProperties {
    filter: string;
    member: string;
    label: string;
    name: string;
    any: string;
    groups: [string, [string, string][]][];
}

// Options are clauses.  One that somebody typed is an option too.
function Choice(given: ChoiceProperties): JSX.Element {
    const now = clausesAbout(given.filter, given.member).join(" && ");
    const isKnown = now === "" || given.groups.some(([, options]) => options.some(([clause]) => clause === now));
    return (
        <label class={"field choice " + given.name}>
            <span>{given.label}</span>
            <select value={now} onChange={(event) => go(narrowed(given.filter, given.member, event.currentTarget.value))}>
                <option value="">{given.any}</option>
                {!isKnown && <option value={now}>{t("history.as_filter")}</option>}
                {given.groups.map(([title, options]) => {
                    const all = options.map(([clause, text]) => (
                        <option key={clause} value={clause}>
                            {text}
                        </option>
                    ));
                    return title ? (
                        <optgroup key={title} label={title}>
                            {all}
                        </optgroup>
                    ) : (
                        all
                    );
                })}
            </select>
        </label>
    );
}

function kinds(): [string, [string, string][]][] {
    return EVENTS.map(([prefix, title, events]) => [
        t(title),
        [
            [`obj.event.startsWith(${quote(prefix)})`, t("history.all_of", { kind: t(title) })],
            ...events.map(([event, key]): [string, string] => [`obj.event == ${quote(event)}`, t(key)]),
        ],
    ]);
}

function times(): [string, [string, string][]][] {
    const zone = ownZone();
    const today = startOfDay(dayOf(Date.now(), zone), zone);
    const since = (age: string) => `obj.created_at > timestamp(time.now).subtract("${age}")`;
    return [
        [
            "",
            [
                [`obj.created_at >= timestamp("${today}")`, t("history.today")],
                [since("7d"), t("history.week")],
                [since("30d"), t("history.month")],
            ],
        ],
    ];
}

export function Filter({ filter, error }: { filter: string; error: ApiError | null }): JSX.Element {
    return (
        <FilterForm list={HISTORY} filter={filter} example={t("history.filter_example")} error={error}>
            <Choice
                filter={filter}
                member="obj.event"
                label={t("history.what")}
                name="what"
                any={t("history.anything")}
                groups={kinds()}
            />
            <Choice
                filter={filter}
                member="obj.created_at"
                label={t("history.when")}
                name="when"
                any={t("history.any_time")}
                groups={times()}
            />
        </FilterForm>
    );
}
