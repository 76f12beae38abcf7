// SPDX-License-Identifier: MIT
// A table of many rows.  Only those in sight are in the page, so 10,000 rows scroll as 10 do.  All
// rows have the same height.  Rows that arrive later come at the end, so nothing in sight moves.
import type { ComponentChildren, JSX } from "preact";
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

// A link in the rows.
interface Spot {
    row: number;
    // Its place among the links of its row.
    link: number;
}

function linksOf(box: HTMLElement, row: number): HTMLElement[] {
    return [...box.querySelectorAll<HTMLElement>(`[aria-rowindex="${row + 2}"] :is(a, button)`)];
}

function spotOf(box: HTMLElement, element: Element | null): Spot | null {
    const row = element?.closest("[aria-rowindex]");
    if (!row || !box.contains(row)) {
        return null;
    }
    const n = Number(row.getAttribute("aria-rowindex")) - 2;
    return { row: n, link: linksOf(box, n).indexOf(element as HTMLElement) };
}

function focusOn(box: HTMLElement, spot: Spot): boolean {
    const links = linksOf(box, spot.row);
    const target = links[Math.min(spot.link, links.length - 1)];
    target?.focus();
    return target !== undefined;
}

// Tab reaches one link of all rows, the last that had the focus.  From there, keys lead to the others.
function useKeys(box: { current: HTMLDivElement | null }, n: number, first: number): (event: KeyboardEvent) => void {
    const last = useRef<Spot>({ row: 0, link: 0 });
    const wanted = useRef<Spot | null>(null);

    useLayoutEffect(() => {
        const element = box.current;
        if (!element) {
            return;
        }
        if (wanted.current && focusOn(element, wanted.current)) {
            wanted.current = null;
        }
        last.current = spotOf(element, document.activeElement) ?? last.current;
        const known = linksOf(element, last.current.row);
        const stop = known[Math.min(last.current.link, known.length - 1)] ?? linksOf(element, first)[0];
        for (const link of element.querySelectorAll<HTMLElement>("a, button")) {
            const index = link === stop ? 0 : -1;
            if (link.tabIndex !== index) {
                link.tabIndex = index;
            }
        }
    });

    return (event) => {
        const element = box.current;
        const now = element && spotOf(element, document.activeElement);
        if (!now || event.altKey || event.ctrlKey || event.metaKey) {
            return;
        }
        const page = Math.max(1, Math.floor(element.clientHeight / ROW_PX) - 1);
        const rows: Record<string, number> = { ArrowDown: 1, ArrowUp: -1, PageDown: page, PageUp: -page, Home: -n, End: n };
        const links: Record<string, number> = { ArrowRight: 1, ArrowLeft: -1 };
        const step = rows[event.key] ?? 0;
        const aside = links[event.key] ?? 0;
        if (!step && !aside) {
            return;
        }
        event.preventDefault();
        const to = {
            row: Math.min(Math.max(now.row + step, 0), n - 1),
            link: Math.min(Math.max(now.link + aside, 0), linksOf(element, now.row).length - 1),
        };
        last.current = to;
        if (!focusOn(element, to)) {
            // The row comes into the page once it is in sight.
            wanted.current = to;
            element.scrollTop = to.row * ROW_PX;
        }
    };
}

export function Table<T>(given: Properties<T>): JSX.Element {
    const { rows, columns } = given;
    const box = useRef<HTMLDivElement>(null);
    const [, draw] = useState({});
    const refresh = () => draw({});
    const [first, height] = usePlace(box);
    const from = Math.max(0, first - SPARE);
    const move = useKeys(box, rows.length, first);
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
                <div class="body" role="rowgroup" ref={box} onKeyDown={move} onFocusIn={refresh}>
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
