// SPDX-License-Identifier: MIT
// The console: who is signed in, the navigation, and the room of the address.
import { type JSX, render } from "preact";
import { useLayoutEffect, useState } from "preact/hooks";
import { unsaved } from "./draft";
import { NoticeBar } from "./parts/notice";
import { Leave, UnsavedBar } from "./parts/unsaved";
import { type Route, link, useRoute, viewTitle } from "./router";
import { rooms } from "./rooms";
import type { Room } from "./rooms/room";
import { SignIn, SignInAgain } from "./rooms/sign_in";
import { rightsText } from "./rooms/sign_in/words";
import { type State, session } from "./session";
import { LANGUAGES, setLanguage, t, useLanguage } from "./text";
import { useSyncedValue } from "./value";

function Language({ language }: { language: string }): JSX.Element {
    return (
        <select
            class="language"
            aria-label={t("main.language")}
            value={language}
            onChange={(event) => setLanguage(event.currentTarget.value)}
        >
            {LANGUAGES.map((name) => (
                <option key={name} value={name} lang={name}>
                    {new Intl.DisplayNames([name], { type: "language" }).of(name)}
                </option>
            ))}
        </select>
    );
}

function Holder({ state }: { state: State }): JSX.Element | null {
    return state.rights && <p class="holder small">{rightsText(state.rights)}</p>;
}

function SkipLink(): JSX.Element {
    return (
        <a
            class="skip"
            href="#content"
            onClick={(event) => {
                event.preventDefault();
                document.getElementById("content")?.focus();
            }}
        >
            {t("main.skip")}
        </a>
    );
}

// On a phone, all but the name is behind a button.
function Header({
    state,
    room,
    address,
    leave,
}: {
    state: State;
    room: Room | undefined;
    address: Route;
    leave(): void;
}): JSX.Element {
    const [isOpen, setOpen] = useState(false);
    useLayoutEffect(() => setOpen(false), [address]);
    return (
        <header
            class={isOpen ? "open" : ""}
            onKeyDown={(event) => {
                if (event.key === "Escape" && isOpen) {
                    setOpen(false);
                    event.currentTarget.querySelector<HTMLElement>(".menu-button")?.focus();
                }
            }}
        >
            <a class="home" href="#/">
                {t("main.name")}
            </a>
            <button
                type="button"
                class="menu-button"
                aria-expanded={isOpen}
                aria-controls="menu"
                onClick={() => setOpen(!isOpen)}
            >
                {t("main.menu")}
            </button>
            <div class="menu" id="menu">
                <nav aria-label={t("main.rooms")}>
                    {rooms.map((one) => (
                        <a key={one.name} href={link([one.name])} aria-current={one === room ? "page" : undefined}>
                            {t(one.title)}
                        </a>
                    ))}
                </nav>
                <Holder state={state} />
                <Language language={useLanguage()} />
                <button type="button" class="sign-out" onClick={leave}>
                    {t("main.sign_out")}
                </button>
            </div>
        </header>
    );
}

function Inside({ state }: { state: State }): JSX.Element {
    const route = useRoute();
    const [isLeaving, setLeaving] = useState(false);
    const open = useSyncedValue(viewTitle);
    const name = route.parts[0] ?? rooms[0]?.name;
    const place = route.parts.join("/");
    // What had the focus went with the last view.
    useLayoutEffect(() => {
        if (document.activeElement === document.body) {
            document.getElementById("content")?.focus();
        }
    }, [place]);
    // A view begins at its top, unless Back led to it.
    useLayoutEffect(() => document.getElementById("content")?.scrollTo(0, 0), [place]);
    const room = rooms.find((one) => one.name === name);
    useLayoutEffect(() => {
        const title = open || (room ? t(room.title) : "");
        document.title = title ? t("main.title", { room: title }) : t("main.name");
    });
    return (
        <>
            <SkipLink />
            <Header
                state={state}
                room={room}
                address={route}
                leave={() => (unsaved.get().length > 0 ? setLeaving(true) : session.end())}
            />
            <main id="content" tabIndex={-1}>
                {room ? <room.View route={route} /> : <h1>{t("main.nothing_here")}</h1>}
            </main>
            <UnsavedBar open={place} />
            <NoticeBar />
            {isLeaving && <Leave stay={() => setLeaving(false)} />}
            {state.phase === "again" && <SignInAgain reason={state.refusal} />}
        </>
    );
}

function Console(): JSX.Element {
    const state = useSyncedValue(session.state);
    const language = useLanguage();
    useLayoutEffect(() => {
        document.documentElement.lang = language;
    }, [language]);
    if (state.phase !== "out") {
        return <Inside state={state} />;
    }
    return (
        <>
            <header>
                <span class="home">{t("main.name")}</span>
                <Language language={language} />
            </header>
            <SignIn />
        </>
    );
}

const place = document.getElementById("console");
if (place) {
    render(<Console />, place);
}
