// SPDX-License-Identifier: MIT
// Text that somebody else wrote.  Its direction changes nothing around it, and characters that cannot
// be seen are shown by their numbers: with them, a text can look like another one.
import type { JSX } from "preact";

// Control characters but tab and line end, and those that are invisible or change the direction of the text after them.
const HIDDEN = /([\u0000-\u0008\u000b-\u001f\u007f-\u009f\u00ad\u061c\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff])/u;
// Joins emoji, and letters of some scripts.
const ZERO_WIDTH_JOINERS = "\u200c\u200d";

function codeOf(character: string): string {
    return "U+" + (character.codePointAt(0) ?? 0).toString(16).toUpperCase().padStart(4, "0");
}

export function Value({ text }: { text: string }): JSX.Element {
    const parts = text
        .split(HIDDEN)
        .map((part) =>
            HIDDEN.test(part) && !ZERO_WIDTH_JOINERS.includes(part) ? <span class="hidden-character">{codeOf(part)}</span> : part,
        );
    return <bdi>{parts}</bdi>;
}
