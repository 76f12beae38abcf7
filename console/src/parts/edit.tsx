// SPDX-License-Identifier: MIT
// Changing what is stored, under the tag of what was read (If-Match).
import type { ComponentChildren, JSX } from "preact";
import { useEffect, useState } from "preact/hooks";
import { type Answer, call } from "../api/client";
import { ApiError } from "../api/error";
import { forgetDraft, useDraft, useUnsaved } from "../draft";
import { clearNotice, discardDraft, notice } from "../notice";
import { session } from "../session";
import { t } from "../text";
import { useSyncedValue } from "../value";
import { ErrorBox } from "./error";
import { afterChange } from "./error_words";

// What was read, and the tag that it had.
export interface Read<T> {
    value: T;
    etag: string;
    // Somebody else deleted it meanwhile.
    isGone?: boolean;
}

// How a resource T is changed by a form F.
interface Ways<T, F> {
    // The draft's name.
    name: string;
    titleOf(stored: T): string;
    // The resource's address in the interface.
    path: string;
    // PUT replaces the whole resource, and makes one that is gone anew.
    method: "PATCH" | "PUT";
    read?(): Promise<Read<T>>;
    formOf(stored: T): F;
    bodyOf(form: F, stored: T): unknown;
    // After it was deleted: says so, and leaves.  typed is what was not saved, or null.
    leave(gone: T, typed: F | null): void;
    // Makes one that is gone anew, and shows it, where PATCH cannot.
    createAgain?(form: F, gone: T): Promise<void>;
}

// yours is null as long as nothing was typed.  theirs is what somebody else stored meanwhile.
interface Draft<T, F> {
    read: Read<T> | null;
    yours: F | null;
    theirs: Read<T> | null;
    // They made it, where the person wants to create one again.
    isNew?: boolean;
}

const FIRST = { read: null, yours: null, theirs: null };

export interface Edit<T, F> extends Draft<T, F> {
    error: unknown;
    isBusy: boolean;
    // Somebody else changed it, so it was not deleted or set.
    isSpared: boolean;
    // What saving does once it is gone.
    goneHint: string;
    // Set if it was reading that failed.
    again: (() => void) | undefined;
    load(): void;
    change(yours: F): void;
    // Undo brings what was typed back.
    discard(): void;
    save(): void;
    // Changes these members alone, whatever is typed.
    set(members: Partial<T>): void;
    remove(): void;
    // Goes on from what somebody else stored.
    resolve(yours: F): void;
    // Goes back to the form.  Saving asks again.
    postpone(): void;
    // Does something else, whose error is shown here.
    attempt(work: () => Promise<void>): void;
}

function readOf<T>(answer: Answer<T>): Read<T> {
    return { value: answer.value, etag: answer.etag ?? "" };
}

export async function readResource<T>(path: string): Promise<Read<T>> {
    return readOf(await call<T>("GET", path));
}

function hasStatus(failed: unknown, status: number): boolean {
    return failed instanceof ApiError && failed.status === status;
}

// Creates with PUT what is not there yet.  Returns what is stored; others may have stored it: see isMade.
export async function createResource<T>(
    path: string,
    body: unknown,
    isSame: (stored: T) => boolean,
): Promise<{ isMade: boolean; read: Read<T> }> {
    try {
        return { isMade: true, read: readOf(await call<T>("PUT", path, { body, ifNoneMatch: "*" })) };
    } catch (failed) {
        if (!hasStatus(failed, 412)) {
            throw failed;
        }
        const read = await readResource<T>(path).catch((unread: unknown) => {
            throw hasStatus(unread, 404) ? failed : unread;
        });
        // The answer to an earlier try may have been lost.
        return { isMade: isSame(read.value), read };
    }
}

function isEqual(one: object, other: object): boolean {
    return JSON.stringify(one) === JSON.stringify(other);
}

