// Waiting for a position of the journal: reached, late, too many, ended.
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { ServiceFault } from "../../src/contract/faults.ts";
import { PositionWaiters } from "../../src/store/waiting.ts";

beforeEach(() => vi.useFakeTimers());
afterEach(() => vi.useRealTimers());

test("those go who waited for no more than was reached", async () => {
  const waiting = new PositionWaiters();
  const gone: number[] = [];
  for (const position of [5, 6, 7]) {
    void waiting.waitFor(position, undefined, () => 0).then(() => gone.push(position));
  }
  waiting.resolveUpTo(6);
  await vi.advanceTimersByTimeAsync(60_000);
  expect(gone).toEqual([5, 6]);
  waiting.resolveUpTo(7);
  await vi.advanceTimersByTimeAsync(0);
  expect(gone).toEqual([5, 6, 7]);
});

test("a wait has an end, and says how far the rows are", async () => {
  const waiting = new PositionWaiters();
  const late = waiting.waitFor(9, 5000, () => 3).catch((fault: unknown) => fault);
  await vi.advanceTimersByTimeAsync(4999);
  waiting.resolveUpTo(8);
  await vi.advanceTimersByTimeAsync(1);
  expect(await late).toMatchObject({
    code: "store_behind",
    detail: "position 9 is not in the rows yet, they are at 3",
  });
  expect(vi.getTimerCount()).toBe(0);
});

test("their number has a bound; an end sends all away and leaves no timer", async () => {
  const waiting = new PositionWaiters();
  const refused: unknown[] = [];
  for (let n = 0; n < 10_001; n++) {
    waiting.waitFor(1, 5000, () => 0).catch((fault: ServiceFault) => refused.push(fault.code));
  }
  await vi.advanceTimersByTimeAsync(0);
  expect(refused).toEqual(["overloaded"]);
  waiting.rejectAll(new ServiceFault("store_unavailable", "over"));
  await vi.advanceTimersByTimeAsync(0);
  expect(refused).toHaveLength(10_001);
  expect(refused.at(-1)).toBe("store_unavailable");
  expect(vi.getTimerCount()).toBe(0);
});
