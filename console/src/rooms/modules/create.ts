// SPDX-License-Identifier: MIT
// Creating a module, and creating one again that was deleted.  A PUT replaces what is there, so both
// are for places without a module (If-None-Match).
import { useState } from "preact/hooks";
import { forgetDraft, getDraft, useUnsaved } from "../../draft";
import { clearNotice, notice } from "../../notice";
import { type Read, createResource, setEdit } from "../../parts/edit";
import { afterChange } from "../../parts/error_words";
import { go, link } from "../../router";
import { type Key, t } from "../../text";
import { draftOf } from "./address";

// A module T from a form F.
interface New<T, F> {
    path: string;
    // Its view's address.
    view: string[];
    form: F;
    // What a module is before anybody changes it.
    fresh: T;
    bodyOf(form: F, stored: T): unknown;
    formOf(stored: T): F;
    // What stood in the form, with its secret.
    source: T;
    // What was typed before it was deleted, and not saved.
    typed?: F | null;
    done: Key;
}

// No module has it, so that saving asks again.
const NO_TAG = '"0"';

// Creates it and shows it.  Returns what somebody else has made there instead, or null.
async function make<T, F>(given: New<T, F>): Promise<Read<T> | null> {
    const body = given.bodyOf(given.form, given.source);
    const isSame = (stored: T) => JSON.stringify(given.bodyOf(given.formOf(stored), stored)) === JSON.stringify(body);
    const { isMade, read } = await createResource<T>(given.path, body, isSame);
    if (!isMade) {
        return read;
    }
    setEdit(draftOf(given.view), { read, yours: given.typed ?? null, theirs: null });
    notice.set({ text: () => t(given.done) });
    go(link(given.view));
    return null;
}

// Creates one again that was deleted.  If there is another one by now, the person chooses in its view.
export async function create<T, F>(given: New<T, F>): Promise<void> {
    const theirs = await make(given);
    if (theirs) {
        const read = { value: given.fresh, etag: NO_TAG };
        setEdit(draftOf(given.view), { read, yours: given.typed ?? given.form, theirs, isNew: true });
        go(link(given.view));
    }
}

// What is typed of a module that is not there yet.
export interface Draft<F> {
    edge_id: string;
    route_id: string;
    form: F;
}

interface Creation<T, F> {
    error: unknown;
    isBusy: boolean;
    create(given: New<T, F>): void;
    // What is there already.
    existing: T | null;
    // Opens that, with what is typed into its form, or null.
    open(yours: F | null): void;
    // Goes on in this form.
    stay(): void;
    // These members were changed.
    changed(names: string[]): void;
}

// name and title are the draft's.
export function useCreation<T, F>(name: string, isTyped: boolean, title: string): Creation<T, F> {
    const [error, setError] = useState<unknown>(null);
    const [isBusy, setBusy] = useState(false);
    const [found, setFound] = useState<{ read: Read<T>; view: string[] } | null>(null);
    useUnsaved(name, isTyped, title);

    async function attempt(given: New<T, F>): Promise<void> {
        setBusy(true);
        setError(null);
        clearNotice();
        try {
            const read = await make(given);
            if (read) {
                setFound({ read, view: given.view });
                return;
            }
            // What was typed while the request ran goes on in the module's own view.
            const typed = getDraft<Draft<F>>(name)?.form;
            const view = draftOf(given.view);
            const made = getDraft<Parameters<typeof setEdit<T, F>>[1]>(view);
            if (typed && made && typed !== given.form) {
                setEdit(view, { ...made, yours: typed });
            }
            forgetDraft(name);
        } catch (failed) {
            setError(failed);
        } finally {
            setBusy(false);
        }
    }

    return {
        error,
        isBusy,
        create: (given) => void attempt(given),
        changed: (names) => setError(afterChange(error, names)),
        existing: found?.read.value ?? null,
        open: (yours) => {
            if (found) {
                setEdit(draftOf(found.view), { read: found.read, yours, theirs: null });
                if (yours) {
                    forgetDraft(name);
                }
                go(link(found.view));
            }
        },
        stay: () => setFound(null),
    };
}
