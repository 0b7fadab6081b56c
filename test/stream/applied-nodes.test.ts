// Spread of a place of the log: a node counts once it has applied everything that the one who asks knows of, and one that
// does not get there in time, or says something else, does not.
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { StreamMetrics } from "../../src/stream/metrics.ts";
import {
  type NodePolling,
  AppliedNodeCounter,
  COUNT_TIMEOUT_MS,
} from "../../src/stream/applied-nodes.ts";

beforeEach(() => {
  vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
});
afterEach(() => {
  vi.useRealTimers();
});

/** Everybody hears every question, the one who asks too. */
class Room {
  readonly #all: ((question: string) => Promise<string | undefined>)[] = [];

  readonly polling: NodePolling = {
    collectReplies: async (question, countMax, ms) => {
      const replies: string[] = [];
      const isEnough = Promise.withResolvers<void>();
      const hear = async (reply: (question: string) => Promise<string | undefined>) => {
        const text = await reply(question);
        if (text !== undefined && replies.push(text) >= countMax) isEnough.resolve();
      };
      for (const reply of this.#all) void hear(reply);
      await Promise.race([isEnough.promise, new Promise((resolve) => setTimeout(resolve, ms))]);
      return [...replies];
    },
    serveReplies: (reply) => void this.#all.push(reply),
  };
}

function nodesIn(room: Room) {
  return ["one", "two", "three"].map((name) => {
    const figures = new StreamMetrics();
    return { figures, spread: new AppliedNodeCounter(room.polling, figures, name) };
  });
}

const ALL = ["one", "three", "two"];

test("tells of those that have it, at once when all have", async () => {
  const nodes = nodesIn(new Room());
  for (const { figures } of nodes) figures.applied = 7;
  nodes[0]!.figures.known = 7;
  const counted = nodes[0]!.spread.askNodes(ALL);
  await vi.advanceTimersByTimeAsync(1);
  expect(await counted).toEqual({ applied: ALL, missing: [], isWhole: true });
});

test("waits for one that is late, and not for one that is later than that", async () => {
  const nodes = nodesIn(new Room());
  nodes[0]!.figures.known = 8;
  nodes[0]!.figures.applied = 8;
  nodes[1]!.figures.applied = 7;
  nodes[2]!.figures.applied = 2;
  const counted = nodes[0]!.spread.askNodes(ALL);
  await vi.advanceTimersByTimeAsync(COUNT_TIMEOUT_MS / 2);
  nodes[1]!.figures.applied = 8;
  await vi.advanceTimersByTimeAsync(COUNT_TIMEOUT_MS);
  nodes[2]!.figures.applied = 8;
  expect(await counted).toEqual({ applied: ["one", "two"], missing: ["three"], isWhole: true });
});

test("names nobody twice, and who lives and says nothing, and answers nothing that is no place", async () => {
  const room = new Room();
  const [one] = nodesIn(room);
  one!.figures.known = 0;
  room.polling.serveReplies(() => Promise.resolve("two"));
  const counted = one!.spread.askNodes([...ALL, "silent"]);
  await vi.advanceTimersByTimeAsync(COUNT_TIMEOUT_MS);
  expect(await counted).toEqual({ applied: ALL, missing: ["silent"], isWhole: true });
  const asked = room.polling.collectReplies("nonsense", 9, 10);
  await vi.advanceTimersByTimeAsync(10);
  expect(await asked).toEqual(["two"]);
});

test("waits for the whole time where the register of nodes cannot be read", async () => {
  const nodes = nodesIn(new Room());
  for (const { figures } of nodes) figures.applied = 7;
  nodes[0]!.figures.known = 7;
  let counted: unknown;
  void nodes[0]!.spread.askNodes(["one"], false).then((found) => (counted = found));
  await vi.advanceTimersByTimeAsync(COUNT_TIMEOUT_MS - 1);
  expect(counted).toBeUndefined();
  await vi.advanceTimersByTimeAsync(1);
  expect(counted).toEqual({ applied: ALL, missing: [], isWhole: false });
});
