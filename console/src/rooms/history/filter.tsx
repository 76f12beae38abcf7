// SPDX-License-Identifier: MIT
// The filter of events: as text, and by choices and clicks that replace its clauses.
import type { ComponentChildren, JSX } from "preact";
import type { ApiError } from "../../api/error";
import { clausesAbout, withClause } from "../../model/clauses";
import { dayOf, ownZone, startOfDay } from "../../model/days";
import { quote } from "../../model/filter";
import { FilterForm } from "../../parts/filter";
import { go, link } from "../../router";
import { type Key, t } from "../../text";
import { EVENTS, HISTORY } from "./words";

// The list with that clause, instead of others about the members.
export function narrowed(filter: string, members: string[], clause: string): string {
    return link(HISTORY, { filter: withClause(filter, members, clause) });
}

// A value that narrows the list to events with the same one.
export function Narrow(given: { filter: string; member: string; value: string; children: ComponentChildren }): JSX.Element {
    return (
        <a
            class="narrow"
            title={t("list.narrow")}
            href={narrowed(given.filter, [given.member], `${given.member} == ${quote(given.value)}`)}
        >
            {given.children}
        </a>
    );
}

// Titles, with clauses and their words.
type Groups = [string, [string, string][]][];

interface ChoiceProperties {
    filter: string;
    members: string[];
    label: string;
    name: string;
    any: string;
    groups: Groups;
}

// Options are clauses.  One that somebody typed is an option too.
function Choice(given: ChoiceProperties): JSX.Element {
    const now = clausesAbout(given.filter, ...given.members).join(" && ");
    const isKnown = now === "" || given.groups.some(([, options]) => options.some(([clause]) => clause === now));
    return (
        <label class={"field choice " + given.name}>
            <span>{given.label}</span>
            <select value={now} onChange={(event) => go(narrowed(given.filter, given.members, event.currentTarget.value))}>
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

const VERBS: [string, Key][] = [
    ["_created", "history.all_created"],
    ["_updated", "history.all_updated"],
    ["_deleted", "history.all_deleted"],
];

function kinds(): Groups {
    return [
        [t("history.all_kinds"), VERBS.map(([end, key]) => [`obj.event.endsWith(${quote(end)})`, t(key)])],
        ...EVENTS.map(([prefix, title, events]): Groups[0] => [
            t(title),
            [
                [`obj.event.startsWith(${quote(prefix)})`, t("history.all_of", { kind: t(title) })],
                ...events.map(([event, key]): [string, string] => [`obj.event == ${quote(event)}`, t(key)]),
            ],
        ]),
    ];
}

// So much of a name fits into an option.
const NAME_MAX = 60;

// The interface tells no names of Users and Bots, but of their keys.
function makers(holders: Map<string, string[]>): Groups {
    const people = [...holders].map(([id, names]): [string, string] => {
        const named = [...names.join(", ")].slice(0, NAME_MAX).join("");
        return [`obj.principal.id == ${quote(id)}`, named ? t("history.holder", { names: named, id }) : id];
    });
    return [
        [t("history.principals"), people],
        [t("history.others"), [["obj.operator != null", t("history.any_operator")]]],
    ];
}

function times(): Groups {
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

export function Filter({
    filter,
    error,
    holders,
}: {
    filter: string;
    error: ApiError | null;
    holders: Map<string, string[]>;
}): JSX.Element {
    return (
        <FilterForm list={HISTORY} filter={filter} example={t("history.filter_example")} error={error}>
            <Choice
                filter={filter}
                members={["obj.event"]}
                label={t("history.what")}
                name="what"
                any={t("history.anything")}
                groups={kinds()}
            />
            <Choice
                filter={filter}
                members={["obj.principal.id", "obj.operator"]}
                label={t("history.who")}
                name="who"
                any={t("history.anybody")}
                groups={makers(holders)}
            />
            <Choice
                filter={filter}
                members={["obj.created_at"]}
                label={t("history.when")}
                name="when"
                any={t("history.any_time")}
                groups={times()}
            />
        </FilterForm>
    );
}
