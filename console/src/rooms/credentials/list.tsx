// SPDX-License-Identifier: MIT
// The table of credentials, with its filter.
import type { ComponentChildren, JSX } from "preact";
import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import { useList } from "../../api/list";
import type { SshCredential } from "../../api/types";
import { permitsEverything, readRule } from "../../model/acl";
import { BINDS_EVERYTHING, DISABLED } from "../../model/attention";
import { clauseOfDay, dayOf, ownZone } from "../../model/days";
import { quote } from "../../model/filter";
import { seen } from "../../model/text";
import { FilterForm, ListError, Narrow } from "../../parts/filter";
import { type Column, Table } from "../../parts/table";
import { Value } from "../../parts/value";
import { link } from "../../router";
import { session } from "../../session";
import { dateTime, t, tn, useLanguage } from "../../text";
import { useSyncedValue } from "../../value";
import { KeyCell } from "./key_cell";
import { explain, faultText } from "./rules";

const LIST = ["credentials"];

// So many rules are in the text that the mouse shows.
const SHOWN_MAX = 20;

// The rules of one row, each with its meaning and a link to others that have it.
function Rules({ credential, filter, close }: { credential: SshCredential; filter: string; close(): void }): JSX.Element {
    const dialog = useRef<HTMLDialogElement>(null);
    useEffect(() => {
        dialog.current?.showModal();
    }, []);
    return (
        <dialog class="rules-of" ref={dialog} aria-labelledby="rules-of" onClose={close}>
            <h2 id="rules-of">
                {t("credentials.acl")}: <Value text={seen(credential.description) || credential.id} />
            </h2>
            <ul class="rules">
                {credential.acl.map((rule) => {
                    const reading = readRule(rule);
                    return (
                        <li key={rule}>
                            <Narrow list={LIST} filter={filter} clause={`${quote(rule)} in obj.acl`}>
                                <code>
                                    <Value text={rule} />
                                </code>
                            </Narrow>{" "}
                            <Value text={"fault" in reading ? faultText(reading.fault) : explain(reading.target)} />
                        </li>
                    );
                })}
            </ul>
            <div class="actions">
                <button type="button" class="close" onClick={() => dialog.current?.close()}>
                    {t("notice.close")}
                </button>
                <a class="button" href={link(["credentials", credential.id])}>
                    {t("notice.open")}
                </a>
            </div>
        </dialog>
    );
}

function columns(filter: string, showRules: (row: SshCredential) => void): Column<SshCredential>[] {
    const zone = ownZone();
    const narrow = (clause: string, children: ComponentChildren) => (
        <Narrow list={LIST} filter={filter} clause={clause}>
            {children}
        </Narrow>
    );
    return [
        {
            name: "description",
            title: t("credentials.description"),
            cell: (row) => (
                <>
                    <a href={link(["credentials", row.id])}>
                        {seen(row.description) ? <Value text={row.description} /> : t("credentials.no_description")}
                    </a>
                    {!row.enabled && narrow(DISABLED, t("credentials.paused"))}
                </>
            ),
        },
        { name: "key", title: t("credentials.key"), cell: (row) => <KeyCell text={row.public_key} narrow={narrow} /> },
        {
            name: "acl",
            title: t("credentials.acl"),
            cell: (row) =>
                permitsEverything(row.acl) ? (
                    narrow(BINDS_EVERYTHING, t("credentials.no_limit"))
                ) : (
                    <button
                        type="button"
                        class="link"
                        title={row.acl.slice(0, SHOWN_MAX).join("\n")}
                        onClick={() => showRules(row)}
                    >
                        {tn("credentials.rules", row.acl.length)}
                    </button>
                ),
        },
        {
            name: "owner",
            title: t("credentials.owner"),
            cell: (row) => narrow(`obj.owner_id == ${quote(row.owner_id)}`, <code>{row.owner_id}</code>),
        },
        {
            name: "created",
            title: t("credentials.created"),
            cell: (row) =>
                narrow(
                    clauseOfDay("obj.created_at", dayOf(row.created_at, zone), zone),
                    <time dateTime={row.created_at} title={row.created_at}>
                        {dateTime(row.created_at)}
                    </time>,
                ),
        },
    ];
}

export function CredentialList({ filter }: { filter: string }): JSX.Element {
    const query = useMemo(() => (filter ? { filter } : {}) as Record<string, string>, [filter]);
    const list = useList<SshCredential>("ssh_credentials", "ssh_credentials", query);
    const language = useLanguage();
    const [shown, setShown] = useState<SshCredential | null>(null);
    const all = useMemo(() => columns(filter, setShown), [language, filter]);
    // A link in it leads to another list.
    useEffect(() => setShown(null), [filter]);
    const rights = useSyncedValue(session.state).rights;
    return (
        <>
            <div class="title">
                <h1>{t("credentials.title")}</h1>
                {rights?.writes !== "nothing" && (
                    <a class="button main" href={link(["credentials", "new"])}>
                        {t("credentials.new")}
                    </a>
                )}
                <button type="button" onClick={list.reload}>
                    {t("list.reload")}
                </button>
            </div>
            <FilterForm list={LIST} filter={filter} example={t("credentials.filter_example")} error={list.error} />
            <ListError error={list.error} again={list.more} />
            <Table
                name="credentials"
                label={t("credentials.title")}
                columns={all}
                rows={list.rows}
                idOf={(row) => row.id}
                hasMore={list.hasMore && !list.error}
                more={list.more}
                isLoading={list.isLoading}
                loading={t("list.loading")}
                empty={list.error ? "" : filter ? t("credentials.none_match") : t("credentials.none")}
            />
            {shown && <Rules credential={shown} filter={filter} close={() => setShown(null)} />}
        </>
    );
}
