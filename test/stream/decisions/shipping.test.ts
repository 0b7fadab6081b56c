// Shipping of a node's decisions: all that is on disk, in order, from where the stream stands, and only while another
// node keeps copies.
import { afterEach, expect, test } from "vitest";
import type { PartPlace } from "../../../src/stream/decisions/parts.ts";
import { DecisionShipper, type WrittenMark } from "../../../src/stream/decisions/shipping.ts";
import { MemoryParts } from "./_memory-parts.ts";

const running: DecisionShipper[] = [];
afterEach(() => Promise.all(running.splice(0).map((each) => each.close())));

/** Segments `a`, `b`... of ten bytes each, read in parts of four. */
function shippingOf(parts: MemoryParts) {
  const told: string[] = [];
  let bytes = 0;
  const read = ({ segment, byte }: PartPlace, mark: WrittenMark) => {
    const at =
      byte < 10 && segment !== ""
        ? segment
        : String.fromCodePoint((segment.codePointAt(0) ?? 96) + 1);
    const from = at === segment ? byte : 0;
    const end = at < mark.name ? 10 : at === mark.name ? mark.bytes : 0;
    const length = Math.min(4, end - from);
    const part = { segment: at, from, bytes: new Uint8Array(Math.max(0, length)) };
    return Promise.resolve(length > 0 ? part : undefined);
  };
  const shipping = new DecisionShipper({
    node: "one",
    parts,
    read,
    shipped: (count) => void (bytes += count),
    log: (event, detail) => told.push(`${event}: ${detail}`),
  });
  running.push(shipping);
  return { shipping, told, shipped: () => bytes };
}

const placesOf = ({ stored }: MemoryParts) =>
  stored.map(({ segment, from, bytes }) => `${segment}${from}-${from + bytes.byteLength}`);

test("nothing is sent while nobody keeps copies, or before it is known what is on disk", async () => {
  const parts = new MemoryParts();
  const { shipping } = shippingOf(parts);
  shipping.mark = { name: "a", bytes: 8 };
  await shipping.shipPending();
  shipping.isWanted = true;
  shipping.mark = undefined;
  await shipping.shipPending();
  expect(parts.stored).toEqual([]);
});

test("all that is on disk is sent in order, once", async () => {
  const parts = new MemoryParts();
  const { shipping, shipped } = shippingOf(parts);
  shipping.isWanted = true;
  shipping.mark = { name: "a", bytes: 6 };
  await shipping.shipPending();
  await shipping.shipPending();
  expect(placesOf(parts)).toEqual(["a0-4", "a4-6"]);
  shipping.mark = { name: "b", bytes: 3 };
  await shipping.shipPending();
  expect(placesOf(parts).slice(2)).toEqual(["a6-10", "b0-3"]);
  expect(shipped()).toBe(13);
});

test("after a start, and after a failure, it goes on where the stream stands", async () => {
  const parts = new MemoryParts();
  const first = shippingOf(parts);
  first.shipping.isWanted = true;
  first.shipping.mark = { name: "a", bytes: 4 };
  await first.shipping.shipPending();
  const { shipping, told } = shippingOf(parts);
  shipping.isWanted = true;
  shipping.mark = { name: "a", bytes: 8 };
  // It stands there, and no answer came.
  parts.isSilent = true;
  await shipping.shipPending();
  parts.isSilent = false;
  parts.isRefusing = true;
  await shipping.shipPending();
  await shipping.shipPending();
  parts.isRefusing = false;
  shipping.mark = { name: "b", bytes: 1 };
  await shipping.shipPending();
  expect(placesOf(parts)).toEqual(["a0-4", "a4-8", "a8-10", "b0-1"]);
  expect(told).toEqual([
    "decisions_not_shipped: no answer",
    "decisions_not_shipped: refused by the test",
  ]);
});

test("a stream that was made anew is given everything again", async () => {
  const parts = new MemoryParts();
  const { shipping } = shippingOf(parts);
  shipping.isWanted = true;
  shipping.mark = { name: "a", bytes: 6 };
  await shipping.shipPending();
  parts.stored.length = 0;
  parts.isRefusing = true;
  shipping.mark = { name: "a", bytes: 7 };
  await shipping.shipPending();
  parts.isRefusing = false;
  await shipping.shipPending();
  expect(placesOf(parts)).toEqual(["a0-4", "a4-7"]);
});

test("a history does not crowd out what is decided: one look sends four MiB", async () => {
  const parts = new MemoryParts();
  const shipping = new DecisionShipper({
    node: "one",
    parts,
    read: ({ byte }) =>
      Promise.resolve({ segment: "a", from: byte, bytes: new Uint8Array(512 * 1024) }),
    shipped: () => undefined,
    log: () => undefined,
  });
  running.push(shipping);
  shipping.isWanted = true;
  shipping.mark = { name: "a", bytes: Number.MAX_SAFE_INTEGER };
  await shipping.shipPending();
  expect(parts.stored).toHaveLength(8);
});
