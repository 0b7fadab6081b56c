// Deadline of a promise, on a fake clock.
import { afterEach, beforeEach, expect, it, vi } from "vitest";
import { withDeadline } from "../../src/concurrency/deadline.ts";

beforeEach(() => {
  vi.useFakeTimers();
});
afterEach(() => {
  vi.useRealTimers();
});

const never = new Promise<never>(() => undefined);

it("settles as the work does, and leaves no timer", async () => {
  const onLate = vi.fn<() => void>();
  expect(await withDeadline(Promise.resolve(1), 50, onLate)).toBe(1);
  await expect(withDeadline(Promise.reject(new Error("no")), 50, onLate)).rejects.toThrow("no");
  expect(vi.getTimerCount()).toBe(0);
  expect(onLate).not.toHaveBeenCalled();
});

it("settles with what takes its place when it is late", async () => {
  const settled = Promise.allSettled([
    withDeadline(never, 50, () => "late"),
    withDeadline(never, 50, () => {
      throw new Error("too late");
    }),
  ]);
  vi.advanceTimersByTime(49);
  expect(vi.getTimerCount()).toBe(2);
  vi.advanceTimersByTime(1);
  expect(await settled).toEqual([
    { status: "fulfilled", value: "late" },
    { status: "rejected", reason: new Error("too late") },
  ]);
});
