// Control messages that a thread must apply before its next request, although its event loop has not
// come to them.
import { MessageChannel, receiveMessageOnPort } from "node:worker_threads";
import { afterEach, expect, test } from "vitest";
import {
  PendingMessageReceiver,
  createPendingMessageFlag,
  raisePendingMessageFlag,
} from "../../../src/threads/http/pending-message-flag.ts";

const { port1: sender, port2: receiver } = new MessageChannel();
const bell = createPendingMessageFlag();
const taken: number[] = [];
const listener = new PendingMessageReceiver<number>(bell, receiver, (message) =>
  taken.push(message),
);

afterEach(() => {
  taken.length = 0;
});

test("what was posted before the ring is taken at once, in order, each once", async () => {
  sender.postMessage(1);
  sender.postMessage(2);
  raisePendingMessageFlag(bell);
  listener.follow();
  expect(taken).toEqual([1, 2]);
  listener.follow();
  await new Promise((resolve) => setImmediate(resolve));
  expect(taken).toEqual([1, 2]);
});

test("without a ring nothing is looked for, and the event loop brings it", async () => {
  sender.postMessage(3);
  listener.follow();
  expect(taken).toEqual([]);
  await expect.poll(() => taken).toEqual([3]);
  expect(receiveMessageOnPort(receiver)).toBeUndefined();
});

test("each ring is heard", () => {
  for (const message of [4, 5, 6]) {
    sender.postMessage(message);
    raisePendingMessageFlag(bell);
    listener.follow();
    expect(taken.at(-1)).toBe(message);
  }
  sender.close();
});
