// SPDX-License-Identifier: MIT
// One OAuth module: creating, changing and deleting it.
import type { JSX } from "preact";
import { useEffect, useMemo, useState } from "preact/hooks";
import { call } from "../../api/client";
import { isRefusal } from "../../api/error";
import { readProviders } from "../../api/providers";
import type { OauthModule, OauthModuleList } from "../../api/types";
import { useDraft } from "../../draft";
import * as ERR from "../../model/errors";
import { quote } from "../../model/filter";
import { isIdent } from "../../model/ident";
import { hasFault } from "../../model/module";
import {
    type OauthForm,
    type OauthMember,
    checkOauth,
    freshOauth,
    mergeOauth,
    oauthBodyOf,
    oauthFormOf,
    storedSecret,
} from "../../model/oauth_module";
import { discardDraft, notice } from "../../notice";
import { Conflict, type Difference } from "../../parts/conflict";
import { EditActions, EditHead, type Read, Unread, readResource, useEdit } from "../../parts/edit";
import { ErrorBox } from "../../parts/error";
import { ReadOnly } from "../../parts/read_only";
import { backTo, go, link, useViewTitle } from "../../router";
import { session } from "../../session";
import { t } from "../../text";
import { useSyncedValue } from "../../value";
import { NEW_OAUTH, OAUTH, draftOf, oauthPath } from "./address";
import { type Draft, create, useCreation } from "./create";
import { EdgeField, Place, RouteField, useMayWrite } from "./frame";
import { OauthFields, TITLES } from "./oauth_fields";
import { onOff } from "./words";

const DRAFT = draftOf(NEW_OAUTH);
const FIRST: Draft<OauthForm> = { edge_id: "", route_id: "", form: oauthFormOf(freshOauth([])) };

// What create() needs besides.
const WAYS = { bodyOf: oauthBodyOf, formOf: oauthFormOf };

// The list shows a module whose secret the service cannot decrypt, without the secret and without a tag.
async function readListed(edge: string, route: string): Promise<Read<OauthModule> | null> {
    const filter = `obj.edge_id == ${quote(edge)} && obj.id == ${quote(route)}`;
    const { value } = await call<OauthModuleList>("GET", "oauth_modules", { query: { filter } });
    const found = value.oauth_modules[0];
    return found ? { value: found, etag: "*" } : null;
}

async function readOauth(edge: string, route: string): Promise<Read<OauthModule>> {
    try {
        return await readResource<OauthModule>(oauthPath(edge, route));
    } catch (failed) {
        const isUnreadable = isRefusal(failed, [ERR.SECRET_UNREADABLE]);
        const listed = isUnreadable ? await readListed(edge, route) : null;
        if (!listed) {
            throw failed;
        }
        return listed;
    }
}

function undoDelete(edge: string, route: string, gone: OauthModule, typed: OauthForm | null): () => Promise<void> {
    const form = oauthFormOf(gone);
    return async () => {
        if (storedSecret(form, gone) === "lost") {
            discardDraft(DRAFT, { edge_id: edge, route_id: route, form: typed ?? form });
            notice.set({ text: () => t("oauth.undo_secret") });
            go(link(NEW_OAUTH));
            return;
        }
        await create({
            ...WAYS,
            path: oauthPath(edge, route),
            view: [...OAUTH, edge, route],
            form,
            source: gone,
            typed,
            fresh: freshOauth(Object.keys(gone.provider)),
            done: "modules.undone",
        });
    };
}

function leave(edge: string, route: string, gone: OauthModule, typed: OauthForm | null): void {
    const isLost = storedSecret(oauthFormOf(gone), gone) === "lost";
    notice.set({
        text: () => t(isLost ? "oauth.deleted_secret" : "oauth.deleted", { name: `${edge} / ${route}` }),
        undo: undoDelete(edge, route, gone, typed),
    });
    go(backTo(OAUTH));
}

function differences(before: OauthForm, theirs: OauthForm, yours: OauthForm): Difference[] {
    const show = (form: OauthForm, name: OauthMember): string => {
        const value = form[name];
        if (name === "client_secret") {
            return value ? t("oauth.secret_typed") : t("oauth.secret_untouched");
        }
        return typeof value === "boolean" ? onOff(value) : value;
    };
    return (Object.keys(TITLES) as OauthMember[]).map((name) => ({
        name,
        title: t(TITLES[name]),
        before: show(before, name),
        theirs: show(theirs, name),
        yours: show(yours, name),
    }));
}

