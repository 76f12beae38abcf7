// SPDX-License-Identifier: MIT
// One change: who made it, what it changed, and the ways back.
import type { JSX } from "preact";
import { useEffect, useState } from "preact/hooks";
import { useKeyNames } from "../../api/key_names";
import type { AuditEvent } from "../../api/types";
import { ErrorBox } from "../../parts/error";
import { Value } from "../../parts/value";
import { link } from "../../router";
import { session } from "../../session";
import { exactTime, t } from "../../text";
import { useSyncedValue } from "../../value";
import { Difference } from "./difference";
import { Narrow } from "./filter";
import { readEvent, readPresent, viewOf } from "./read";
import { eventText, HISTORY, SECRET, makerOf, subjectOf } from "./words";

// Null: it is not known yet, or the interface does not show it.
function useExists(event: AuditEvent): boolean | null {
    const [exists, setExists] = useState<boolean | null>(null);
    useEffect(() => {
        if (viewOf(event)) {
            // What cannot be read for another reason is there.
            readPresent(event).then(
                ({ resource }) => setExists(resource !== null),
                () => setExists(true),
            );
        }
    }, [event]);
    return exists;
}

function Resource({ event }: { event: AuditEvent }): JSX.Element | null {
    const exists = useExists(event);
    if (!event.resource) {
        return null;
    }
    const { id } = event.resource;
    return (
        <>
            <dt>{t("history.resource")}</dt>
            <dd class="resource">
                <Value text={subjectOf(event)} /> <code>{id}</code>{" "}
                <Narrow filter="" member="obj.resource.id" value={id}>
                    {t("history.all_changes")}
                </Narrow>{" "}
                {exists && (
                    <a class="open" href={viewOf(event) ?? ""}>
                        {t("history.open")}
                    </a>
                )}
                {exists === false && <span class="gone">{t("history.gone")}</span>}
            </dd>
        </>
    );
}

function Fact(given: { title: string; member: string; value: string | null; name?: string }): JSX.Element | null {
    if (!given.value) {
        return null;
    }
    return (
        <>
            <dt>{given.title}</dt>
            <dd>
                <Narrow filter="" member={given.member} value={given.value}>
                    <Value text={given.value} />
                </Narrow>{" "}
                {given.name && <Value text={given.name} />}
            </dd>
        </>
    );
}

export function Facts({ event }: { event: AuditEvent }): JSX.Element {
    const { nameOf } = useKeyNames();
    return (
        <dl class="facts">
            <dt>{t("history.when")}</dt>
            <dd>
                <time dateTime={event.created_at}>{exactTime(event.created_at)}</time>
            </dd>
            <Resource event={event} />
            <Fact title={t("history.principal")} member="obj.principal.id" value={event.principal?.id ?? null} />
            <Fact title={t("history.run_by")} member="obj.operator" value={event.operator} />
            {!event.principal && !event.operator && (
                <>
                    <dt>{t("history.who")}</dt>
                    <dd>{makerOf(event)}</dd>
                </>
            )}
            <Fact title={t("history.key")} member="obj.api_key_id" value={event.api_key_id} name={nameOf(event.api_key_id)} />
            <Fact title={t("history.operation")} member="obj.operation_id" value={event.operation_id} />
            <Fact title={t("history.role")} member="obj.database_user" value={event.database_user} />
            <Fact title={t("history.address")} member="obj.client_address" value={event.client_address} />
            <dt>{t("history.event")}</dt>
            <dd>
                <code>{event.id}</code>
            </dd>
        </dl>
    );
}

function Changes({ event }: { event: AuditEvent }): JSX.Element {
    const [hasSame, setSame] = useState(false);
    if (!event.before && !event.after) {
        return <p class="nothing-seen">{t("history.nothing_seen")}</p>;
    }
    return (
        <>
            <h2>{t("history.changes")}</h2>
            <Difference
                label={t("history.changes")}
                titles={[t("history.before"), t("history.after")]}
                before={event.before}
                after={event.after}
                hasSame={hasSame}
                hidden={event.changed.includes(SECRET) ? [SECRET] : []}
            />
            {event.before && event.after && (
                <label class="tick">
                    <input type="checkbox" checked={hasSame} onChange={(tick) => setSame(tick.currentTarget.checked)} />
                    {t("history.show_same")}
                </label>
            )}
            <div class="actions">
                <a class="button restore-before" href={link([...HISTORY, event.id, "before"])}>
                    {t("history.restore_before")}
                </a>
                <a class="button restore-after" href={link([...HISTORY, event.id, "after"])}>
                    {t("history.restore_after")}
                </a>
            </div>
        </>
    );
}

export function EventView({ id }: { id: string }): JSX.Element {
    const [event, setEvent] = useState<AuditEvent | null>(null);
    const [error, setError] = useState<unknown>(null);
    const { keyNumber } = useSyncedValue(session.state);

    function load(): void {
        setError(null);
        readEvent(id).then(setEvent, setError);
    }

    useEffect(load, [id, keyNumber]);

    return (
        <div class="change">
            <h1>{event ? <Value text={eventText(event.event)} /> : t("history.one")}</h1>
            <ErrorBox error={error} again={load} />
            {!event && !error && <p role="status">{t("history.loading")}</p>}
            {event && <Facts event={event} />}
            {event && <Changes event={event} />}
        </div>
    );
}