// What the next view of the resource begins with.
export function setEdit<T, F>(name: string, draft: Draft<T, F>): void {
    discardDraft(name, draft);
}

export function useEdit<T, F extends object>(ways: Ways<T, F>): Edit<T, F> {
    const [draft, change] = useDraft<Draft<T, F>>(ways.name, FIRST);
    const [error, setError] = useState<unknown>(null);
    const [isUnread, setUnread] = useState(false);
    const [isBusy, setBusy] = useState(false);
    const [isSpared, setSpared] = useState(false);
    const { read, yours } = draft;
    const hasChanges = read !== null && yours !== null && !isEqual(yours, ways.formOf(read.value));
    // A key that only reads can save nothing.
    const { keyNumber, rights } = useSyncedValue(session.state);
    useUnsaved(ways.name, hasChanges && rights?.writes !== "nothing", read ? ways.titleOf(read.value) : "");

    async function attempt(work: () => Promise<void>, isReading = false): Promise<void> {
        setBusy(true);
        setError(null);
        setUnread(isReading);
        setSpared(false);
        try {
            await work();
        } catch (failed) {
            setError(failed);
        } finally {
            setBusy(false);
        }
    }

    const readNow = () => (ways.read ? ways.read() : readResource<T>(ways.path));

    // After 412.
    const readAgain = (from: Read<T>) =>
        readNow().catch((failed: unknown): Read<T> => {
            if (hasStatus(failed, 404)) {
                return { ...from, isGone: true };
            }
            throw failed;
        });

    const load = () =>
        attempt(async () => {
            change({ read: await readNow() });
        }, true);

    // What is typed belongs to what was read before it, so that is not read again.
    useEffect(() => {
        if (!yours) {
            void load();
        }
    }, [ways.name, keyNumber]);

    // What was typed while the request ran is not saved, and stays.
    function saved(now: Read<T>): void {
        change((draft) => ({ read: now, yours: draft.yours === yours ? null : draft.yours, theirs: null }));
        notice.set({ text: () => t("form.saved") });
    }

    function isSame(wanted: F, stored: T): boolean {
        const bodies = [wanted, ways.formOf(stored)].map((form) => JSON.stringify(ways.bodyOf(form, stored)));
        return bodies[0] === bodies[1];
    }

    async function save(from: Read<T>, wanted: F): Promise<void> {
        if (from.isGone && ways.createAgain) {
            return ways.createAgain(wanted, from.value);
        }
        const body = ways.bodyOf(wanted, from.value);
        const condition = from.isGone ? { ifNoneMatch: "*" } : { ifMatch: from.etag };
        try {
            saved(readOf(await call<T>(ways.method, ways.path, { body, ...condition })));
        } catch (failed) {
            if (!hasStatus(failed, 412) && !(ways.createAgain && hasStatus(failed, 404))) {
                throw failed;
            }
            const now = await readAgain(from);
            if (now.isGone) {
                change({ read: now });
            } else if (isSame(wanted, now.value)) {
                // The answer to an earlier try was lost.
                saved(now);
            } else {
                change({ theirs: now });
            }
        }
    }

    // After a request that somebody else's change has stopped.  Returns it as it is now: that is shown, and
    // the person decides again.
    async function readStopped(from: Read<T>, failed: unknown): Promise<Read<T>> {
        if (!hasStatus(failed, 412) && !hasStatus(failed, 404)) {
            throw failed;
        }
        const now = await readAgain(from);
        if (!now.isGone) {
            change(yours ? { theirs: now } : { read: now });
            setSpared(true);
        }
        return now;
    }

    async function set(from: Read<T>, members: Partial<T>): Promise<void> {
        try {
            change({ read: readOf(await call<T>("PATCH", ways.path, { body: members, ifMatch: from.etag })) });
            notice.set({ text: () => t("form.saved") });
        } catch (failed) {
            const now = await readStopped(from, failed);
            if (now.isGone) {
                change({ read: now });
            }
        }
    }

    async function remove(from: Read<T>): Promise<void> {
        try {
            await call("DELETE", ways.path, { ifMatch: from.etag });
        } catch (failed) {
            const now = await readStopped(from, failed);
            if (!now.isGone) {
                return;
            }
        }
        forgetDraft(ways.name);
        ways.leave(from.value, hasChanges ? yours : null);
    }

    return {
        ...draft,
        error,
        isBusy,
        isSpared,
        goneHint: t(ways.createAgain ? "form.gone_new_id" : "form.gone"),
        again: isUnread ? () => void load() : undefined,
        load: () => void load(),
        change: (typed) => {
            const before: F | null = yours ?? (read && ways.formOf(read.value));
            const names = Object.keys(typed) as (keyof F & string)[];
            change({ yours: typed });
            setError(
                afterChange(
                    error,
                    names.filter((name) => typed[name] !== before?.[name]),
                ),
            );
        },
        discard: () => {
            discardDraft(ways.name, { ...draft, yours: null });
            change({});
            setError(null);
        },
        save: () => {
            clearNotice();
            if (read && rights?.writes !== "nothing") {
                void attempt(() => save(read, yours ?? ways.formOf(read.value)));
            }
        },
        set: (members) => {
            clearNotice();
            if (read) {
                void attempt(() => set(read, members));
            }
        },
        remove: () => {
            if (read) {
                void attempt(() => remove(read));
            }
        },
        resolve: (chosen) => change({ read: draft.theirs, yours: chosen, theirs: null, isNew: false }),
        postpone: () => change({ theirs: null, isNew: false }),
        attempt: (work) => void attempt(work),
    };
}

