// SPDX-License-Identifier: MIT
// The rooms, in the navigation's order.  The first one is where the console starts.
import { credentials } from "./credentials";
import { history } from "./history";
import { modules } from "./modules";
import { overview } from "./overview";
import type { Room } from "./room";

export const rooms: Room[] = [overview, credentials, modules, history];
