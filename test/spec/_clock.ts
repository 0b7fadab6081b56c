// Fixed time of the suite's world, on every thread of it.

export const NOW_MS = Date.UTC(2026, 10, 20, 12);
export const clock = (): number => NOW_MS;
