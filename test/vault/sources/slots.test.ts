// A reader beside a move of slots: a writer that was put to sleep inside one is waited for, and a miss
// counts only once it has ended.
import { once } from "node:events";
import { Worker } from "node:worker_threads";
import { expect, test } from "vitest";
import {
  isLookupConclusive,
  MOVE_COUNT_AT,
  readMoveCount,
} from "../../../src/vault/sources/slots.ts";

const READER = new URL("./_moves-thread.ts", import.meta.url);

function headerWith(moves: number): Uint32Array {
  const header = new Uint32Array(new SharedArrayBuffer(16));
  header[MOVE_COUNT_AT] = moves;
  return header;
}

test("a reader waits for the end of a move whose writer sleeps", async () => {
  const header = headerWith(7);
  const worker = new Worker(READER, { workerData: { header } });
  await once(worker, "message");
  const answer = once(worker, "message");
  // Far longer than any reader looks without a pause.
  await new Promise((resolve) => setTimeout(resolve, 200));
  Atomics.add(header, MOVE_COUNT_AT, 1);
  const [settled] = (await answer) as [number];
  await worker.terminate();
  expect(settled).toBe(8);
});

test("a miss counts when nothing has moved since it began", () => {
  const header = headerWith(8);
  expect(isLookupConclusive(header, readMoveCount(header), 0)).toBe(true);
  expect(isLookupConclusive(header, 6, 0)).toBe(false);
  expect(isLookupConclusive(headerWith(7), 7, 0)).toBe(false);
  // A writer that is gone for good must not hold up a reader for ever.
  expect(isLookupConclusive(headerWith(7), 7, 1 << 16)).toBe(true);
});
