// SPDX-License-Identifier: MIT
// Changes of the last days: a chart, and the same numbers as a table.
import type { JSX } from "preact";
import { useState } from "preact/hooks";
import { useFold } from "../../api/fold";
import type { AuditEvent } from "../../api/types";
import { clauseOfDay, lastDays, ownZone } from "../../model/days";
import { NO_DAYS, type PerDay, addEvents, coversFrom } from "../../model/record";
import { topOfScale } from "../../model/scale";
import { link } from "../../router";
import { dayTitle, number, shortDay, t } from "../../text";
import { useFault } from "./faults";

const DAYS = 14;
// Pages of events that are read before the person asks for more.
const PAGES = 10;
const HEIGHT = 128;
// A bar's share of its day.
const BAR = 0.8;

// The numbers of the scale, from its top down.
function Scale({ top }: { top: number }): JSX.Element {
    return (
        <>
            {[top, top / 2, 0].map((n) => (
                <span class="tick-number" key={n} style={{ bottom: `${(n / top) * HEIGHT}px` }}>
                    {number(n)}
                </span>
            ))}
        </>
    );
}

// The table beside it has the numbers, so the chart is for the eye alone.
function Chart({ days, counts }: { days: string[]; counts: Record<string, number> }): JSX.Element {
    const inOrder = days.toReversed();
    const top = topOfScale(Math.max(...days.map((day) => counts[day] ?? 0)));
    const share = (n: number) => `${((n / days.length) * 100).toFixed(2)}%`;
    return (
        <div class="chart" aria-hidden="true">
            <div class="scale" style={{ height: `${HEIGHT}px` }}>
                <Scale top={top} />
            </div>
            <svg width="100%" height={HEIGHT + 1}>
                {[0, HEIGHT / 2, HEIGHT].map((y) => (
                    <line key={y} x1="0" x2="100%" y1={y + 0.5} y2={y + 0.5} />
                ))}
                {inOrder.map((day, n) => {
                    const n_changes = counts[day] ?? 0;
                    // One change can be seen beside a thousand.
                    const height = n_changes ? Math.max(2, Math.round((n_changes / top) * HEIGHT)) : 0;
                    return (
                        <rect key={day} x={share(n + (1 - BAR) / 2)} y={HEIGHT - height} width={share(BAR)} height={height}>
                            <title>{t("overview.of_day", { day: dayTitle(day), n: number(n_changes) })}</title>
                        </rect>
                    );
                })}
            </svg>
            <div class="dates">
                {[0, Math.floor(days.length / 2), days.length - 1].map((n) => (
                    <span key={n} style={{ left: share(n + 0.5) }}>
                        {shortDay(inOrder[n] ?? "")}
                    </span>
                ))}
            </div>
        </div>
    );
}

// What is known of a day, while not all events were read.
function countText(day: string, { counts, lastDay }: PerDay, isWhole: boolean): string {
    const n = number(counts[day] ?? 0);
    if (isWhole || (lastDay !== "" && day > lastDay)) {
        return n;
    }
    return day === lastDay ? t("overview.at_least", { n }) : t("overview.unread");
}

export function Changes(): JSX.Element {
    const [now] = useState(Date.now);
    const zone = ownZone();
    const days = lastDays(DAYS, now, zone);
    const found = useFold<AuditEvent, PerDay>({
        path: "audit_events",
        member: "audit_events",
        filter: "",
        first: NO_DAYS,
        fold: (state, events) => addEvents(state, events, zone),
        isEnough: (state) => coversFrom(state, days.at(-1) ?? ""),
        pages: PAGES,
    });
    useFault("changes", found.error, found.more);
    return (
        <section class="changes" aria-labelledby="changes">
            <h2 id="changes">{t("overview.changes", { n: DAYS })}</h2>
            <div class="beside">
                <Chart days={days} counts={found.state.counts} />
                <table>
                    <thead>
                        <tr>
                            <th scope="col">{t("overview.day")}</th>
                            <th scope="col">{t("overview.n_changes")}</th>
                        </tr>
                    </thead>
                    <tbody>
                        {days.map((day) => (
                            <tr key={day}>
                                <th scope="row">
                                    <a href={link(["history"], { filter: clauseOfDay("obj.created_at", day, zone) })}>
                                        {dayTitle(day, "medium")}
                                    </a>
                                </th>
                                <td>{countText(day, found.state, found.isWhole)}</td>
                            </tr>
                        ))}
                    </tbody>
                </table>
            </div>
            {!found.isWhole && !found.isLoading && !found.error && (
                <button type="button" class="read-on" onClick={found.more}>
                    {t("overview.read_on")}
                </button>
            )}
        </section>
    );
}
