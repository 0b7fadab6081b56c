// Real files, every kind of damage: a torn end is cut back to the last commit, anything else is
// refused, and nothing is ever accepted silently.
import * as fs from "node:fs";
import { join } from "node:path";
import { beforeEach, describe, expect, test } from "vitest";
import type { BureauKey } from "../../src/journal/signing-key.ts";
import { JournalDamaged } from "../../src/journal/faults.ts";
import { diskFileLayer } from "../../src/platform/files.ts";
import {
  COMMIT_FRAME_BYTES,
  readFrameLsn,
  readFrameTimeUs,
  SEGMENT_HEADER_BYTES,
  sealFrame,
  parseSegmentNames,
} from "../../src/journal/format.ts";
import { decodeOutcome } from "../../src/journal/outcome.ts";
import { recoverJournal } from "../../src/journal/recovery.ts";
import { verifyJournal } from "../../src/journal/verify.ts";
import {
  newKey,
  NOW_MS,
  openCore,
  recordOf,
  runOf,
  temporaryDirectory,
  writeJournal,
} from "../ledger/_fixtures.ts";

let directory: string;
let key: BureauKey;

beforeEach(() => {
  directory = temporaryDirectory();
  key = newKey();
});

const segmentPaths = () =>
  parseSegmentNames(fs.readdirSync(directory)).map(({ name }) => join(directory, name));

/** Ids in the journal, by recovery; throws what recovery throws. */
function idsOf(): string[] {
  const ids: string[] = [];
  recoverJournal(diskFileLayer, directory, (bytes, at) =>
    ids.push(decodeOutcome(bytes, at).outcomeId),
  );
  return ids;
}

function damageOf(): JournalDamaged["damage"] {
  try {
    idsOf();
  } catch (error) {
    if (error instanceof JournalDamaged) return error.damage;
    throw error;
  }
  throw new Error("the journal opened");
}

/** One segment of `batches` commits; returns the path and the offset of each commit's end. */
function commitEnds(batches: number, size: number): { path: string; ends: number[] } {
  const { core } = openCore(directory, key);
  const ends: number[] = [];
  let index = 0;
  for (let batch = 0; batch < batches; batch++) {
    core.commit([runOf(Array.from({ length: size }, () => recordOf(++index)))], NOW_MS);
    ends.push(fs.statSync(segmentPaths()[0] as string).size);
  }
  core.close();
  return { path: segmentPaths()[0] as string, ends };
}

