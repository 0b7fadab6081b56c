// Messages for an ordered log whose frames are text, and a reader that keeps what it was given.
import { expect } from "vitest";
import type { OrderedMessage, OutgoingMessage } from "../../src/ledger/ordered/message.ts";
import type { OrderedLog } from "../../src/stream/ordered-log.ts";

export function messageOf(n: number, text = `message ${n}`, origin = "one:1"): OutgoingMessage {
  return { origin, n, count: 1, frames: Buffer.from(text) };
}

export function textOf({ frames }: OrderedMessage): string {
  return Buffer.from(frames).toString();
}

/** Follows and keeps, until stopped. */
export function reader(log: OrderedLog, from = 1) {
  const taken: OrderedMessage[] = [];
  const following = log.follow(from, (message) => void taken.push(message));
  return {
    taken,
    stop: () => following.stop(),
    /** In order and without a hole, up to that place. */
    upTo: async (seq: number) => {
      await expect.poll(() => taken.at(-1)?.seq ?? 0).toBeGreaterThanOrEqual(seq);
      const places = taken.map((each) => each.seq);
      expect(places).toEqual(places.map((_, index) => from + index));
      return taken.slice(0, seq - from + 1);
    },
  };
}

/** All of a message, to be compared. */
export function plain(message: OrderedMessage) {
  return { ...message, frames: textOf(message) };
}
