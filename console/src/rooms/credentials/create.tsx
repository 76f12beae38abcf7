// SPDX-License-Identifier: MIT
// Creating a credential from a public key that is pasted, dropped or chosen.
import type { JSX } from "preact";
import { useState } from "preact/hooks";
import { createCredential } from "../../api/create";
import { MAX_BYTES } from "../../api/types";
import { forgetDraft, useDraft, useUnsaved } from "../../draft";
import { type Checked, checkCredential } from "../../model/credential";
import { hasFault } from "../../model/module";
import { looksPrivate } from "../../model/public_key";
import { sizeOf } from "../../model/text";
import { clearNotice, discardDraft, notice } from "../../notice";
import { ErrorBox } from "../../parts/error";
import { afterChange, faultOf } from "../../parts/error_words";
import { Field } from "../../parts/field";
import { acceptedBytes, refusal } from "../../parts/finding";
import { Value } from "../../parts/value";
import { backTo, go, link } from "../../router";
import { session } from "../../session";
import { t } from "../../text";
import { useSyncedValue } from "../../value";
import { AclEditor } from "./acl_editor";
import { readKey } from "./key_cell";
import { useKeyFault } from "./key_fault";
import { rulesOf } from "./rules";
import { SameKeyWarning, useSameKey } from "./same_key";

const DRAFT = "credentials/new";
const FIRST = { public_key: "", description: "", metadata: "", acl: "", owner_id: "", refusedPrivate: false };
// A larger file is no public key.
const FILE_MAX = 65536;

// The comment of a key in one line, such as me@laptop.
function commentOf(key: string): string {
    return /^\S+\s+\S+[ \t]+(\S[^\r\n]*?)\s*$/.exec(key.trim())?.[1] ?? "";
}

function KeyUnread({ text }: { text: string }): JSX.Element {
    const says = useKeyFault(text);
    return <p class="fault key-unread">{says ? <Value text={says} /> : t("credentials.key_unread_hint")}</p>;
}

function KeyFacts({ text }: { text: string }): JSX.Element | null {
    if (text.trim() === "") {
        return null;
    }
    const key = readKey(text);
    if ("fault" in key) {
        return <KeyUnread text={text} />;
    }
    return (
        <dl class="facts">
            <dt>{t("credentials.type")}</dt>
            <dd class="key-type">{key.bits ? t("credentials.bits", { type: key.type, n: key.bits }) : key.type}</dd>
            <dt>{t("credentials.fingerprint")}</dt>
            <dd>
                <code class="fingerprint">{key.fingerprint}</code>
            </dd>
        </dl>
    );
}

export function Create(): JSX.Element {
    const [draft, changeDraft] = useDraft(DRAFT, FIRST);
    const { refusedPrivate: _, ...typed } = draft;
    useUnsaved(DRAFT, Object.values(typed).some(Boolean), t("credentials.new"));
    const [error, setError] = useState<unknown>(null);
    const [isBusy, setBusy] = useState(false);
    const same = useSameKey(draft.public_key, "");
    const { rights } = useSyncedValue(session.state);
    const body = {
        public_key: draft.public_key,
        description: draft.description,
        metadata: draft.metadata,
        acl: rulesOf(draft.acl),
        // Without it, the caller owns the credential.
        ...(draft.owner_id ? { owner_id: draft.owner_id } : {}),
    };
    const found = checkCredential(body);
    const faultAt = (member: Checked) => refusal(found[member]) || faultOf(error, member);

    function change(members: Partial<typeof FIRST>): void {
        changeDraft(members);
        setError((now: unknown) => afterChange(now, Object.keys(members)));
    }

    // A private key gets no further: neither into the draft nor to the server.  Its removal is an empty
    // text, after which the reason stays.
    function takeKey(text: string): void {
        const isPrivate = looksPrivate(text);
        const comment = isPrivate || "fault" in readKey(text) ? "" : commentOf(text);
        change({
            public_key: isPrivate ? "" : text,
            ...(isPrivate || text !== "" ? { refusedPrivate: isPrivate } : {}),
            ...(comment && !draft.description ? { description: comment } : {}),
        });
    }

    async function takeFile(file: File | null | undefined): Promise<void> {
        if (file) {
            takeKey(await file.slice(0, FILE_MAX).text());
        }
    }

    async function save(): Promise<void> {
        setBusy(true);
        setError(null);
        clearNotice();
        try {
            await createCredential(body);
            forgetDraft(DRAFT);
            notice.set({ text: () => t("credentials.created_now") });
            go(link(["credentials"]));
        } catch (failed) {
            setError(failed);
        } finally {
            setBusy(false);
        }
    }

    if (rights?.writes === "nothing") {
        return (
            <div class="edit">
                <h1>{t("credentials.new")}</h1>
                <p class="warning read-only">{t("form.read_only")}</p>
            </div>
        );
    }
    return (
        <form
            class="edit"
            onSubmit={(event) => {
                event.preventDefault();
                void save();
            }}
            onDragOver={(event) => event.preventDefault()}
            onDrop={(event) => {
                event.preventDefault();
                void takeFile(event.dataTransfer?.files[0]);
            }}
        >
            <h1>{t("credentials.new")}</h1>
            <Field
                label={t("credentials.public_key")}
                hint={t("credentials.public_key_hint")}
                fault={draft.refusedPrivate ? t("credentials.private_key") : faultAt("public_key")}
                rows={5}
                text={draft.public_key}
                setText={takeKey}
                class="public-key"
                autofocus
            />
            <label class="button file">
                {t("credentials.choose_file")}
                <input
                    type="file"
                    accept=".pub,.pem,.txt"
                    onChange={(event) => {
                        const input = event.currentTarget;
                        void takeFile(input.files?.[0]).then(() => {
                            input.value = "";
                        });
                    }}
                />
            </label>
            <KeyFacts text={draft.public_key} />
            <SameKeyWarning same={same} isNew />
            <Field
                label={t("credentials.description")}
                hint={t("credentials.description_hint")}
                fault={faultAt("description")}
                says={acceptedBytes(sizeOf(draft.description), MAX_BYTES.SshCredential.description)}
                text={draft.description}
                setText={(description) => change({ description })}
                class="description"
            />
            <AclEditor text={draft.acl} setText={(acl) => change({ acl })} fault={faultAt("acl")} stored={null} same={same} />
            <Field
                label={t("credentials.metadata")}
                hint={t("credentials.metadata_hint")}
                fault={faultAt("metadata")}
                says={acceptedBytes(sizeOf(draft.metadata), MAX_BYTES.SshCredential.metadata)}
                rows={2}
                text={draft.metadata}
                setText={(metadata) => change({ metadata })}
                class="metadata"
            />
            {rights?.isAdmin && (
                <Field
                    label={t("credentials.owner")}
                    hint={t("credentials.owner_hint")}
                    fault={faultAt("owner_id")}
                    text={draft.owner_id}
                    setText={(owner_id) => change({ owner_id })}
                    class="owner"
                />
            )}
            {found.body && <p class="fault body">{refusal(found.body)}</p>}
            <ErrorBox error={error} />
            {hasFault(found) && <p class="blocked">{t("form.blocked")}</p>}
            <div class="actions">
                <button class="main" type="submit" disabled={isBusy || hasFault(found) || "fault" in readKey(draft.public_key)}>
                    {isBusy ? t("form.saving") : t("credentials.save")}
                </button>
                <a class="button" href={backTo(["credentials"])} onClick={() => discardDraft(DRAFT)}>
                    {t("form.cancel")}
                </a>
            </div>
        </form>
    );
}
