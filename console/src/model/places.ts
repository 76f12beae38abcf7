// SPDX-License-Identifier: MIT
// Where things of different heights are that stand below each other.

// Returns the beginning of each, and the end of all.
export function placesOf(heights: number[]): number[] {
    const places = [0];
    for (const height of heights) {
        places.push((places.at(-1) ?? 0) + height);
    }
    return places;
}

// Returns the number of the one at that place, or of the first or last one.
export function firstBelow(places: number[], at: number): number {
    let [low, high] = [0, places.length - 1];
    while (high - low > 1) {
        const middle = (low + high) >> 1;
        if ((places[middle] ?? 0) <= at) {
            low = middle;
        } else {
            high = middle;
        }
    }
    return low;
}
