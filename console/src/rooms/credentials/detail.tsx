// SPDX-License-Identifier: MIT
// One credential: what it is, changing it, and deleting it.
import type { JSX } from "preact";
import { call, randomName, path } from "../../api/client";
import type { Credential } from "../../api/types";
import { notice } from "../../notice";
import { Conflict } from "../../parts/conflict";
import { EditActions, EditHead, Unread, setEdit, useEdit } from "../../parts/edit";
import { ErrorBox, faultOf } from "../../parts/error";
import { Field } from "../../parts/field";
import { HistoryLink } from "../../parts/history_link";
import { Value } from "../../parts/value";
import { go, link } from "../../router";
import { session } from "../../session";
import { dateTime, t, tn } from "../../text";
import { useSyncedValue } from "../../value";
import { AclEditor } from "./acl_editor";
import { type Form, changesOf, chosen, differences, formOf } from "./form";
import { KeyCell } from "./key_cell";
import { SameKeyWarning, useSameKey } from "./same_key";

function draftOf(id: string): string {
    return "credentials/" + id;
}

// The interface gives it a new identifier.  Sent again, the request creates nothing twice.
function undoDelete(gone: Credential, typed: Form | null): () => Promise<void> {
    const idempotencyKey = randomName();
    return async () => {
        const { public_key, description, metadata, acl, owner_id } = gone;
        const body = { public_key, description, metadata, acl, owner_id };
        const made = await call<Credential>("POST", "ssh_credentials", { body, idempotencyKey });
        setEdit<Credential, Form>(draftOf(made.value.id), {
            read: { value: made.value, etag: made.etag ?? "" },
            yours: typed,
            theirs: null,
        });
        notice.set({ text: () => t("credentials.undone") });
        go(link(["credentials", made.value.id]));
    };
}

function Facts({ credential }: { credential: Credential }): JSX.Element {
    return (
        <dl class="facts">
            <dt>{t("credentials.key")}</dt>
            <dd class="key">
                <KeyCell text={credential.public_key} />
            </dd>
            <dt>{t("credentials.owner")}</dt>
            <dd>
                <code>{credential.owner_id}</code>
            </dd>
            <dt>{t("credentials.created")}</dt>
            <dd>
                <time dateTime={credential.created_at}>{dateTime(credential.created_at)}</time>
            </dd>
            <dt>{t("credentials.id")}</dt>
            <dd>
                <code>{credential.id}</code> <HistoryLink resource={credential.id} />
            </dd>
        </dl>
    );
}

// nOthers have the same key.
function leave(gone: Credential, typed: Form | null, nOthers: number): void {
    const name = gone.description || gone.id;
    notice.set({
        text: () => (nOthers > 0 ? tn("credentials.deleted_same", nOthers, { name }) : t("credentials.deleted", { name })),
        undo: undoDelete(gone, typed),
    });
    go(link(["credentials"]));
}

export function Detail({ id }: { id: string }): JSX.Element {
    const edit = useEdit<Credential, Form>({
        name: draftOf(id),
        titleOf: (stored) => `${t("credentials.one")} ${stored.description || stored.id}`,
        path: path`ssh_credentials/${id}`,
        method: "PATCH",
        formOf,
        bodyOf: changesOf,
        leave: (gone, typed) => leave(gone, typed, same.others.length),
    });
    const same = useSameKey(edit.read?.value.public_key ?? "", id, edit.read);
    const mayWrite = useSyncedValue(session.state).rights?.writes !== "nothing";
    const { read, theirs, error } = edit;
    if (!read) {
        return <Unread title={t("credentials.one")} edit={edit} />;
    }
    const before = formOf(read.value);
    const form = edit.yours ?? before;
    const type = (members: Partial<Form>) => edit.change({ ...form, ...members });
    return (
        <form
            class="edit"
            onSubmit={(event) => {
                event.preventDefault();
                edit.save();
            }}
        >
            <EditHead edit={edit} mayWrite={mayWrite}>
                {t("credentials.one")} <Value text={before.description || t("credentials.no_description")} />
            </EditHead>
            <Facts credential={read.value} />
            <SameKeyWarning same={same} isNew={false} />
            <Field
                label={t("credentials.description")}
                hint={t("credentials.description_hint")}
                fault={faultOf(error, "description")}
                text={form.description}
                setText={(description) => type({ description })}
                class="description"
            />
            <AclEditor
                text={form.acl}
                setText={(acl) => type({ acl })}
                fault={faultOf(error, "acl")}
                stored={read.value.acl}
                same={same}
            />
            <Field
                label={t("credentials.metadata")}
                hint={t("credentials.metadata_hint")}
                fault={faultOf(error, "metadata")}
                rows={2}
                text={form.metadata}
                setText={(metadata) => type({ metadata })}
                class="metadata"
            />
            <ErrorBox error={error} again={edit.again} />
            {mayWrite && <EditActions edit={edit} />}
            {theirs && (
                <Conflict
                    members={differences(formOf(theirs.value), form)}
                    choose={(choice) => edit.resolve(chosen(choice, before, formOf(theirs.value), form))}
                />
            )}
        </form>
    );
}