describe("the end of the last segment", () => {
  test("every cut of the last batch recovers to the commit before", () => {
    const { path, ends } = commitEnds(3, 2);
    const whole = fs.readFileSync(path);
    const [, keep, end] = ends as [number, number, number];
    for (let cut = keep; cut < end; cut++) {
      fs.writeFileSync(path, whole.subarray(0, cut));
      expect(idsOf(), `cut at ${cut}`).toHaveLength(4);
      expect(fs.statSync(path).size, `cut at ${cut}`).toBe(keep);
    }
    fs.writeFileSync(path, whole);
    expect(idsOf()).toHaveLength(6);
  });

  test("every cut of the first segment's header and first batch starts from nothing", () => {
    const { path, ends } = commitEnds(1, 1);
    const whole = fs.readFileSync(path);
    for (let cut = 0; cut < (ends[0] as number); cut++) {
      // A header that was never synced was never named the newest.
      fs.rmSync(join(directory, "newest"), { force: true });
      fs.writeFileSync(path, whole.subarray(0, cut));
      expect(idsOf(), `cut at ${cut}`).toEqual([]);
    }
  });

  test.each([1, 100, 512, 4096, 70_000])(
    "%i zero bytes behind the last commit are cut",
    (bytes) => {
      const { path, ends } = commitEnds(2, 1);
      fs.appendFileSync(path, Buffer.alloc(bytes));
      expect(idsOf()).toHaveLength(2);
      expect(fs.statSync(path).size).toBe(ends[1]);
    },
  );

  test("garbage behind the last commit is cut", () => {
    const { path, ends } = commitEnds(2, 1);
    fs.appendFileSync(path, Buffer.from("not a frame at all, but long enough for a frame header"));
    expect(idsOf()).toHaveLength(2);
    expect(fs.statSync(path).size).toBe(ends[1]);
  });

  test("complete records without their commit are not acknowledged: cut", () => {
    const { path, ends } = commitEnds(2, 3);
    fs.truncateSync(path, (ends[1] as number) - COMMIT_FRAME_BYTES);
    expect(idsOf()).toHaveLength(3);
  });

  test("the journal goes on after a cut, and the same positions are given again", () => {
    const { path, ends } = commitEnds(2, 1);
    fs.truncateSync(path, (ends[1] as number) - 1);
    const { core, folded } = openCore(directory, key);
    expect(folded).toHaveLength(1);
    expect(core.truncatedBytes).toBe((ends[1] as number) - (ends[0] as number) - 1);
    expect(core.commit([runOf([recordOf(9)])], NOW_MS)[0]?.lsn).toBe(2);
    core.close();
    expect(verifyJournal(diskFileLayer, directory)).toMatchObject({
      records: 2,
      damage: undefined,
    });
  });

  test("a lost sector inside the last batch is a torn write, though its commit survived", () => {
    const { path, ends } = commitEnds(2, 40);
    const bytes = fs.readFileSync(path);
    const hole = Math.ceil((ends[0] as number) / 512) * 512 + 512;
    bytes.fill(0, hole, hole + 512);
    fs.writeFileSync(path, bytes);
    expect(idsOf()).toHaveLength(40);
  });
});

describe("one flipped bit", () => {
  test("anywhere before the last batch is refused, with the place", () => {
    const { path, ends } = commitEnds(3, 1);
    const whole = fs.readFileSync(path);
    const last = ends[1] as number;
    for (let at = 0; at < last; at++) {
      const bytes = Buffer.from(whole);
      bytes[at] = (bytes[at] as number) ^ (1 << (at % 8));
      fs.writeFileSync(path, bytes);
      const damage = damageOf();
      const expected =
        at < SEGMENT_HEADER_BYTES ? 0 : at < (ends[0] as number) ? SEGMENT_HEADER_BYTES : ends[0];
      expect(damage.offset, `bit at ${at}`).toBe(expected);
    }
  });

  test("in the last batch is refused or cut, never accepted", () => {
    const { path, ends } = commitEnds(2, 2);
    const whole = fs.readFileSync(path);
    const [keep, end] = ends as [number, number];
    const outcomes = { refused: 0, cut: 0 };
    for (let at = keep; at < end; at++) {
      const bytes = Buffer.from(whole);
      bytes[at] = (bytes[at] as number) ^ (1 << (at % 8));
      fs.writeFileSync(path, bytes);
      try {
        expect(idsOf(), `bit at ${at}`).toHaveLength(2);
        outcomes.cut++;
      } catch (error) {
        expect(error, `bit at ${at}`).toBeInstanceOf(JournalDamaged);
        outcomes.refused++;
      }
    }
    // Only a flip in the commit frame itself leaves nothing behind it to prove the batch.
    expect(outcomes).toEqual({
      refused: end - keep - COMMIT_FRAME_BYTES,
      cut: COMMIT_FRAME_BYTES,
    });
  });

  test("in any segment but the last is refused, even in its very last byte", () => {
    writeJournal(directory, key, 12, 2, 1500);
    const [first] = segmentPaths() as [string];
    const bytes = fs.readFileSync(first);
    bytes[bytes.byteLength - 1] = (bytes.at(-1) as number) ^ 1;
    fs.writeFileSync(first, bytes);
    expect(damageOf().segment).toBe(first.slice(directory.length + 1));
  });
});

