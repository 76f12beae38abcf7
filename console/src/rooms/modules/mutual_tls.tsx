// SPDX-License-Identifier: MIT
// One mutual TLS module: creating, changing and deleting it.
import type { JSX } from "preact";
import type { MutualTlsModule } from "../../api/types";
import { useDraft } from "../../draft";
import { readEntries } from "../../model/entries";
import { isIdent } from "../../model/ident";
import { ENTRIES_MAX, hasFault } from "../../model/module";
import {
    FRESH_MUTUAL_TLS,
    type MutualTlsForm,
    checkMutualTls,
    mergeMutualTls,
    mutualTlsBodyOf,
    mutualTlsFormOf,
} from "../../model/mutual_tls_module";
import { discardDraft, notice } from "../../notice";
import { Tick } from "../../parts/choice";
import { Conflict, type Difference } from "../../parts/conflict";
import { EditActions, EditHead, Unread, useEdit } from "../../parts/edit";
import { ErrorBox } from "../../parts/error";
import { faultOf } from "../../parts/error_words";
import { Field } from "../../parts/field";
import { acceptedEntries, refusal } from "../../parts/finding";
import { ReadOnly } from "../../parts/read_only";
import { backTo, go, useViewTitle } from "../../router";
import { number, t } from "../../text";
import { MUTUAL_TLS, NEW_MUTUAL_TLS, draftOf, mutualTlsPath } from "./address";
import { type Draft, create, useCreation } from "./create";
import { EdgeField, Place, useMayWrite } from "./frame";
import { MutualTlsPassing } from "./passage";
import { onOff } from "./words";

const DRAFT = draftOf(NEW_MUTUAL_TLS);
const FIRST: Draft<MutualTlsForm> = { edge_id: "", route_id: "", form: mutualTlsFormOf(FRESH_MUTUAL_TLS) };

// What create() needs besides.
const WAYS = { bodyOf: mutualTlsBodyOf, formOf: mutualTlsFormOf };

function leave(edge: string, gone: MutualTlsModule, typed: MutualTlsForm | null): void {
    const undo = () =>
        create({
            ...WAYS,
            path: mutualTlsPath(edge),
            view: [...MUTUAL_TLS, edge],
            form: mutualTlsFormOf(gone),
            source: gone,
            typed,
            fresh: FRESH_MUTUAL_TLS,
            done: "modules.undone",
        });
    notice.set({ text: () => t("mutual_tls.deleted", { name: edge }), undo });
    go(backTo(MUTUAL_TLS));
}

function differences(before: MutualTlsForm, theirs: MutualTlsForm, yours: MutualTlsForm): Difference[] {
    return [
        {
            name: "enabled",
            title: t("modules.enabled"),
            before: onOff(before.enabled),
            theirs: onOff(theirs.enabled),
            yours: onOff(yours.enabled),
        },
        {
            name: "certificate_authority_ids",
            title: t("mutual_tls.authorities"),
            before: before.certificate_authority_ids,
            theirs: theirs.certificate_authority_ids,
            yours: yours.certificate_authority_ids,
        },
    ];
}

function MutualTlsFields(given: {
    form: MutualTlsForm;
    change(members: Partial<MutualTlsForm>): void;
    error: unknown;
}): JSX.Element {
    const { form, change } = given;
    const found = checkMutualTls(form);
    const n = readEntries(form.certificate_authority_ids).length;
    return (
        <fieldset>
            <legend>{t("modules.passes")}</legend>
            <p role="status">
                <MutualTlsPassing isEnabled={form.enabled} n={n} />
            </p>
            <Tick
                label={t("modules.enabled")}
                member="enabled"
                hint={t("mutual_tls.enabled_hint")}
                isOn={form.enabled}
                set={(enabled) => change({ enabled })}
                class="enabled"
            />
            <Field
                label={t("mutual_tls.authorities")}
                member="certificate_authority_ids"
                hint={t("mutual_tls.authorities_hint", { max: number(ENTRIES_MAX) })}
                fault={refusal(found.certificate_authority_ids) || faultOf(given.error, "certificate_authority_ids")}
                says={acceptedEntries(n)}
                rows={6}
                text={form.certificate_authority_ids}
                setText={(text) => change({ certificate_authority_ids: text })}
                class="certificate_authority_ids"
            />
            {found.body && <p class="fault body">{refusal(found.body)}</p>}
        </fieldset>
    );
}

