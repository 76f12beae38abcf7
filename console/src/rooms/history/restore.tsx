// SPDX-License-Identifier: MIT
// Restoring an earlier state with the interface's own operations.  The person first sees what will
// change, what cannot, and the operator's command for that.
import type { JSX } from "preact";
import { useEffect, useState } from "preact/hooks";
import { call } from "../../api/client";
import { ApiError } from "../../api/error";
import { createCredential } from "../../api/create";
import type { AuditEvent } from "../../api/types";
import { forgetDraft, useDraft, useUnsaved } from "../../draft";
import { type Resource, compare } from "../../model/difference";
import { type Hindrance, type Plan, type Side, commandFor, kindOf, planRestore, withSecret } from "../../model/restore";
import { clearNotice, discardDraft, notice } from "../../notice";
import { ErrorBox } from "../../parts/error";
import { afterChange, faultOf } from "../../parts/error_words";
import { Field } from "../../parts/field";
import { Value } from "../../parts/value";
import { go, link } from "../../router";
import { session } from "../../session";
import { exactTime, type Key, t } from "../../text";
import { useSyncedValue } from "../../value";
import { Difference } from "./difference";
import { type Present, pathOf, readEvent, readPresent, viewOf } from "./read";
import { eventText, HISTORY, memberText, subjectOf } from "./words";

const FIRST = { secret: "", isOwn: false };

const HINDRANCES: Record<Hindrance, Key> = {
    kind: "history.hindered_kind",
    api_key: "history.hindered_api_key",
    unseen: "history.nothing_seen",
    same: "history.hindered_same",
};

const BUTTONS: Record<Plan["method"], Key> = {
    POST: "history.create_again",
    PATCH: "history.restore",
    PUT: "history.restore",
    DELETE: "history.delete",
};

// Returns the identifier of a credential that was created, or "".
async function write(event: AuditEvent, plan: Plan, present: Present, body: Resource | null): Promise<string> {
    if (plan.method === "POST") {
        return (await createCredential(body ?? {})).value.id;
    }
    const condition = present.resource ? { ifMatch: present.etag } : { ifNoneMatch: "*" };
    await call(plan.method, pathOf(event), { ...(body ? { body } : {}), ...condition });
    return "";
}

function Operator({ event, side, why }: { event: AuditEvent; side: Side; why: string }): JSX.Element {
    const command = commandFor(event, side);
    return (
        <div class="hindered">
            <p>{why}</p>
            {command && (
                <p>
                    {t("history.operator_runs")} <code class="command">{command}</code>
                </p>
            )}
        </div>
    );
}

function Limits({ event, side, plan }: { event: AuditEvent; side: Side; plan: Plan }): JSX.Element | null {
    if (plan.method === "POST") {
        return <Operator event={event} side={side} why={t("history.new_identifier")} />;
    }
    if (plan.fixed.length > 0) {
        const members = plan.fixed.map(memberText).join(", ");
        return <Operator event={event} side={side} why={t("history.fixed", { members })} />;
    }
    return null;
}

// What the interface does not restore.
function instead(plan: Plan, isOwn: boolean): Record<string, string> {
    if (plan.method === "POST") {
        return {
            id: t("history.new_id"),
            created_at: t("history.new_time"),
            ...(isOwn ? { owner_id: t("history.owner_own") } : {}),
        };
    }
    return Object.fromEntries(plan.fixed.map((name) => [name, t("history.stays")]));
}

interface FormProperties {
    event: AuditEvent;
    side: Side;
    present: Present;
    plan: Plan;
    readAgain(): Promise<void>;
}

