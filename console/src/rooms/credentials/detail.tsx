// SPDX-License-Identifier: MIT
// One credential: what it is, changing it, and deleting it.
import type { JSX } from "preact";
import { useState } from "preact/hooks";
import { type Answer, call, randomName, path } from "../../api/client";
import { createCredential, isOwnerRefused } from "../../api/create";
import { MAX_BYTES, type SshCredential, TAKEN } from "../../api/types";
import { forgetDraft } from "../../draft";
import { type Checked, checkCredential } from "../../model/credential";
import { hasFault } from "../../model/module";
import { seen, sizeOf } from "../../model/text";
import { type Otherwise, notice } from "../../notice";
import { Conflict } from "../../parts/conflict";
import { type Edit, EditActions, EditHead, Unread, setEdit, useEdit } from "../../parts/edit";
import { ErrorBox } from "../../parts/error";
import { faultOf } from "../../parts/error_words";
import { Field } from "../../parts/field";
import { acceptedBytes, refusal } from "../../parts/finding";
import { HistoryLink } from "../../parts/history_link";
import { ReadOnly } from "../../parts/read_only";
import { Value } from "../../parts/value";
import { backTo, go, link } from "../../router";
import { session } from "../../session";
import { dateTime, t, tn } from "../../text";
import { useSyncedValue } from "../../value";
import { AclEditor } from "./acl_editor";
import { type Form, changesOf, chosen, differences, formOf } from "./form";
import { KeyCell } from "./key_cell";
import { rulesOf } from "./rules";
import { SameKeyWarning, useSameKey } from "./same_key";

function draftOf(id: string): string {
    return "credentials/" + id;
}

// What a POST takes.  Without owner_id, the caller owns it.
function bodyOf(credential: SshCredential, isMine: boolean): Partial<SshCredential> {
    const given = Object.entries(credential).filter(
        ([name]) => TAKEN.SshCredentialCreate.includes(name) && !(isMine && name === "owner_id"),
    );
    return Object.fromEntries(given);
}

function showMade(made: Answer<SshCredential>, typed: Form | null): void {
    setEdit<SshCredential, Form>(draftOf(made.value.id), {
        read: { value: made.value, etag: made.etag ?? "" },
        yours: typed,
        theirs: null,
    });
    notice.set({ text: () => t("credentials.undone") });
    go(link(["credentials", made.value.id]));
}

// The interface gives it a new identifier.  Sent again, the request creates nothing twice.
function undoDelete(gone: SshCredential, typed: Form | null, isMine: boolean): () => Promise<void> {
    const idempotencyKey = randomName();
    return async () => {
        const body = bodyOf(gone, isMine);
        showMade(await call<SshCredential>("POST", "ssh_credentials", { body, idempotencyKey }), typed);
    };
}

function asMine(failed: unknown, owner: string, act: () => Promise<void>): Otherwise | null {
    return isOwnerRefused(failed) ? { why: t("credentials.not_owner", { owner }), label: t("credentials.as_mine"), act } : null;
}

// Nothing is said of what is stored.
function says(text: string, before: string, max: number): string {
    return text === before ? "" : acceptedBytes(sizeOf(text), max);
}

// Browsers copy on HTTPS and localhost only; elsewhere, the person selects the text.
function PublicKey({ text }: { text: string }): JSX.Element {
    const [isCopied, setCopied] = useState(false);
    return (
        <details class="public-key">
            <summary>{t("credentials.show_key")}</summary>
            <pre>
                <code>
                    <Value text={text} />
                </code>
            </pre>
            {isSecureContext && (
                <button
                    type="button"
                    class="copy"
                    onClick={() =>
                        void navigator.clipboard.writeText(text).then(
                            () => setCopied(true),
                            () => setCopied(false),
                        )
                    }
                >
                    {t(isCopied ? "credentials.copied" : "credentials.copy")}
                </button>
            )}
        </details>
    );
}

