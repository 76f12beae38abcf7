// SPDX-License-Identifier: MIT
// Where the views and the resources of this room are.
import { path } from "../../api/client";

export const OAUTH = ["modules", "oauth"];
export const MUTUAL_TLS = ["modules", "mutual_tls"];
export const NEW_OAUTH = ["modules", "new", "oauth"];
export const NEW_MUTUAL_TLS = ["modules", "new", "mutual_tls"];

export function oauthPath(edge: string, route: string): string {
    return path`edges/https/${edge}/routes/${route}/oauth`;
}

export function mutualTlsPath(edge: string): string {
    return path`edges/tls/${edge}/mutual_tls`;
}

// A view's draft has the name of its address.
export function draftOf(view: string[]): string {
    return view.join("/");
}