function RestoreForm({ event, side, present, plan, readAgain }: FormProperties): JSX.Element {
    const name = `history/${event.id}/${side}`;
    const [draft, changeDraft] = useDraft(name, FIRST);
    useUnsaved(name, draft.secret !== "" || draft.isOwn, t("history.restore"));
    const [error, setError] = useState<unknown>(null);
    const [isBusy, setBusy] = useState(false);
    const [isChanged, setChanged] = useState(false);
    const { rights } = useSyncedValue(session.state);
    const wanted = event[side];
    const isChange = compare(present.resource, wanted).some((member) => !member.isSame) || !present.resource || !wanted;
    const canWrite = plan.method !== "PATCH" || Object.keys(plan.body ?? {}).length > 0;
    const isReady = plan.secret === "needed" ? draft.secret !== "" : isChange || draft.secret !== "";

    function change(members: Partial<typeof FIRST>): void {
        changeDraft(members);
        setError(afterChange(error, ["secret" in members ? "client_secret" : "owner_id"]));
    }

    function bodyToSend(): Resource | null {
        const body = withSecret(plan, draft.secret, present.resource);
        if (!draft.isOwn || !body) {
            return body;
        }
        // Without owner_id, the caller owns it.
        const { owner_id: _, ...others } = body;
        return others;
    }

    async function save(): Promise<void> {
        setBusy(true);
        setError(null);
        setChanged(false);
        clearNotice();
        try {
            const made = await write(event, plan, present, bodyToSend());
            forgetDraft(name);
            const open = made ? null : wanted && viewOf(event);
            const done = made ? "history.created_again" : wanted ? "history.restored" : "history.deleted";
            notice.set({ text: () => t(done), ...(open ? { open } : {}) });
            go(made ? link(["credentials", made]) : link(HISTORY, { resource: event.resource?.id ?? "" }));
        } catch (failed) {
            // It is shown as it is now, and the person decides again.
            if (failed instanceof ApiError && [404, 412].includes(failed.status)) {
                await readAgain();
                setChanged(true);
            } else {
                setError(failed);
            }
        } finally {
            setBusy(false);
        }
    }

    return (
        <form
            class="restore"
            onSubmit={(submitted) => {
                submitted.preventDefault();
                void save();
            }}
        >
            <p>{isChange ? t("history.will_change") : t("history.only_secret")}</p>
            {isChange && (
                <Difference
                    label={t("history.will_change")}
                    titles={[t("history.now"), t("history.restored_state")]}
                    before={present.resource}
                    after={wanted}
                    hasSame={false}
                    hidden={[]}
                    instead={instead(plan, draft.isOwn)}
                />
            )}
            <Limits event={event} side={side} plan={plan} />
            {plan.secret !== "none" && (
                <Field
                    label={t("history.member_client_secret")}
                    hint={t(plan.secret === "needed" ? "history.secret_needed" : "history.secret_keepable")}
                    fault={faultOf(error, "provider")}
                    type="password"
                    text={draft.secret}
                    setText={(secret) => change({ secret })}
                    class="secret"
                />
            )}
            {plan.method === "POST" && (
                <label class="tick own">
                    <input
                        type="checkbox"
                        checked={draft.isOwn}
                        onChange={(tick) => change({ isOwn: tick.currentTarget.checked })}
                    />
                    {t("history.own", { owner: String(wanted?.["owner_id"] ?? "") })}
                </label>
            )}
            <ErrorBox error={error} />
            {isChanged && (
                <p class="warning meanwhile" role="alert">
                    {t("history.meanwhile")}
                </p>
            )}
            {rights?.writes === "nothing" && <p class="warning">{t("history.reads_only")}</p>}
            <div class="actions">
                {rights?.writes !== "nothing" && canWrite && (
                    <button class="main" type="submit" disabled={isBusy || !isReady}>
                        {isBusy ? t("history.writing") : t(BUTTONS[plan.method])}
                    </button>
                )}
                <a class="button" href={link([...HISTORY, event.id])} onClick={() => discardDraft(name)}>
                    {t("history.cancel")}
                </a>
            </div>
        </form>
    );
}

export function Restore({ id, side }: { id: string; side: Side }): JSX.Element {
    const [read, setRead] = useState<{ event: AuditEvent; present: Present } | null>(null);
    const [error, setError] = useState<unknown>(null);
    const { keyNumber } = useSyncedValue(session.state);

    async function load(): Promise<void> {
        setError(null);
        try {
            const event = await readEvent(id);
            setRead({ event, present: await readPresent(event) });
        } catch (failed) {
            setError(failed);
        }
    }

    useEffect(() => void load(), [id, side, keyNumber]);

    const plan = read && planRestore(kindOf(read.event.event), read.event[side], read.present.resource);
    return (
        <div class="change">
            <h1>{t(side === "before" ? "history.restore_before" : "history.restore_after")}</h1>
            <ErrorBox error={error} again={() => void load()} />
            {!read && !error && <p role="status">{t("history.loading")}</p>}
            {read && (
                <p class="from">
                    {t("history.from", {
                        event: eventText(read.event.event),
                        time: exactTime(read.event.created_at),
                    })}{" "}
                    <Value text={subjectOf(read.event)} /> <code>{read.event.resource?.id}</code>
                </p>
            )}
            {read && typeof plan === "string" && (
                <>
                    {plan === "same" ? (
                        <p class="same-now">{t(HINDRANCES[plan])}</p>
                    ) : (
                        <Operator event={read.event} side={side} why={t(HINDRANCES[plan])} />
                    )}
                    <div class="actions">
                        {plan === "same" && read.present.resource && (
                            <a class="button open" href={viewOf(read.event) ?? ""}>
                                {t("history.open")}
                            </a>
                        )}
                        <a class="button" href={link([...HISTORY, id])}>
                            {t("history.back")}
                        </a>
                    </div>
                </>
            )}
            {read && plan && typeof plan !== "string" && (
                <RestoreForm event={read.event} side={side} present={read.present} plan={plan} readAgain={load} />
            )}
        </div>
    );
}
