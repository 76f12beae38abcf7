// SPDX-License-Identifier: MIT
// The scale of a chart.

// Returns the number at the top of it: an even one, such as 2, 4, 10, 20 or 50, whose half is whole.
export function topOfScale(most: number): number {
    for (let power = 1; ; power *= 10) {
        const found = [2, 4, 6, 10].map((step) => step * power).find((top) => top >= most);
        if (found !== undefined) {
            return found;
        }
    }
}