function Facts({ credential }: { credential: SshCredential }): JSX.Element {
    return (
        <dl class="facts">
            <dt>{t("credentials.key")}</dt>
            <dd class="key">
                <KeyCell text={credential.public_key} />
                <PublicKey text={credential.public_key} />
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

// At once, whatever else is typed.
function Pause({ edit, isEnabled }: { edit: Edit<SshCredential, Form>; isEnabled: boolean }): JSX.Element {
    return (
        <button type="button" class="pause" disabled={edit.isBusy} onClick={() => edit.set({ enabled: !isEnabled })}>
            {t(isEnabled ? "credentials.pause" : "credentials.resume")}
        </button>
    );
}

// nOthers have the same key.
function leave(gone: SshCredential, typed: Form | null, nOthers: number): void {
    const name = seen(gone.description) || gone.id;
    const mine = undoDelete(gone, typed, true);
    notice.set({
        text: () => (nOthers > 0 ? tn("credentials.deleted_same", nOthers, { name }) : t("credentials.deleted", { name })),
        undo: undoDelete(gone, typed, false),
        otherwise: (failed) => asMine(failed, gone.owner_id, mine),
    });
    go(backTo(["credentials"]));
}

export function Detail({ id }: { id: string }): JSX.Element {
    const edit = useEdit<SshCredential, Form>({
        name: draftOf(id),
        titleOf: (stored) => `${t("credentials.one")} ${seen(stored.description) || stored.id}`,
        path: path`ssh_credentials/${id}`,
        method: "PATCH",
        formOf,
        bodyOf: changesOf,
        leave: (gone, typed) => leave(gone, typed, same.others.length),
        createAgain,
    });

    async function createAgain(wanted: Form, gone: SshCredential, isMine = false): Promise<void> {
        const made = await createCredential(bodyOf({ ...gone, ...wanted, acl: rulesOf(wanted.acl) }, isMine));
        forgetDraft(draftOf(id));
        showMade(made, null);
    }
    const same = useSameKey(edit.read?.value.public_key ?? "", id, edit.read);
    const mayWrite = useSyncedValue(session.state).rights?.writes !== "nothing";
    const { read, theirs, error } = edit;
    if (!read) {
        return <Unread title={t("credentials.one")} edit={edit} />;
    }
    const before = formOf(read.value);
    const form = edit.yours ?? before;
    const other = asMine(error, read.value.owner_id, () => createAgain(form, read.value, true));
    // Only what is changed is sent.
    const found = checkCredential(changesOf(form, read.value));
    const faultAt = (member: Checked) => refusal(found[member]) || faultOf(error, member);
    const type = (members: Partial<Form>) => edit.change({ ...form, ...members });
    return (
        <form
            class="edit"
            onSubmit={(event) => {
                event.preventDefault();
                edit.save();
            }}
        >
            <EditHead edit={edit} mayWrite={mayWrite} also={<Pause edit={edit} isEnabled={read.value.enabled} />}>
                {t("credentials.one")} <Value text={seen(before.description) || t("credentials.no_description")} />
            </EditHead>
            {!read.value.enabled && <p class="warning paused">{t("credentials.paused_hint")}</p>}
            <Facts credential={read.value} />
            <SameKeyWarning same={same} isNew={false} />
            <ReadOnly why={mayWrite ? "" : t("form.read_only")}>
                <Field
                    label={t("credentials.description")}
                    hint={t("credentials.description_hint")}
                    fault={faultAt("description")}
                    says={says(form.description, before.description, MAX_BYTES.SshCredential.description)}
                    text={form.description}
                    setText={(description) => type({ description })}
                    class="description"
                />
                <AclEditor
                    text={form.acl}
                    setText={(acl) => type({ acl })}
                    fault={faultAt("acl")}
                    stored={read.value.acl}
                    same={same}
                />
                <Field
                    label={t("credentials.metadata")}
                    hint={t("credentials.metadata_hint")}
                    fault={faultAt("metadata")}
                    says={says(form.metadata, before.metadata, MAX_BYTES.SshCredential.metadata)}
                    rows={2}
                    text={form.metadata}
                    setText={(metadata) => type({ metadata })}
                    class="metadata"
                />
            </ReadOnly>
            {found.body && <p class="fault body">{refusal(found.body)}</p>}
            {other ? (
                <div class="warning" role="alert">
                    <p>{other.why}</p>
                    <button type="button" class="otherwise" disabled={edit.isBusy} onClick={() => edit.attempt(other.act)}>
                        {other.label}
                    </button>
                </div>
            ) : (
                <ErrorBox error={error} again={edit.again} />
            )}
            {mayWrite && <EditActions edit={edit} isBlocked={hasFault(found)} />}
            {theirs && (
                <Conflict
                    resource={id}
                    members={differences(before, formOf(theirs.value), form)}
                    cancel={edit.postpone}
                    choose={(choice) => edit.resolve(chosen(choice, before, formOf(theirs.value), form))}
                />
            )}
        </form>
    );
}
