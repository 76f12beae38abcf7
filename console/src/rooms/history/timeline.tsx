// SPDX-License-Identifier: MIT
// The account's changes, newest first, grouped by the reader's days.
import type { JSX } from "preact";
import { useMemo } from "preact/hooks";
import { type KeyNames, useKeyNames } from "../../api/key_names";
import { useList } from "../../api/list";
import type { AuditEvent } from "../../api/types";
import { type Heading, clauseOfDay, ownZone, withDays } from "../../model/days";
import { ListError } from "../../parts/filter";
import { type Column, Table } from "../../parts/table";
import { Value } from "../../parts/value";
import { link } from "../../router";
import { dayTitle, exactTime, t, timeOfDay, useLanguage } from "../../text";
import { Filter, Narrow, narrowed } from "./filter";
import { HISTORY, changedText, eventText, makerOf, subjectOf } from "./words";

type Row = AuditEvent | Heading;

function Maker({ event, filter }: { event: AuditEvent; filter: string }): JSX.Element {
    if (event.principal) {
        return (
            <Narrow filter={filter} member="obj.principal.id" value={event.principal.id}>
                <code>{event.principal.id}</code>
            </Narrow>
        );
    }
    if (event.operator) {
        return (
            <Narrow filter={filter} member="obj.operator" value={event.operator}>
                <Value text={t("history.operator", { name: event.operator })} />
            </Narrow>
        );
    }
    return <span>{makerOf(event)}</span>;
}

function columns(filter: string, zone: string, names: KeyNames): Column<Row>[] {
    return [
        {
            name: "time",
            title: t("history.time"),
            cell: (row) =>
                "day" in row ? (
                    <a
                        class="day"
                        title={t("history.narrow_day")}
                        href={narrowed(filter, ["obj.created_at"], clauseOfDay("obj.created_at", row.day, zone))}
                    >
                        {dayTitle(row.day)}
                    </a>
                ) : (
                    <time dateTime={row.created_at} title={exactTime(row.created_at)}>
                        {timeOfDay(row.created_at)}
                    </time>
                ),
        },
        {
            name: "event",
            title: t("history.what"),
            cell: (row) =>
                "day" in row ? null : (
                    <>
                        <a href={link([...HISTORY, row.id])}>
                            <Value text={eventText(row.event)} />
                        </a>
                        <span class="small">{row.changed.map((name) => changedText(name, row)).join(", ")}</span>
                    </>
                ),
        },
        {
            name: "resource",
            title: t("history.resource"),
            cell: (row) =>
                "day" in row || !row.resource ? null : (
                    <>
                        <Narrow filter={filter} member="obj.resource.id" value={row.resource.id}>
                            <Value text={subjectOf(row) || row.resource.id} />
                        </Narrow>
                        <code class="small">{row.resource.id}</code>
                    </>
                ),
        },
        {
            name: "maker",
            title: t("history.who"),
            cell: (row) =>
                "day" in row ? null : (
                    <>
                        <Maker event={row} filter={filter} />
                        <span class="small">
                            <Value text={[names.nameOf(row.api_key_id), row.client_address].filter(Boolean).join(" · ")} />
                        </span>
                    </>
                ),
        },
    ];
}

export function Timeline({ filter }: { filter: string }): JSX.Element {
    const query = useMemo(() => (filter ? { filter } : {}) as Record<string, string>, [filter]);
    const list = useList<AuditEvent>("audit_events", "audit_events", query);
    const zone = ownZone();
    const rows = useMemo<Row[]>(() => withDays(list.rows, (event) => event.created_at, zone), [list.rows, zone]);
    const language = useLanguage();
    const names = useKeyNames();
    const all = useMemo(() => columns(filter, zone, names), [language, filter, zone, names]);
    return (
        <>
            <div class="title">
                <h1>{t("history.title")}</h1>
                <button type="button" class="reload" onClick={list.reload}>
                    {t("list.reload")}
                </button>
            </div>
            <Filter filter={filter} error={list.error} holders={names.holders} />
            <ListError error={list.error} again={list.more} />
            <div class="timeline">
                <Table
                    name="history"
                    label={t("history.title")}
                    columns={all}
                    rows={rows}
                    isHeading={(row) => "day" in row}
                    idOf={(row) => ("day" in row ? `day ${row.place}` : row.id)}
                    hasMore={list.hasMore && !list.error}
                    more={list.more}
                    isLoading={list.isLoading}
                    loading={t("list.loading")}
                    empty={list.error ? "" : filter ? t("history.none_match") : t("history.none")}
                />
            </div>
        </>
    );
}
