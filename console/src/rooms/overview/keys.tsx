// SPDX-License-Identifier: MIT
// API keys that expire soon.  The interface lists no keys, but the events of each key hold its state.
import type { JSX } from "preact";
import { useState } from "preact/hooks";
import { useFold } from "../../api/fold";
import type { AuditEvent } from "../../api/types";
import { type Keys, addKeys, expiringKeys } from "../../model/record";
import { seen } from "../../model/text";
import { Value } from "../../parts/value";
import { link } from "../../router";
import { dateTime, t } from "../../text";
import { useFault } from "./faults";

const DAYS = 30;
const PAGES = 5;
const NO_KEYS: Keys = new Map();

export function ExpiringKeys(): JSX.Element {
    const [now] = useState(Date.now);
    const found = useFold<AuditEvent, Keys>({
        path: "audit_events",
        member: "audit_events",
        filter: 'obj.event.startsWith("api_key_")',
        first: NO_KEYS,
        fold: addKeys,
        pages: PAGES,
    });
    const keys = expiringKeys(found.state, now, DAYS);
    useFault("keys", found.error, found.more);
    return (
        <section class="keys" aria-labelledby="keys">
            <h2 id="keys">{t("overview.keys", { n: DAYS })}</h2>
            <p class="small">{t("overview.keys_about")}</p>
            <ul>
                {keys.map((key) => (
                    <li key={key.id}>
                        <a href={link(["history"], { resource: key.id })}>
                            {seen(key.description) ? <Value text={key.description} /> : <code>{key.id}</code>}
                        </a>{" "}
                        <time dateTime={key.expiresAt}>{t("overview.expires", { time: dateTime(key.expiresAt) })}</time>{" "}
                        <span class="small">{t("overview.holder", { id: key.holder })}</span>
                    </li>
                ))}
            </ul>
            {keys.length === 0 && (
                <p role="status">
                    {found.isWhole ? t("overview.no_keys", { n: DAYS }) : found.isLoading ? t("overview.reading") : ""}
                </p>
            )}
            {!found.isWhole && !found.isLoading && !found.error && (
                <button type="button" class="read-on" onClick={found.more}>
                    {t("overview.read_on")}
                </button>
            )}
        </section>
    );
}
