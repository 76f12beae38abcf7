// SPDX-License-Identifier: MIT
// The rooms, in the navigation's order.  The first one is where the console starts.
import { credentials } from "./credentials";
import type { Room } from "./room";

export const rooms: Room[] = [
    credentials,
];