export function EditOauth({ edge, route }: { edge: string; route: string }): JSX.Element {
    const mayWrite = useMayWrite();
    const edit = useEdit<OauthModule, OauthForm>({
        ...WAYS,
        name: draftOf([...OAUTH, edge, route]),
        titleOf: () => `${t("oauth.one")} ${edge} / ${route}`,
        path: oauthPath(edge, route),
        method: "PUT",
        read: () => readOauth(edge, route),
        leave: (gone, typed) => leave(edge, route, gone, typed),
    });
    const title = t("oauth.of", { edge, route });
    useViewTitle(title);
    const { read, theirs } = edit;
    if (!read) {
        return <Unread title={title} edit={edit} />;
    }
    const before = oauthFormOf(read.value);
    const form = edit.yours ?? before;
    return (
        <form
            class="edit"
            onSubmit={(event) => {
                event.preventDefault();
                edit.save();
            }}
        >
            <EditHead edit={edit} mayWrite={mayWrite} hint={t("oauth.delete_hint")}>
                {title}
            </EditHead>
            <Place edge={edge} route={route} />
            <ReadOnly why={mayWrite ? "" : t("modules.read_only")}>
                <OauthFields
                    form={form}
                    stored={read.value}
                    change={(members) => edit.change({ ...form, ...members })}
                    error={edit.error}
                />
            </ReadOnly>
            <ErrorBox error={edit.error} again={edit.again} />
            {mayWrite && <EditActions edit={edit} isBlocked={hasFault(checkOauth(form, read.value))} />}
            {theirs && (
                <Conflict
                    resource={`${edge}/${route}`}
                    members={differences(before, oauthFormOf(theirs.value), form)}
                    isNew={edit.isNew ?? false}
                    cancel={edit.postpone}
                    choose={(choice) => {
                        const other = oauthFormOf(theirs.value);
                        edit.resolve({ theirs: other, yours: form, both: mergeOauth(before, other, form) }[choice]);
                    }}
                />
            )}
        </form>
    );
}

export function CreateOauth(): JSX.Element {
    const mayWrite = useMayWrite();
    const [draft, change] = useDraft<Draft<OauthForm>>(DRAFT, FIRST);
    const [providers, setProviders] = useState<string[] | null>(null);
    const [unread, setUnread] = useState<unknown>(null);
    const keyNumber = useSyncedValue(session.state).keyNumber;
    const {
        error,
        isBusy,
        create: make,
        changed,
        existing,
        open,
        stay,
    } = useCreation<OauthModule, OauthForm>(DRAFT, draft !== FIRST, t("oauth.new"));
    const fresh = useMemo(() => freshOauth(providers ?? []), [providers]);

    function load(): void {
        setUnread(null);
        readProviders().then(setProviders, setUnread);
    }

    useEffect(() => {
        if (!providers && mayWrite) {
            load();
        }
    }, [keyNumber]);

    const { edge_id, route_id, form } = draft;
    const isBlocked = providers !== null && hasFault(checkOauth(form, fresh));
    const place = (members: Partial<typeof FIRST>) => {
        change(members);
        changed(Object.keys(members));
    };
    if (!mayWrite) {
        return (
            <div class="edit">
                <h1>{t("oauth.new")}</h1>
                <p class="warning read-only">{t("modules.read_only")}</p>
            </div>
        );
    }
    return (
        <form
            class="edit"
            onSubmit={(event) => {
                event.preventDefault();
                make({
                    ...WAYS,
                    path: oauthPath(edge_id, route_id),
                    view: [...OAUTH, edge_id, route_id],
                    form,
                    source: fresh,
                    fresh,
                    done: "modules.created",
                });
            }}
        >
            <h1>{t("oauth.new")}</h1>
            <EdgeField text={edge_id} setText={(text) => place({ edge_id: text })} autofocus />
            <RouteField text={route_id} setText={(text) => place({ route_id: text })} />
            <ErrorBox error={unread} again={load} />
            {providers && (
                <OauthFields
                    form={form}
                    stored={fresh}
                    change={(members) => {
                        change((now) => ({ form: { ...now.form, ...members } }));
                        changed(Object.keys(members));
                    }}
                    error={error}
                />
            )}
            <ErrorBox error={error} />
            {isBlocked && <p class="blocked">{t("form.blocked")}</p>}
            <div class="actions">
                <button
                    class="main"
                    type="submit"
                    disabled={isBusy || isBlocked || !providers || !isIdent(edge_id) || !isIdent(route_id)}
                >
                    {isBusy ? t("form.saving") : t("modules.create")}
                </button>
                <a class="button" href={backTo(OAUTH)} onClick={() => discardDraft(DRAFT)}>
                    {t("form.cancel")}
                </a>
            </div>
            {existing && (
                <Conflict
                    resource={`${edge_id}/${route_id}`}
                    members={differences(oauthFormOf(fresh), oauthFormOf(existing), form)}
                    isNew
                    choose={(choice) => {
                        const other = oauthFormOf(existing);
                        open({ theirs: null, yours: form, both: mergeOauth(oauthFormOf(fresh), other, form) }[choice]);
                    }}
                    cancel={stay}
                />
            )}
        </form>
    );
}