// As long as nothing was read.
export function Unread<T, F>({ title, edit }: { title: string; edit: Edit<T, F> }): JSX.Element {
    return (
        <>
            <h1>{title}</h1>
            {edit.isBusy && <p role="status">{t("list.loading")}</p>}
            <ErrorBox error={edit.error} again={edit.load} />
        </>
    );
}

// The form's title, and Delete: far from where the other buttons come and go.
// hint: what deleting it does.  also: buttons beside it.
export function EditHead<T, F>(given: {
    children: ComponentChildren;
    edit: Edit<T, F>;
    mayWrite: boolean;
    hint?: string;
    also?: ComponentChildren;
}): JSX.Element {
    const { edit } = given;
    return (
        <>
            <div class="title">
                <h1>{given.children}</h1>
                {given.mayWrite && !edit.read?.isGone && given.also}
                {given.mayWrite && !edit.read?.isGone && (
                    <button type="button" class="delete" disabled={edit.isBusy} onClick={edit.remove}>
                        {t("form.delete")}
                    </button>
                )}
            </div>
            {given.mayWrite && given.hint && !edit.read?.isGone && <p class="small">{given.hint}</p>}
            {edit.isSpared && (
                <p class="warning spared" role="alert">
                    {t("form.spared")}
                </p>
            )}
        </>
    );
}

// The buttons of the form, whose submit saves.
// isBlocked: the service would refuse what is typed.
export function EditActions<T, F>({ edit, isBlocked }: { edit: Edit<T, F>; isBlocked?: boolean }): JSX.Element {
    return (
        <>
            {edit.read?.isGone && (
                <p class="warning" role="alert">
                    {edit.goneHint}
                </p>
            )}
            {isBlocked && <p class="blocked">{t("form.blocked")}</p>}
            <div class="actions">
                <button class="main" type="submit" disabled={edit.isBusy || isBlocked || !(edit.yours || edit.read?.isGone)}>
                    {edit.isBusy ? t("form.saving") : edit.read?.isGone ? t("form.create_again") : t("form.save")}
                </button>
                {edit.yours && (
                    <button type="button" class="discard" onClick={edit.discard}>
                        {t("form.discard")}
                    </button>
                )}
            </div>
        </>
    );
}
