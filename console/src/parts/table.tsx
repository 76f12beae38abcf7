// SPDX-License-Identifier: MIT
// A table of many rows.  Only those in sight are in the page, so 10,000 rows scroll as 10 do.  All
// rows have the same height.  Rows that arrive later come at the end, so nothing in sight moves.
import type { ComponentChildren, JSX, TargetedKeyboardEvent } from "preact";
import { useEffect, useLayoutEffect, useRef, useState } from "preact/hooks";

// style.css has the same number.
const ROW_PX = 56;
// Rows above and below those in sight.
const SPARE = 8;
// The next page is read when so many rows or fewer are below those in sight.
const AHEAD = 150;

export interface Column<T> {
    name: string;
    title: string;
    cell(row: T): ComponentChildren;
}

interface Properties<T> {
    // For style.css: the widths of its columns.
    name: string;
    label: string;
    columns: Column<T>[];
    rows: T[];
    idOf(row: T): string;
    // There are rows after the last one.
    hasMore: boolean;
    more(): void;
    isLoading: boolean;
    loading: string;
    empty: string;
}

function usePlace(box: { current: HTMLDivElement | null }): [number, number] {
    const [place, setPlace] = useState<[number, number]>([0, 800]);
    useLayoutEffect(() => {
        const element = box.current;
        if (!element) {
            return undefined;
        }
        let frame = 0;
        const read = () => {
            frame = 0;
            const first = Math.floor(element.scrollTop / ROW_PX);
            setPlace((before) =>
                before[0] === first && before[1] === element.clientHeight ? before : [first, element.clientHeight],
            );
        };
        const later = () => {
            frame ||= requestAnimationFrame(read);
        };
        read();
        const watch = new ResizeObserver(later);
        watch.observe(element);
        element.addEventListener("scroll", later, { passive: true });
        return () => {
            cancelAnimationFrame(frame);
            watch.disconnect();
            element.removeEventListener("scroll", later);
        };
    }, []);
    return place;
}

// The arrow keys move between the links of rows.
function moveFocus(event: TargetedKeyboardEvent<HTMLDivElement>): void {
    const step = event.key === "ArrowDown" ? 1 : event.key === "ArrowUp" ? -1 : 0;
    const row = document.activeElement?.closest("[aria-rowindex]");
    if (!step || !row) {
        return;
    }
    const wanted = Number(row.getAttribute("aria-rowindex")) + step;
    const target = event.currentTarget.querySelector<HTMLElement>(`[aria-rowindex="${wanted}"] a`);
    if (target) {
        target.focus();
        event.preventDefault();
    }
}

export function Table<T>(given: Properties<T>): JSX.Element {
    const { rows, columns } = given;
    const box = useRef<HTMLDivElement>(null);
    const [first, height] = usePlace(box);
    const from = Math.max(0, first - SPARE);
    const to = Math.min(rows.length, first + Math.ceil(height / ROW_PX) + SPARE);

    useEffect(() => {
        if (given.hasMore && !given.isLoading && rows.length < to + AHEAD) {
            given.more();
        }
    }, [given.hasMore, given.isLoading, rows.length, to]);

    const shown = rows.slice(from, to).map((row, n) => (
        <div
            class="row"
            role="row"
            key={given.idOf(row)}
            aria-rowindex={from + n + 2}
            style={{ transform: `translateY(${(from + n) * ROW_PX}px)` }}
        >
            {columns.map((column) => (
                <div class={"cell " + column.name} role="cell" key={column.name}>
                    {column.cell(row)}
                </div>
            ))}
        </div>
    ));
    return (
        <div class={rows.length === 0 ? "table-box empty" : "table-box"}>
            <div class={"table " + given.name} role="table" aria-label={given.label} aria-rowcount={given.hasMore ? -1 : rows.length + 1}>
                <div class="head" role="rowgroup">
                    <div class="row" role="row" aria-rowindex={1}>
                        {columns.map((column) => (
                            <div class={"cell " + column.name} role="columnheader" key={column.name}>
                                {column.title}
                            </div>
                        ))}
                    </div>
                </div>
                <div class="body" role="rowgroup" tabIndex={0} aria-label={given.label} ref={box} onKeyDown={moveFocus}>
                    <div class="all" role="presentation" style={{ height: `${rows.length * ROW_PX}px` }}>
                        {shown}
                    </div>
                </div>
            </div>
            <p class="state" role="status">
                {given.isLoading ? given.loading : rows.length === 0 ? given.empty : ""}
            </p>
        </div>
    );
}
