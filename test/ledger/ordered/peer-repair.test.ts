// Damaged segments mended from other nodes: whatever was damaged, the journal is afterwards what it was, or
// nothing has changed.
import { readdirSync, readFileSync, rmSync, truncateSync, writeFileSync } from "node:fs";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { formatSegmentName } from "../../../src/journal/format.ts";
import { diskFileLayer } from "../../../src/platform/files.ts";
import type { BureauKey } from "../../../src/journal/signing-key.ts";
import { verifyJournal } from "../../../src/journal/verify.ts";
import { LedgerCore } from "../../../src/ledger/core.ts";
import {
  repairFromPeers,
  type PeerRepairOptions,
  PeerRepairRefused,
  type SegmentPeer,
} from "../../../src/ledger/ordered/peer-repair.ts";
import type { OrderedMessage } from "../../../src/ledger/ordered/message.ts";
import { GUARD_ENTRIES, newKey, NOW_MS, temporaryDirectory } from "../_fixtures.ts";
import { copyOf, messagesOf } from "./_messages.ts";

const MESSAGES = messagesOf(5, 90);
const KEY = newKey();

function journalOf(messages: readonly OrderedMessage[], key: BureauKey): Map<string, Buffer> {
  const directory = `${temporaryDirectory()}/journal`;
  const core = new LedgerCore({
    files: diskFileLayer,
    directory,
    key,
    epoch: 1,
    ordered: { generation: 1, origin: "test:1" },
    nowMs: NOW_MS,
    fold: () => 0,
    replayEntriesMax: GUARD_ENTRIES,
    segmentBytesMax: 20_000,
  });
  core.applyMessages(copyOf(messages));
  core.close();
  return filesIn(directory, () => true);
}

function filesIn(directory: string, isWanted: (name: string) => boolean): Map<string, Buffer> {
  const names = readdirSync(directory).filter(isWanted).toSorted();
  return new Map(names.map((name) => [name, readFileSync(`${directory}/${name}`)]));
}

const isSegment = (name: string) => name.startsWith("seg-");
const SOURCE = journalOf(MESSAGES, KEY);
const SEGMENTS = [...SOURCE.keys()].filter(isSegment);
const LSN = verifyJournal(diskFileLayer, copied()).lsn;

function copied(from: ReadonlyMap<string, Buffer> = SOURCE): string {
  const directory = temporaryDirectory();
  for (const [name, bytes] of from) writeFileSync(`${directory}/${name}`, bytes);
  return directory;
}

function peerWith(files: ReadonlyMap<string, Buffer>, name = "peer"): SegmentPeer {
  return {
    name,
    has: (segment) => Promise.resolve(files.has(segment)),
    fetch: (segment) => {
      const found = files.get(segment);
      return found === undefined ? Promise.reject(new Error("none")) : Promise.resolve(found);
    },
  };
}

const mend = (directory: string, changes: Partial<PeerRepairOptions> = {}) =>
  repairFromPeers({
    files: diskFileLayer,
    directory,
    publicKey: KEY.publicKey,
    peers: [peerWith(SOURCE)],
    known: { lsn: LSN, knownBy: "the test" },
    ...changes,
  });

function expectWhole(directory: string): void {
  expect(filesIn(directory, isSegment)).toEqual(filesIn(copied(), isSegment));
  const { damage, lsn } = verifyJournal(diskFileLayer, directory);
  expect([damage, lsn]).toEqual([undefined, LSN]);
}

function flip(directory: string, name: string, at: number, mask = 4): void {
  const bytes = readFileSync(`${directory}/${name}`);
  bytes[at % bytes.byteLength]! ^= mask;
  writeFileSync(`${directory}/${name}`, bytes);
}

