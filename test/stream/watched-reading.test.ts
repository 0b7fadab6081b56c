// A reading that gives nothing while the log has more is ended, and only then.
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { readUntilStalled } from "../../src/stream/watched-reading.ts";

beforeEach(() => {
  vi.useFakeTimers();
});
afterEach(() => {
  vi.useRealTimers();
});

/** A source whose messages are given by hand. */
function sourceOf(last: () => Promise<number>) {
  const waiting: ((result: IteratorResult<{ seq: number }>) => void)[] = [];
  const seen = { closed: 0, asked: 0 };
  const give = (seq: number) => waiting.shift()!({ done: false, value: { seq } });
  const source = {
    messages: {
      [Symbol.asyncIterator]: () => ({
        next: () =>
          new Promise<IteratorResult<{ seq: number }>>((resolve) => void waiting.push(resolve)),
        return: () => Promise.resolve({ done: true as const, value: undefined }),
      }),
    },
    lastSeq: () => {
      seen.asked++;
      return last();
    },
    close: () => {
      seen.closed++;
      waiting.shift()?.({ done: true, value: undefined });
      return Promise.resolve();
    },
  };
  return { source, seen, give };
}

test("a silent consumer of a log that has more is ended", async () => {
  const { source, seen, give } = sourceOf(() => Promise.resolve(2));
  const reading = readUntilStalled(source, 0, () => Promise.resolve(true));
  await vi.advanceTimersByTimeAsync(100);
  give(1);
  await vi.advanceTimersByTimeAsync(2000);
  expect(seen).toEqual({ closed: 0, asked: 0 });
  await vi.advanceTimersByTimeAsync(3000);
  await reading;
  expect(seen.closed).toBe(1);
});

test("one whose servers do not say what there is, too", async () => {
  const { source, seen } = sourceOf(() => Promise.reject(new Error("no answer")));
  const reading = readUntilStalled(source, 7, () => Promise.resolve(true));
  await vi.advanceTimersByTimeAsync(5000);
  await reading;
  expect(seen.closed).toBe(1);
});

test("a log in which nothing happens is left alone", async () => {
  const { source, seen } = sourceOf(() => Promise.resolve(7));
  void readUntilStalled(source, 7, () => Promise.resolve(true));
  await vi.advanceTimersByTimeAsync(3_600_000);
  expect(seen.closed).toBe(0);
  expect(seen.asked).toBeGreaterThan(100);
});

test("a message that takes long to be taken is no silence", async () => {
  const { source, seen, give } = sourceOf(() => Promise.resolve(9));
  let isTaken = () => {};
  void readUntilStalled(source, 0, async () => {
    await new Promise<void>((resolve) => {
      isTaken = resolve;
    });
    return true;
  });
  give(1);
  await vi.advanceTimersByTimeAsync(60_000);
  expect(seen).toEqual({ closed: 0, asked: 0 });
  isTaken();
  await vi.advanceTimersByTimeAsync(5000);
  expect(seen.closed).toBe(1);
});

test("a message that is missing ends the reading, and so does one that is not taken", async () => {
  const missing = sourceOf(() => Promise.resolve(9));
  const reading = readUntilStalled(missing.source, 0, ({ seq }) => Promise.resolve(seq < 3));
  missing.give(1);
  await vi.advanceTimersByTimeAsync(1);
  missing.give(3);
  await reading;
  const refused = sourceOf(() => Promise.resolve(9));
  const failing = readUntilStalled(refused.source, 0, () => Promise.reject(new Error("no room")));
  refused.give(1);
  await expect(failing).rejects.toThrow("no room");
  expect(vi.getTimerCount()).toBe(0);
});