export function EditMutualTls({ edge }: { edge: string }): JSX.Element {
    const mayWrite = useMayWrite();
    const edit = useEdit<MutualTlsModule, MutualTlsForm>({
        ...WAYS,
        name: draftOf([...MUTUAL_TLS, edge]),
        titleOf: () => `${t("mutual_tls.one")} ${edge}`,
        path: mutualTlsPath(edge),
        method: "PUT",
        leave: (gone, typed) => leave(edge, gone, typed),
    });
    const title = t("mutual_tls.of", { edge });
    useViewTitle(title);
    const { read, theirs } = edit;
    if (!read) {
        return <Unread title={title} edit={edit} />;
    }
    const before = mutualTlsFormOf(read.value);
    const form = edit.yours ?? before;
    return (
        <form
            class="edit"
            onSubmit={(event) => {
                event.preventDefault();
                edit.save();
            }}
        >
            <EditHead edit={edit} mayWrite={mayWrite} hint={t("mutual_tls.delete_hint")}>
                {title}
            </EditHead>
            <Place edge={edge} />
            <ReadOnly why={mayWrite ? "" : t("modules.read_only")}>
                <MutualTlsFields form={form} change={(members) => edit.change({ ...form, ...members })} error={edit.error} />
            </ReadOnly>
            <ErrorBox error={edit.error} again={edit.again} />
            {mayWrite && <EditActions edit={edit} isBlocked={hasFault(checkMutualTls(form))} />}
            {theirs && (
                <Conflict
                    resource={edge}
                    members={differences(before, mutualTlsFormOf(theirs.value), form)}
                    isNew={edit.isNew ?? false}
                    cancel={edit.postpone}
                    choose={(choice) => {
                        const other = mutualTlsFormOf(theirs.value);
                        edit.resolve({ theirs: other, yours: form, both: mergeMutualTls(before, other, form) }[choice]);
                    }}
                />
            )}
        </form>
    );
}

export function CreateMutualTls(): JSX.Element {
    const mayWrite = useMayWrite();
    const [draft, change] = useDraft<Draft<MutualTlsForm>>(DRAFT, FIRST);
    const {
        error,
        isBusy,
        create: make,
        changed,
        existing,
        open,
        stay,
    } = useCreation<MutualTlsModule, MutualTlsForm>(DRAFT, draft !== FIRST, t("mutual_tls.new"));
    const { edge_id, form } = draft;
    const isBlocked = hasFault(checkMutualTls(form));
    const place = (members: Partial<typeof FIRST>) => {
        change(members);
        changed(Object.keys(members));
    };
    if (!mayWrite) {
        return (
            <div class="edit">
                <h1>{t("mutual_tls.new")}</h1>
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
                    path: mutualTlsPath(edge_id),
                    view: [...MUTUAL_TLS, edge_id],
                    form,
                    source: FRESH_MUTUAL_TLS,
                    fresh: FRESH_MUTUAL_TLS,
                    done: "modules.created",
                });
            }}
        >
            <h1>{t("mutual_tls.new")}</h1>
            <EdgeField text={edge_id} setText={(text) => place({ edge_id: text })} autofocus />
            <MutualTlsFields
                form={form}
                change={(members) => {
                    change((now) => ({ form: { ...now.form, ...members } }));
                    changed(Object.keys(members));
                }}
                error={error}
            />
            <ErrorBox error={error} />
            {isBlocked && <p class="blocked">{t("form.blocked")}</p>}
            <div class="actions">
                <button class="main" type="submit" disabled={isBusy || isBlocked || !isIdent(edge_id)}>
                    {isBusy ? t("form.saving") : t("modules.create")}
                </button>
                <a class="button" href={backTo(MUTUAL_TLS)} onClick={() => discardDraft(DRAFT)}>
                    {t("form.cancel")}
                </a>
            </div>
            {existing && (
                <Conflict
                    resource={edge_id}
                    members={differences(mutualTlsFormOf(FRESH_MUTUAL_TLS), mutualTlsFormOf(existing), form)}
                    isNew
                    choose={(choice) => {
                        const other = mutualTlsFormOf(existing);
                        open(
                            { theirs: null, yours: form, both: mergeMutualTls(mutualTlsFormOf(FRESH_MUTUAL_TLS), other, form) }[
                                choice
                            ],
                        );
                    }}
                    cancel={stay}
                />
            )}
        </form>
    );
}