describe("a journal with several segments", () => {
  test("that is whole stays as it is", async () => {
    const directory = copied();
    expect(SEGMENTS.length).toBeGreaterThan(3);
    const report = await mend(directory, { peers: [] });
    expect(report).toEqual({ segments: SEGMENTS.length, lsn: LSN, mended: [] });
    expect(filesIn(directory, () => true)).toEqual(SOURCE);
    const live = await mend(directory, { peers: [], known: undefined });
    expect(live.segments).toBe(SEGMENTS.length - 1);
  });

  test("is what it was, whichever bits flipped, and keeps the damaged files", async () => {
    const damage = fc.record({ segment: fc.nat(SEGMENTS.length - 1), at: fc.nat(25_000) });
    await fc.assert(
      fc.asyncProperty(fc.array(damage, { minLength: 1, maxLength: 3 }), async (damages) => {
        const directory = copied();
        for (const { segment, at } of damages) flip(directory, SEGMENTS[segment]!, at);
        const before = filesIn(directory, isSegment);
        const { mended } = await mend(directory);
        expectWhole(directory);
        for (const { segment, kept } of mended) {
          expect(readFileSync(`${directory}/${kept!}`)).toEqual(before.get(segment));
        }
        const changed = SEGMENTS.filter((name) => !before.get(name)!.equals(SOURCE.get(name)!));
        expect(mended.map(({ segment }) => segment)).toEqual(changed);
      }),
      { numRuns: 40 },
    );
  });

  test("has back what is missing, or was cut, at its end as well", async () => {
    const cases: ((directory: string) => void)[] = [
      (directory) => rmSync(`${directory}/${SEGMENTS[0]!}`),
      (directory) => rmSync(`${directory}/${SEGMENTS.at(-1)!}`),
      (directory) => {
        for (const name of SEGMENTS.slice(1, 3)) rmSync(`${directory}/${name}`);
      },
      (directory) => {
        for (const name of SEGMENTS.slice(-2)) rmSync(`${directory}/${name}`);
        rmSync(`${directory}/newest`);
      },
      (directory) => truncateSync(`${directory}/${SEGMENTS[1]!}`, 9000),
      (directory) => truncateSync(`${directory}/${SEGMENTS.at(-1)!}`, 1000),
      (directory) => truncateSync(`${directory}/${SEGMENTS[2]!}`, 0),
    ];
    for (const damage of cases) {
      const directory = copied();
      damage(directory);
      const { mended } = await mend(directory);
      expect(mended.length).toBeGreaterThan(0);
      expectWhole(directory);
      // Nothing is left to do, also without any node.
      expect((await mend(directory, { peers: [] })).mended).toEqual([]);
    }
  });

  test("is left alone at its end while a service writes there", async () => {
    const directory = copied();
    const newest = SEGMENTS.at(-1)!;
    flip(directory, newest, 500);
    flip(directory, SEGMENTS[1]!, 500);
    const damaged = readFileSync(`${directory}/${newest}`);
    const { mended } = await mend(directory, { known: undefined });
    expect(mended.map(({ segment }) => segment)).toEqual([SEGMENTS[1]]);
    expect(readFileSync(`${directory}/${newest}`)).toEqual(damaged);
  });
});

describe("a node that gives something else", () => {
  const later = MESSAGES.map((message) => ({ ...message, timeMs: message.timeMs + 1 }));
  const without = new Map([...SOURCE].filter(([name]) => name !== SEGMENTS[1]));
  const bad: readonly (readonly [string, ReadonlyMap<string, Buffer>])[] = [
    [
      "its own damage",
      (() => {
        const bytes = Buffer.from(SOURCE.get(SEGMENTS[1]!)!);
        bytes[bytes.byteLength >> 1]! ^= 1;
        return new Map([...SOURCE, [SEGMENTS[1]!, bytes]]);
      })(),
    ],
    ["nothing", without],
    ["less than all of it", new Map([...without, [SEGMENTS[1]!, firstBatches(SEGMENTS[1]!)]])],
    ["another segment", new Map([...SOURCE, [SEGMENTS[1]!, SOURCE.get(SEGMENTS[2]!)!]])],
    ["a stranger's journal", journalOf(MESSAGES, newKey())],
    ["another history", journalOf(later, KEY)],
    ["no bytes", new Map([...SOURCE, [SEGMENTS[1]!, Buffer.alloc(0)]])],
  ];

  /** Up to some commit in it: whole batches, as a node has that has not come as far. */
  function firstBatches(name: string): Buffer {
    const node = temporaryDirectory();
    const bytes = SOURCE.get(name)!;
    const cut = bytes.subarray(0, bytes.byteLength - 3000);
    for (const [each, content] of SOURCE) {
      if (isSegment(each) && each < name) writeFileSync(`${node}/${each}`, content);
    }
    writeFileSync(`${node}/${name}`, cut);
    new LedgerCore({
      files: diskFileLayer,
      directory: node,
      key: KEY,
      epoch: 1,
      ordered: { generation: 1, origin: "test:1" },
      nowMs: NOW_MS,
      fold: () => 0,
      replayEntriesMax: GUARD_ENTRIES,
    }).close();
    return readFileSync(`${node}/${name}`);
  }

  test.each(bad)("%s: is refused, and nothing is changed", async (_what, files) => {
    const directory = copied();
    flip(directory, SEGMENTS[1]!, 9000);
    const before = filesIn(directory, () => true);
    const refused = mend(directory, { peers: [peerWith(files, "liar")] });
    await expect(refused).rejects.toThrow(PeerRepairRefused);
    await expect(refused).rejects.toThrow(`no node gave \`${SEGMENTS[1]!}\``);
    expect(filesIn(directory, () => true)).toEqual(before);
    // The next one is asked.
    const { mended } = await mend(directory, { peers: [peerWith(files), peerWith(SOURCE, "b")] });
    expect(mended).toMatchObject([{ segment: SEGMENTS[1]!, from: "b" }]);
    expectWhole(directory);
  });

  test("less than this journal is known to have had is refused at its end", async () => {
    const directory = copied();
    const newest = SEGMENTS.at(-1)!;
    flip(directory, newest, 300);
    const short = new Map([...SOURCE, [newest, SOURCE.get(newest)!.subarray(0, 2000)]]);
    await expect(mend(directory, { peers: [peerWith(short)] })).rejects.toThrow(
      /it ends at position/,
    );
    expect(formatSegmentName(1)).toBe(SEGMENTS[0]);
  });
});
