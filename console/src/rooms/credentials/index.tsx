// SPDX-License-Identifier: MIT
// SSH credentials.
import type { Room } from "../room";
import { Create } from "./create";
import { CredentialList } from "./list";

export const credentials: Room = {
    name: "credentials",
    title: "credentials.title",
    View: ({ route }) =>
        route.parts[1] === "new" ? <Create /> : <CredentialList filter={route.query["filter"] ?? ""} />,
};
