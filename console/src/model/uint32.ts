// SPDX-License-Identifier: MIT
// Numbers as the interface takes them: any JSON number that is whole and in range, such as 8.64E+4.

const MAX = 4294967295;

// Returns null for anything else.
export function readUint32(text: string): number | null {
    const found = /^(-?)(0|[1-9]\d*)(?:\.(\d+))?(?:[eE]([+-]?\d+))?$/.exec(text);
    if (!found) {
        return null;
    }
    const [, sign, whole = "", part = "", exponent = "0"] = found;
    const digits = (whole + part).replace(/^0+/, "");
    const kept = digits.replace(/0+$/, "");
    const zeros = Number(exponent) - part.length + digits.length - kept.length;
    if (kept === "") {
        return 0;
    }
    if (sign || zeros < 0 || kept.length + zeros > String(MAX).length) {
        return null;
    }
    const value = Number(kept) * 10 ** zeros;
    return value <= MAX ? value : null;
}
