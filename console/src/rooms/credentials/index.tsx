// SPDX-License-Identifier: MIT
// SSH credentials.
import type { Room } from "../room";
import { Create } from "./create";
import { Detail } from "./detail";
import { CredentialList } from "./list";

export const credentials: Room = {
    name: "credentials",
    title: "credentials.title",
    View: ({ route }) =>
        route.parts[1] === "new" ? (
            <Create />
        ) : route.parts[1] !== undefined ? (
            <Detail key={route.parts[1]} id={route.parts[1]} />
        ) : (
            <CredentialList filter={route.query["filter"] ?? ""} />
        ),
};
