// SPDX-License-Identifier: MIT
// One credential: what it is, changing it, and deleting it.
import type { JSX } from "preact";
import { useEffect, useState } from "preact/hooks";
import { ApiError, call, randomName, path } from "../../api/client";
import type { Credential } from "../../api/types";
import { forgetDraft, useDraft } from "../../draft";
import { clearNotice, notice } from "../../notice";
import { ErrorBox, faultOf } from "../../parts/error";
import { Field } from "../../parts/field";
import { go, link } from "../../router";
import { session } from "../../session";
import { dateTime, t } from "../../text";
import { useSyncedValue } from "../../value";
import { AclEditor } from "./acl_editor";
import { Conflict, type Form } from "./conflict";
import { KeyCell } from "./key_cell";
import { rulesOf } from "./rules";

// What was read, and the tag that it had.
interface Read {
    credential: Credential;
    etag: string;
}

// yours is null as long as nothing was typed.  theirs is what somebody else stored meanwhile.
interface Draft {
    read: Read | null;
    yours: Form | null;
    theirs: Read | null;
}

const FIRST: Draft = { read: null, yours: null, theirs: null };

function formOf(credential: Credential): Form {
    return { description: credential.description, metadata: credential.metadata, acl: credential.acl.join("\n") };
}

async function readCredential(id: string): Promise<Read> {
    const answer = await call<Credential>("GET", path`ssh_credentials/${id}`);
    return { credential: answer.value, etag: answer.etag ?? "" };
}

// The members that differ from what was read.
function changesOf(before: Form, yours: Form): Partial<Credential> {
    return {
        ...(yours.description !== before.description ? { description: yours.description } : {}),
        ...(yours.metadata !== before.metadata ? { metadata: yours.metadata } : {}),
        ...(yours.acl !== before.acl ? { acl: rulesOf(yours.acl) } : {}),
    };
}

// The interface gives it a new identifier.  Sent again, the request creates nothing twice.
function undoDelete(gone: Credential): () => Promise<void> {
    const idempotencyKey = randomName();
    return async () => {
        const { public_key, description, metadata, acl, owner_id } = gone;
        const body = { public_key, description, metadata, acl, owner_id };
        const made = await call<Credential>("POST", "ssh_credentials", { body, idempotencyKey });
        notice.set({ text: t("credentials.undone") });
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
                <code>{credential.id}</code>
            </dd>
        </dl>
    );
}

export function Detail({ id }: { id: string }): JSX.Element {
    const name = "credentials/" + id;
    const [draft, change] = useDraft(name, FIRST);
    const [error, setError] = useState<unknown>(null);
    const [isBusy, setBusy] = useState(false);
    const { rights, keyNumber } = useSyncedValue(session.state);
    const { read, yours, theirs } = draft;

    async function attempt(work: () => Promise<void>): Promise<void> {
        setBusy(true);
        setError(null);
        try {
            await work();
        } catch (failed) {
            setError(failed);
        } finally {
            setBusy(false);
        }
    }

    const load = () =>
        attempt(async () => {
            change({ read: await readCredential(id) });
        });

    // What is typed belongs to what was read before it, so that is not read again.
    useEffect(() => {
        if (!yours) {
            void load();
        }
    }, [id, keyNumber]);

    if (!read) {
        return (
            <>
                <h1>{t("credentials.one")}</h1>
                {isBusy && <p role="status">{t("credentials.loading")}</p>}
                <ErrorBox error={error} again={() => void load()} />
            </>
        );
    }
    const before = formOf(read.credential);
    const form = yours ?? before;
    const edit = (members: Partial<Form>) => change({ yours: { ...form, ...members } });

    async function save(from: Read, wanted: Form): Promise<void> {
        const body = changesOf(formOf(from.credential), wanted);
        try {
            const answer = await call<Credential>("PATCH", path`ssh_credentials/${id}`, { body, ifMatch: from.etag });
            forgetDraft(name);
            change({ read: { credential: answer.value, etag: answer.etag ?? "" }, yours: null, theirs: null });
            notice.set({ text: t("credentials.saved") });
        } catch (failed) {
            if (!(failed instanceof ApiError) || failed.status !== 412) {
                throw failed;
            }
            change({ theirs: await readCredential(id) });
        }
    }

    async function remove(from: Read): Promise<void> {
        try {
            await call("DELETE", path`ssh_credentials/${id}`, { ifMatch: from.etag });
        } catch (failed) {
            // It is shown as it is now, and the person decides again.
            if (failed instanceof ApiError && failed.status === 412) {
                change({ read: await readCredential(id) });
            }
            throw failed;
        }
        forgetDraft(name);
        notice.set({
            text: t("credentials.deleted", { name: from.credential.description || id }),
            undo: undoDelete(from.credential),
        });
        go(link(["credentials"]));
    }

    return (
        <form
            class="edit"
            onSubmit={(event) => {
                event.preventDefault();
                clearNotice();
                void attempt(() => save(read, form));
            }}
        >
            <h1>{t("credentials.one")}</h1>
            <Facts credential={read.credential} />
            <Field
                label={t("credentials.description")}
                hint={t("credentials.description_hint")}
                fault={faultOf(error, "description")}
                text={form.description}
                setText={(description) => edit({ description })}
                class="description"
            />
            <AclEditor text={form.acl} setText={(acl) => edit({ acl })} fault={faultOf(error, "acl")} />
            <Field
                label={t("credentials.metadata")}
                hint={t("credentials.metadata_hint")}
                fault={faultOf(error, "metadata")}
                rows={2}
                text={form.metadata}
                setText={(metadata) => edit({ metadata })}
                class="metadata"
            />
            <ErrorBox error={error} />
            {rights?.writes !== "nothing" && (
                <div class="actions">
                    <button class="main" type="submit" disabled={isBusy || !yours}>
                        {isBusy ? t("credentials.saving") : t("credentials.save_changes")}
                    </button>
                    {yours && (
                        <button type="button" class="discard" onClick={() => change({ yours: null })}>
                            {t("credentials.discard")}
                        </button>
                    )}
                    <button
                        type="button"
                        class="delete"
                        disabled={isBusy}
                        onClick={() => void attempt(() => remove(read))}
                    >
                        {t("credentials.delete")}
                    </button>
                </div>
            )}
            {theirs && (
                <Conflict
                    before={before}
                    theirs={formOf(theirs.credential)}
                    yours={form}
                    choose={(chosen) => change({ read: theirs, yours: chosen, theirs: null })}
                />
            )}
        </form>
    );
}
