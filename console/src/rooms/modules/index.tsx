// SPDX-License-Identifier: MIT
// Routes and edges: the OAuth modules of routes, and the mutual TLS modules of TLS edges.
import type { JSX } from "preact";
import { t } from "../../text";
import type { Room } from "../room";
import { CreateMutualTls, EditMutualTls } from "./mutual_tls";
import { MutualTlsList } from "./mutual_tls_list";
import { CreateOauth, EditOauth } from "./oauth";
import { OauthList } from "./oauth_list";

// #/modules/new/KIND, and #/modules/KIND with the identifiers of a module or without.
function view(parts: string[], filter: string): JSX.Element {
    const [, kind = "oauth", id, route] = parts;
    const name = parts.join("/");
    switch ([kind === "new" ? `new/${id}` : kind, parts.length].join(" ")) {
        case "oauth 1":
        case "oauth 2":
            return <OauthList filter={filter} />;
        case "oauth 4":
            return <EditOauth key={name} edge={id ?? ""} route={route ?? ""} />;
        case "new/oauth 3":
            return <CreateOauth />;
        case "mutual_tls 2":
            return <MutualTlsList filter={filter} />;
        case "mutual_tls 3":
            return <EditMutualTls key={name} edge={id ?? ""} />;
        case "new/mutual_tls 3":
            return <CreateMutualTls />;
        default:
            return <h1>{t("main.nothing_here")}</h1>;
    }
}

export const modules: Room = {
    name: "modules",
    title: "modules.title",
    View: ({ route }) => view(route.parts, route.query["filter"] ?? ""),
};
