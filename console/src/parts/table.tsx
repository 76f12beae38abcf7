// SPDX-License-Identifier: MIT
// A table of many rows.  Only those in sight are in the page, so 10,000 rows scroll as 10 do.  All
// rows have the same height, and all headings between them.  Rows that arrive later come at the end, so
// nothing in sight moves.  On a phone each row is a stack of its cells, and the whole view scrolls.
import type { ComponentChildren, JSX } from "preact";
import { useEffect, useLayoutEffect, useMemo, useRef, useState } from "preact/hooks";
import { firstBelow, placesOf } from "../model/places";
import { entryNumber, recall, remember } from "../router";

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
    // It stands above others, and its first cell is all it has.
    isHeading?(row: T): boolean;
    // There are rows after the last one.
    hasMore: boolean;
    more(): void;
    isLoading: boolean;
    loading: string;
    empty: string;
}

// The heights that style.css gives to a row and to a heading, there in rem, here in pixels.
interface Sizes {
    row: number;
    heading: number;
}

interface Sight extends Sizes {
    // What is in sight of all rows.
    top: number;
    height: number;
}

const FIRST_SIGHT: Sight = { top: 0, height: 800, row: 56, heading: 56 };

function sizesOf(box: HTMLElement): Sizes {
    const style = getComputedStyle(box);
    const em = parseFloat(getComputedStyle(document.documentElement).fontSize);
    const size = (name: string) => parseFloat(style.getPropertyValue(name)) * em;
    return { row: size("--row"), heading: size("--heading") };
}

function look(box: HTMLElement, all: HTMLElement, sizes: Sizes): Sight {
    const [own, view] = [box.getBoundingClientRect(), box.closest("main")?.getBoundingClientRect()];
    const top = Math.max(own.top, view?.top ?? 0);
    return {
        top: Math.round(top - all.getBoundingClientRect().top),
        height: Math.max(0, Math.round(Math.min(own.bottom, view?.bottom ?? innerHeight) - top)),
        ...sizes,
    };
}

// box scrolls, or something around it does.
function useSight(box: { current: HTMLElement | null }, all: { current: HTMLElement | null }): Sight {
    const [sight, setSight] = useState(FIRST_SIGHT);
    useLayoutEffect(() => {
        const [element, inner] = [box.current, all.current];
        if (!element || !inner) {
            return undefined;
        }
        let frame = 0;
        let sizes = sizesOf(element);
        const read = () => {
            frame = 0;
            const now = look(element, inner, sizes);
            setSight((before) => {
                const isSame =
                    Math.floor(before.top / before.row) === Math.floor(now.top / now.row) &&
                    before.height === now.height &&
                    before.row === now.row &&
                    before.heading === now.heading;
                return isSame ? before : now;
            });
        };
        const later = () => {
            frame ||= requestAnimationFrame(read);
        };
        // While it scrolls, sizes stay.
        const resized = () => {
            sizes = sizesOf(element);
            later();
        };
        read();
        const watch = new ResizeObserver(resized);
        watch.observe(element);
        addEventListener("scroll", later, { capture: true, passive: true });
        addEventListener("resize", resized);
        return () => {
            cancelAnimationFrame(frame);
            watch.disconnect();
            removeEventListener("scroll", later, { capture: true });
            removeEventListener("resize", resized);
        };
    }, []);
    return sight;
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

// box scrolls, or its view does.
function bringInSight(box: HTMLElement, all: HTMLElement, place: number): void {
    box.scrollTop = place;
    const view = box.closest("main");
    const bounds = view?.getBoundingClientRect();
    const top = all.getBoundingClientRect().top + place;
    if (view && bounds && (top < bounds.top || top >= bounds.bottom)) {
        view.scrollTop += top - bounds.top;
    }
}

// Tab reaches one link of all rows, the last that had the focus.  From there, keys lead to the others.
function useKeys(
    box: { current: HTMLDivElement | null },
    all: { current: HTMLDivElement | null },
    places: number[],
    sight: Sight,
): (event: KeyboardEvent) => void {
    const n = places.length - 1;
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
        const stop = known[Math.min(last.current.link, known.length - 1)] ?? linksOf(element, firstBelow(places, sight.top))[0];
        for (const link of element.querySelectorAll<HTMLElement>("a, button")) {
            const index = link === stop ? "0" : "-1";
            if (link.getAttribute("tabindex") !== index) {
                link.setAttribute("tabindex", index);
            }
        }
    });

    return (event) => {
        const element = box.current;
        const now = element && spotOf(element, document.activeElement);
        if (!now || event.altKey || event.ctrlKey || event.metaKey) {
            return;
        }
        const page = Math.max(1, Math.floor(sight.height / sight.row) - 1);
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
        if (!focusOn(element, to) && all.current) {
            // The row comes into the page once it is in sight.
            wanted.current = to;
            bringInSight(element, all.current, places[to.row] ?? 0);
        }
    };
}

