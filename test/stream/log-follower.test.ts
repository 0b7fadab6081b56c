// Following of a log whose servers have a copy each: one that has lost a message is read no further than where it shows,
// and nothing of it is handed over.
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { MESSAGE_RULES_VERSION } from "../../src/ledger/ordered/message.ts";
import { followLog } from "../../src/stream/log-follower.ts";

interface Stored {
  readonly seq: number;
  readonly name: string;
}

beforeEach(() => {
  vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout", "setInterval", "clearInterval"] });
});
afterEach(() => {
  vi.useRealTimers();
});

/** A server's copy: names in the order of their places. */
const copyOf = (names: string) => Array.from(names, (name, at) => ({ seq: at + 1, name }));

/** Readings of one copy after the other; each ends where its copy does. */
function follow(copies: readonly (readonly Stored[])[], from = 1, last?: string) {
  const taken: string[] = [];
  const told: string[] = [];
  const readings: number[] = [];
  const following = followLog<Stored>({
    from,
    last: last === undefined ? undefined : { origin: last, n: 1 },
    source: async (place) => {
      const copy = copies[Math.min(readings.push(place), copies.length) - 1]!;
      return {
        messages: (async function* () {
          for (const message of copy) if (message.seq >= place) yield message;
        })(),
        lastSeq: async () => copy.length,
        close: async () => undefined,
      };
    },
    read: ({ seq, name }) => {
      const frames = new Uint8Array(0);
      const origin = name === "-" ? "" : name;
      return { seq, origin, n: 1, count: 0, rules: MESSAGE_RULES_VERSION, timeMs: 0, frames };
    },
    take: ({ seq, origin }) => void taken.push(`${seq}${origin}`),
    log: (event) => told.push(event),
  });
  return { taken, told, readings, stop: following.stop };
}

test("a reading goes on behind the message that was read last, which it begins with", async () => {
  const { taken, told, readings, stop } = follow([copyOf("abc"), copyOf("abcde")]);
  await vi.advanceTimersByTimeAsync(500);
  stop();
  expect(taken).toEqual(["1a", "2b", "3c", "4d", "5e"]);
  expect(readings.slice(0, 2)).toEqual([1, 3]);
  expect(told).toEqual([]);
});

test("a copy that has lost a message is left, and nothing of it is handed over", async () => {
  const whole = copyOf("abcdef");
  const shifted = copyOf("acdef");
  const { taken, told, stop } = follow([copyOf("abc"), shifted, shifted, whole]);
  await vi.advanceTimersByTimeAsync(2000);
  stop();
  expect(taken).toEqual(["1a", "2b", "3c", "4d", "5e", "6f"]);
  expect(told).toEqual(["stream_copy_differs"]);
});

test("a start behind a journal begins with the message that this has", async () => {
  const { taken, told, stop } = follow([copyOf("acdef"), copyOf("abcdef")], 3, "c");
  await vi.advanceTimersByTimeAsync(500);
  stop();
  expect(taken).toEqual(["3c", "4d", "5e", "6f"]);
  expect(told).toEqual(["stream_copy_differs"]);
});

test("what no server has is handed over in the end: the ledger knows what it has applied", async () => {
  const { taken, readings, stop } = follow([copyOf("xyz")], 3, "c");
  await vi.advanceTimersByTimeAsync(8000);
  expect(taken).toEqual([]);
  await vi.advanceTimersByTimeAsync(8000);
  stop();
  expect(readings.length).toBeGreaterThanOrEqual(8);
  expect(taken[0]).toBe("3z");
});

test("a message that no node has sent says nothing of a copy", async () => {
  const { taken, told, stop } = follow([copyOf("a-"), copyOf("a?c")]);
  await vi.advanceTimersByTimeAsync(500);
  stop();
  expect(taken).toEqual(["1a", "2", "3c"]);
  expect(told).toEqual([]);
});