describe("segments as files", () => {
  beforeEach(() => writeJournal(directory, key, 20, 2, 1500));

  test("many segments read as one log", () => {
    expect(segmentPaths().length).toBeGreaterThan(4);
    expect(idsOf()).toHaveLength(40);
    const report = verifyJournal(diskFileLayer, directory);
    expect(report).toMatchObject({ records: 40, lsn: 40, commits: 20, damage: undefined });
    expect(report.publicKeys).toEqual([key.publicKey.toString("hex")]);
  });

  test.each(["first", "middle", "last"])("the %s one missing is refused", (which) => {
    const paths = segmentPaths();
    const index = { first: 0, middle: 2, last: paths.length - 1 }[which] as number;
    fs.rmSync(paths[index] as string);
    expect(damageOf().reason).toContain("missing");
  });

  test("a middle one cut short is refused", () => {
    const path = segmentPaths()[1] as string;
    fs.truncateSync(path, fs.statSync(path).size - 1);
    expect(damageOf().reason).toBe("a batch does not verify");
  });

  test("two that changed places are refused", () => {
    const [, second, third] = segmentPaths() as [string, string, string];
    fs.renameSync(second, `${second}.x`);
    fs.renameSync(third, second);
    fs.renameSync(`${second}.x`, third);
    expect(damageOf().reason).toContain("name and header disagree");
  });

  test("one from another journal is refused", () => {
    const other = temporaryDirectory();
    const { core } = openCore(other, newKey(), { segmentBytesMax: 1500 });
    for (let index = 1; index < 40; index += 2) {
      const records = [recordOf(index, { stakes: 7 }), recordOf(index + 1)];
      core.commit([runOf(records)], NOW_MS);
    }
    core.close();
    const path = segmentPaths()[2] as string;
    fs.copyFileSync(join(other, path.slice(directory.length + 1)), path);
    expect(damageOf().reason).toContain("hash chain");
  });

  test("an empty newest one, created but never used, is dropped", () => {
    const names = segmentPaths();
    fs.writeFileSync(join(directory, "seg-00000000000000000041.log"), "");
    expect(idsOf()).toHaveLength(40);
    expect(segmentPaths()).toEqual(names);
  });
});

test("a signature made by nobody is refused at start (last commit) and by verify (any)", () => {
  const { path, ends } = commitEnds(2, 1);
  const other = newKey();
  const bytes = fs.readFileSync(path);
  // Replace the signature and mend the frame's checksum, as a careful forger would.
  const forge = (end: number) => {
    const forged = Buffer.from(bytes);
    other.sign(forged.subarray(end - 32, end)).copy(forged, end - 32 - 64);
    reseal(forged, end - COMMIT_FRAME_BYTES);
    return forged;
  };
  fs.writeFileSync(path, forge(ends[1] as number));
  expect(damageOf().reason).toContain("signature");
  fs.writeFileSync(path, forge(ends[0] as number));
  expect(idsOf()).toHaveLength(2);
  expect(verifyJournal(diskFileLayer, directory).damage?.reason).toContain("signature");
});

test("a forged record with a mended checksum breaks the chain", () => {
  const { path, ends } = commitEnds(2, 1);
  const bytes = fs.readFileSync(path);
  bytes.write("seller-9", bytes.indexOf("seller-1"));
  reseal(bytes, SEGMENT_HEADER_BYTES);
  fs.writeFileSync(path, bytes);
  expect(damageOf()).toMatchObject({ offset: SEGMENT_HEADER_BYTES, afterLsn: 0 });
  expect(ends).toHaveLength(2);
});

test("another bureau key begins another segment; both remain verifiable", () => {
  commitEnds(2, 1);
  const second = newKey();
  const { core } = openCore(directory, second);
  core.commit([runOf([recordOf(3)])], NOW_MS);
  core.close();
  const report = verifyJournal(diskFileLayer, directory);
  expect(report).toMatchObject({ records: 3, damage: undefined });
  expect(report.publicKeys).toEqual([key, second].map((each) => each.publicKey.toString("hex")));
});

function reseal(bytes: Buffer, at: number): void {
  sealFrame(bytes, at, readFrameLsn(bytes, at), readFrameTimeUs(bytes, at));
}