// Where the rows were scrolled to.
interface Place {
    box: number;
    view: number;
}

const PLACE = "table";

// Returns whether it could be scrolled that far.
function scrollTo(element: HTMLElement, place: Place): boolean {
    const view = element.closest("main");
    element.scrollTop = place.box;
    if (view) {
        view.scrollTop = place.view;
    }
    return Math.abs(element.scrollTop - place.box) <= 1 && Math.abs((view?.scrollTop ?? 0) - place.view) <= 1;
}

// Back leads to the rows that were in sight.  The end of the rows that are there leads to more of them.
function usePlace(box: { current: HTMLElement | null }, hasMore: boolean): void {
    const entry = entryNumber();
    const wanted = useRef<Place | undefined>(undefined);
    useLayoutEffect(() => {
        wanted.current = recall<Place>(entry, PLACE);
        const keep = () => {
            const element = box.current;
            if (element && !wanted.current) {
                const view = element.closest("main")?.scrollTop ?? 0;
                remember(entry, PLACE, { box: element.scrollTop, view });
            }
        };
        addEventListener("scroll", keep, { capture: true, passive: true });
        return () => removeEventListener("scroll", keep, { capture: true });
    }, [entry]);
    useLayoutEffect(() => {
        const [place, element] = [wanted.current, box.current];
        if (place && element && (scrollTo(element, place) || !hasMore)) {
            wanted.current = undefined;
        }
    });
    // What somebody scrolls themselves, stays.
    useEffect(() => {
        const forget = () => (wanted.current = undefined);
        const own = new AbortController();
        for (const name of ["wheel", "touchmove", "keydown"]) {
            addEventListener(name, forget, { passive: true, signal: own.signal });
        }
        return () => own.abort();
    }, []);
}

export function Table<T>(given: Properties<T>): JSX.Element {
    const { rows, columns, isHeading } = given;
    const box = useRef<HTMLDivElement>(null);
    const [, draw] = useState({});
    const refresh = () => draw({});
    const all = useRef<HTMLDivElement>(null);
    const sight = useSight(box, all);
    const places = useMemo(
        () => placesOf(rows.map((row) => (isHeading?.(row) ? sight.heading : sight.row))),
        [rows, sight.row, sight.heading],
    );
    const from = Math.max(0, firstBelow(places, sight.top) - SPARE);
    const to = Math.min(rows.length, firstBelow(places, sight.top + sight.height) + 1 + SPARE);
    const move = useKeys(box, all, places, sight);
    usePlace(box, given.hasMore);

    useEffect(() => {
        if (given.hasMore && !given.isLoading && rows.length < to + AHEAD) {
            given.more();
        }
    }, [given.hasMore, given.isLoading, rows.length, to]);

    const shown = rows.slice(from, to).map((row, n) => (
        <div
            class={isHeading?.(row) ? "row heading" : "row"}
            role="row"
            key={given.idOf(row)}
            aria-rowindex={from + n + 2}
            style={{ transform: `translateY(${places[from + n]}px)` }}
        >
            {columns.map((column) => (
                <div class={"cell " + column.name} role="cell" key={column.name} data-title={column.title}>
                    {column.cell(row)}
                </div>
            ))}
        </div>
    ));
    return (
        <div class={rows.length === 0 ? "table-box empty" : "table-box"}>
            <div
                class={"table " + given.name}
                role="table"
                aria-label={given.label}
                aria-rowcount={given.hasMore ? -1 : rows.length + 1}
            >
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
                    <div class="all" role="presentation" style={{ height: `${places[rows.length]}px` }} ref={all}>
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
