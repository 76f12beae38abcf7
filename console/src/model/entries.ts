// SPDX-License-Identifier: MIT
// A list of texts in a field: an entry a line.  An entry that a line cannot hold as it is, such as one
// with a line end, stands there as a JSON string.

function unquote(line: string): string | null {
    if (!line.startsWith('"')) {
        return null;
    }
    try {
        return JSON.parse(line) as string;
    } catch {
        return null;
    }
}

export function readEntries(text: string): string[] {
    return text
        .split("\n")
        .map((line) => line.trim())
        .filter(Boolean)
        .map((line) => unquote(line) ?? line);
}

function writeEntry(entry: string): string {
    const isPlain = entry !== "" && entry === entry.trim() && !/[\u0000-\u001f]/.test(entry) && unquote(entry) === null;
    return isPlain ? entry : JSON.stringify(entry);
}

export function writeEntries(entries: string[]): string {
    return entries.map(writeEntry).join("\n");
}
