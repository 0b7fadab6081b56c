// One sequence of messages on many nodes: however it is grouped, wherever a node stops and starts, whatever
// its clock says, the journals are the same bytes, and so is everything made from them.
import { readdirSync, readFileSync } from "node:fs";
import { createHash } from "node:crypto";
import { expect, test } from "vitest";
import { loadDefaultConfig } from "../../../src/engine/config.ts";
import { openTableImage } from "../../../src/engine/image.ts";
import { createEngineMemory } from "../../../src/engine/memory.ts";
import { openEngineWriter } from "../../../src/engine/writer.ts";
import type { BureauKey } from "../../../src/journal/signing-key.ts";
import { type FileLayer, diskFileLayer } from "../../../src/platform/files.ts";
import { LedgerCore } from "../../../src/ledger/core.ts";
import type { CommitResult } from "../../../src/ledger/replay-guard.ts";
import {
  GUARD_ENTRIES,
  newKey,
  NOW_MS,
  outcomeIdOf,
  recordOf,
  runOf,
  seededRandom,
  temporaryDirectory,
} from "../_fixtures.ts";
import { copyOf, messagesOf } from "./_messages.ts";

const MESSAGES = messagesOf(1, 400);
const SEGMENT_BYTES = 30_000;

/** The disk, full for now and then. */
function oftenFull(random: () => number): FileLayer {
  return {
    ...diskFileLayer,
    write: (descriptor, parts, position) => {
      if (random() < 0.03) throw Object.assign(new Error("no space left"), { code: "ENOSPC" });
      return diskFileLayer.write(descriptor, parts, position);
    },
  };
}

function openNode(
  directory: string,
  key: BureauKey,
  nowMs: number,
  origin: string,
  files: FileLayer = diskFileLayer,
) {
  const memory = createEngineMemory();
  const table = openEngineWriter(memory, loadDefaultConfig(), 7n);
  const core = new LedgerCore({
    files,
    directory,
    key,
    epoch: 1,
    ordered: { generation: 1, origin },
    nowMs,
    fold: (outcome) => table.fold(outcome),
    foldAssessment: (assessment) => table.foldAssessment(assessment),
    applyStandings: (standings) => table.applyStandings(standings),
    markKeyRevoked: (agent, isRevoked) => table.markKeyRevoked(agent, isRevoked),
    replayEntriesMax: GUARD_ENTRIES,
    segmentBytesMax: SEGMENT_BYTES,
  });
  return { core, memory };
}

function stateOf({ core, memory }: ReturnType<typeof openNode>, directory: string) {
  const guard = Buffer.alloc(core.guard.byteCount);
  core.guard.copyEntries(guard);
  const { chain, stream, policies, keyEvents, reviews, ...rest } = core.buildSnapshotContents();
  const hashed = (parts: Iterable<Uint8Array>) => {
    const digest = createHash("sha256");
    for (const part of parts) digest.update(part);
    return digest.digest("hex");
  };
  const names = readdirSync(directory).filter((name) => name.endsWith(".log"));
  return {
    ...rest,
    chain: Buffer.from(chain).toString("hex"),
    stream: stream.toString(),
    records: hashed([...policies, ...keyEvents, ...reviews]),
    guard: hashed([guard]),
    table: hashed(openTableImage(memory).viewParts()),
    segments: names.map((name) => [name, hashed([readFileSync(`${directory}/${name}`)])]),
  };
}

/** Applies the messages in groups of random size, with stops and full disks between, under clocks of any time. */
function live(seed: number, key: BureauKey) {
  const random = seededRandom(seed);
  const directory = `${temporaryDirectory()}/journal`;
  const origin = `node-${seed}:1`;
  const files = oftenFull(random);
  let node = openNode(directory, key, NOW_MS, origin, files);
  let fullCount = 0;
  const answers: CommitResult[][] = [];
  const messages = copyOf(MESSAGES);
  for (let at = 0; at < messages.length;) {
    if (random() < 0.1) {
      node.core.close();
      const years = (random() - 0.5) * 4 * 365 * 86_400_000;
      node = openNode(directory, key, NOW_MS + years, origin, files);
      expect(node.core.progress.seq).toBe(at);
    }
    const group = messages.slice(at, at + 1 + Math.floor(random() * 40));
    const { applied, isFull } = node.core.applyMessages(group);
    if (isFull) fullCount++;
    expect(isFull).toBe(applied.length < group.length);
    answers.push(...applied);
    at += applied.length;
  }
  const state = stateOf(node, directory);
  const { syncCount } = node.core;
  expect(fullCount).toBeGreaterThan(0);
  node.core.close();
  return { state, answers, syncCount };
}

test("nodes that applied the same messages are equal to the last byte", () => {
  const key = newKey();
  const first = live(1, key);
  expect(first.state.segments.length).toBeGreaterThan(5);
  for (let seed = 2; seed <= 6; seed++) {
    const other = live(seed, key);
    expect(other.state).toEqual(first.state);
    expect(other.answers).toEqual(first.answers);
  }
  // The sequence tries what it is meant to try.
  const verdicts = new Set(first.answers.flat().map(({ verdict }) => verdict));
  expect(verdicts).toEqual(new Set([0, 1, 2]));
  expect(first.answers.filter((results) => results.length === 0).length).toBeGreaterThan(5);
  expect(first.syncCount).toBeLessThan(MESSAGES.length);
});

test("every repeat names the first, wherever it came from", () => {
  const { answers } = live(3, newKey());
  const firsts = new Map<string, number>();
  expect(answers).toHaveLength(MESSAGES.length);
  for (const { verdict, lsn, outcomeId } of answers.flat()) {
    if (verdict !== 1) continue;
    const known = firsts.get(outcomeId);
    if (known === undefined) firsts.set(outcomeId, lsn);
    else expect(lsn).toBe(known);
  }
  expect(firsts.size).toBeGreaterThan(50);
});

test.each([1, 2])("an attested transaction counts once only under rules above 1: %i", (rules) => {
  const attestation = { attester: "cosigned", transactionId: "deal-1" } as const;
  // Two senders that knew nothing of each other, and one that says another thing.
  const messages = [0, 0, 1].map((change, index) => {
    const outcomeId = outcomeIdOf(index + 1);
    const { bytes, count } = runOf([recordOf(1, { outcomeId, attestation, stakes: 5 + change })]);
    const frames = Uint8Array.from(bytes);
    const timeMs = NOW_MS + index;
    const place = { seq: index + 1, timeMs, origin: `node-${index}:1`, n: 1 };
    return { ...place, count, frames, rules, isSealed: true };
  });
  const directory = `${temporaryDirectory()}/journal`;
  const key = newKey();
  const node = openNode(directory, key, NOW_MS, "node-0:1");
  const { applied } = node.core.applyMessages(copyOf(messages));
  expect(applied.flat().map(({ verdict }) => verdict)).toEqual(rules === 1 ? [0, 0, 0] : [0, 1, 2]);
  const before = stateOf(node, directory);
  node.core.close();
  const restarted = openNode(directory, key, NOW_MS, "node-0:2");
  expect(stateOf(restarted, directory)).toEqual(before);
  restarted.core.close();
});
