// Order of batches of standings: what was computed without knowing of a batch before it does not hold, and a service
// that is alone drops nothing.
import fc from "fast-check";
import { expect, test } from "vitest";
import {
  FRAME_HEAD_BYTES,
  FRAME_KINDS,
  writeFrameHead,
  sealFrame,
} from "../../src/journal/format.ts";
import {
  encodeStandings,
  RULES_BEFORE_STANDINGS,
  StandingsOrder,
} from "../../src/journal/standings.ts";

/** One record at a position, of a batch computed from another. */
function frameOf(lsn: number, computedFrom: number): Buffer {
  const batch = { isInForce: true, stakesHigh: 1, agents: [], computedFrom };
  const [payload] = encodeStandings(batch, RULES_BEFORE_STANDINGS);
  const frame = Buffer.alloc(FRAME_HEAD_BYTES + payload!.byteLength);
  writeFrameHead(frame, 0, FRAME_KINDS.standings, payload!.byteLength);
  payload!.copy(frame, FRAME_HEAD_BYTES);
  sealFrame(frame, 0, lsn, 0);
  return frame;
}

/** Positions of those that hold. */
function holding(records: readonly (readonly [lsn: number, from: number])[]): number[] {
  const order = new StandingsOrder();
  return records.flatMap(([lsn, from]) =>
    order.decodeIfInOrder(frameOf(lsn, from), 0) === undefined ? [] : [lsn],
  );
}

test("the first of two batches that do not know of each other holds, and none of the other", () => {
  const crossed = [
    [121, 100],
    [122, 120],
    [123, 100],
    [124, 120],
    [130, 100],
  ] as const;
  expect(holding(crossed)).toEqual([121, 123, 130]);
  // A batch that has read all of the first one holds after it.
  expect(holding([...crossed, [140, 129], [141, 130], [142, 131]])).toEqual([121, 123, 130, 141]);
});

test("every batch of a service that is alone holds", () => {
  const batch = fc.record({ parts: fc.integer({ min: 1, max: 4 }), between: fc.nat(5) });
  fc.assert(
    fc.property(fc.array(batch, { maxLength: 20 }), (batches) => {
      const records: [number, number][] = [];
      let lsn = 0;
      for (const { parts, between } of batches) {
        const from = lsn;
        for (let part = 0; part < parts; part++) records.push([(lsn += 1 + between), from]);
      }
      expect(holding(records)).toEqual(records.map(([at]) => at));
    }),
  );
});
