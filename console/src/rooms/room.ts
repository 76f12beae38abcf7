// SPDX-License-Identifier: MIT
// What a room is.
import type { JSX } from "preact";
import type { Route } from "../router";
import type { Key } from "../text";

export interface Room {
    // The first part of its addresses: #/NAME.
    name: string;
    // Its name in the navigation.
    title: Key;
    // Draws the view of the address.  route.parts[0] is the room's name.
    View(properties: { route: Route }): JSX.Element;
}
