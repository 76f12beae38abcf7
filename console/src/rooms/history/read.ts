// SPDX-License-Identifier: MIT
// Reading an event, and the resource as it is now.
import { call, path } from "../../api/client";
import { ApiError } from "../../api/error";
import type { AuditEvent } from "../../api/types";
import type { Resource } from "../../model/difference";
import { kindOf } from "../../model/restore";
import { link } from "../../router";

export interface Present {
    // Null: there is none.
    resource: Resource | null;
    etag: string;
}

// The address of the resource in the interface, or "" if it has none.
export function pathOf(event: AuditEvent): string {
    const id = event.resource?.id ?? "";
    switch (kindOf(event.event)) {
        case "ssh_credential":
            return path`ssh_credentials/${id}`;
        case "oauth_module": {
            const [edge = "", route = ""] = id.split("/");
            return path`edges/https/${edge}/routes/${route}/oauth`;
        }
        case "mutual_tls_module":
            return path`edges/tls/${id}/mutual_tls`;
        default:
            return "";
    }
}

// The address of its view in the console, or null if it has none.
export function viewOf(event: AuditEvent): string | null {
    const id = event.resource?.id ?? "";
    switch (kindOf(event.event)) {
        case "ssh_credential":
            return link(["credentials", id]);
        case "oauth_module":
            return link(["modules", "oauth", ...id.split("/")]);
        case "mutual_tls_module":
            return link(["modules", "mutual_tls", id]);
        default:
            return null;
    }
}

export async function readEvent(id: string): Promise<AuditEvent> {
    return (await call<AuditEvent>("GET", path`audit_events/${id}`)).value;
}

export async function readPresent(event: AuditEvent): Promise<Present> {
    const address = pathOf(event);
    if (!address) {
        return { resource: null, etag: "" };
    }
    try {
        const answer = await call<Resource>("GET", address);
        return { resource: answer.value, etag: answer.etag ?? "" };
    } catch (failed) {
        if (failed instanceof ApiError && failed.status === 404) {
            return { resource: null, etag: "" };
        }
        throw failed;
    }
}
