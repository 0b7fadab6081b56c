// History of a chaos run: each outcome as its reporter saw it, from the first try to the receipt, and the
// promises of a log that only grows and records each id once, held against the journals of all nodes.
import { createHash } from "node:crypto";
import { readFileSync } from "node:fs";
import path from "node:path";
import { diskFileLayer } from "../../src/platform/files.ts";
import {
  FRAME_HEAD_BYTES,
  FRAME_KINDS,
  parseSegmentNames,
  readFrameKind,
  readPayloadLength,
} from "../../src/journal/format.ts";
import { decodeOutcome } from "../../src/journal/outcome.ts";
import { JournalReader } from "../../src/journal/reader.ts";
import { recoverJournal } from "../../src/journal/recovery.ts";

export interface Acknowledged {
  readonly verdict: "recorded" | "duplicate" | "conflict";
  /** Empty for an outcome without one. */
  readonly id: string;
  readonly stakes: number;
  readonly outcomeId: string;
  readonly position: number;
  /** Of the first try, ms on the tool's own clock. */
  readonly invokedMs: number;
  readonly answeredMs: number;
  readonly node: number;
}

interface Recorded {
  readonly id: string;
  readonly outcomeId: string;
  readonly position: number;
  readonly stakes: number;
}

export interface JournalFacts {
  readonly records: readonly Recorded[];
  readonly lsn: number;
  readonly chain: string;
  /** SHA-256 over the bytes of its segments. */
  readonly bytes: string;
  readonly segments: number;
}

/** Reads the journal of a stopped node, every frame verified. */
export function readJournal(dataDir: string): JournalFacts {
  const directory = path.join(dataDir, "journal");
  const records: Recorded[] = [];
  const visit = (bytes: Buffer, at: number, position: number) => {
    if (readFrameKind(bytes, at) !== FRAME_KINDS.outcome) return;
    const { idempotencyKey, outcomeId, stakes } = decodeOutcome(bytes, at);
    records.push({ id: idempotencyKey.split("\n").at(-1)!, outcomeId, position, stakes });
  };
  const { tail } = recoverJournal(diskFileLayer, directory, visit, { isReadOnly: true });
  const digest = createHash("sha256");
  const segments = parseSegmentNames(diskFileLayer.list(directory));
  for (const { name } of segments) digest.update(readFileSync(path.join(directory, name)));
  const chain = Buffer.from(tail.chain).toString("hex");
  return { records, lsn: tail.lsn, chain, bytes: digest.digest("hex"), segments: segments.length };
}

/**
 * Whether stopped nodes have one history: the same bytes, or the same records as far as the shortest goes. A message of
 * the service's own, such as new standings, may be in the log when the nodes are killed, and applied by some of them.
 */
export function haveOneHistory(dataDirs: readonly string[], journals: readonly JournalFacts[]) {
  const isSame = (one: JournalFacts) =>
    one.bytes === journals[0]!.bytes && one.chain === journals[0]!.chain;
  if (journals.every(isSame)) return true;
  const shortest = Math.min(...journals.map(({ lsn }) => lsn));
  const digests = dataDirs.map((dataDir) => digestRecords(path.join(dataDir, "journal"), shortest));
  return new Set(digests).size === 1;
}

function digestRecords(directory: string, upto: number): string {
  const digest = createHash("sha256");
  const reader = new JournalReader(diskFileLayer, directory);
  const read = reader.readRecords(0, upto, Number.POSITIVE_INFINITY, (bytes, at) => {
    digest.update(bytes.subarray(at, at + FRAME_HEAD_BYTES + readPayloadLength(bytes, at)));
  });
  reader.close();
  if (read !== upto) throw new Error(`${directory} ends at ${read}, not ${upto}`);
  return digest.digest("hex");
}

/** Longest time in ms that an acknowledgement may take while a majority of the servers is there. */
const ACK_MS_MAX = 15_000;

/** A time in which no majority of the servers was there, on the tool's own clock. */
export interface Outage {
  readonly fromMs: number;
  readonly toMs: number;
}

/** Acknowledgements that took longer than allowed, and longer than that and the outages while they were waited for. */
export function countLate(acknowledged: readonly Acknowledged[], outages: readonly Outage[]) {
  return acknowledged.filter(({ invokedMs, answeredMs }) => {
    const away = outages.reduce((sum, { fromMs, toMs }) => {
      return sum + Math.max(0, Math.min(answeredMs, toMs) - Math.max(invokedMs, fromMs));
    }, 0);
    return answeredMs - invokedMs > ACK_MS_MAX + away;
  }).length;
}

export interface Findings {
  lost: number;
  /** Sentences, the first of each kind. */
  readonly wrong: string[];
}

/** Holds what was acknowledged against one node's journal. */
export function judge(
  acknowledged: readonly Acknowledged[],
  { records }: JournalFacts,
  node: string,
): Findings {
  const findings: Findings = { lost: 0, wrong: [] };
  const say = (sentence: string) => findings.wrong.push(`${node}: ${sentence}`);
  const byOutcome = new Map<string, Recorded>();
  const byId = new Map<string, Recorded>();
  for (const record of records) {
    if (byOutcome.has(record.outcomeId)) say(`${record.outcomeId} stands twice`);
    byOutcome.set(record.outcomeId, record);
    if (record.id === "") continue;
    if (byId.has(record.id)) say(`id ${record.id} stands twice`);
    byId.set(record.id, record);
  }
  for (const each of acknowledged) {
    const { verdict, id, stakes, outcomeId, position } = each;
    if (verdict === "conflict") {
      const first = byId.get(id);
      if (first === undefined || first.stakes === stakes) say(`${id} was called a conflict`);
      continue;
    }
    const record = byOutcome.get(outcomeId);
    if (record === undefined) findings.lost++;
    else if (record.position !== position) {
      say(`${outcomeId} stands at ${record.position}, the receipt says ${position}`);
    } else if (record.id !== id) say(`${outcomeId} has the id ${record.id}, not ${id}`);
    else if (record.stakes !== stakes) say(`${outcomeId} holds another content`);
  }
  return findings;
}

/** Outcomes acknowledged before another was first offered stand before it. */
export function judgeOrder(acknowledged: readonly Acknowledged[]): string[] {
  const wrong: string[] = [];
  const offered = new Map<number, { invokedMs: number; answeredMs: number }>();
  for (const { verdict, position, invokedMs, answeredMs } of acknowledged) {
    if (verdict === "conflict") continue;
    const known = offered.get(position);
    // Whoever got `recorded` offered it; of a duplicate's offer only the end says something.
    offered.set(position, {
      invokedMs: verdict === "recorded" ? invokedMs : (known?.invokedMs ?? -1),
      answeredMs: Math.min(answeredMs, known?.answeredMs ?? Infinity),
    });
  }
  let earliestMs = Infinity;
  let earliest = 0;
  for (const [position, { invokedMs, answeredMs }] of [...offered].toSorted(([a], [b]) => b - a)) {
    if (earliestMs < invokedMs) {
      wrong.push(`position ${position} was offered after ${earliest} had been acknowledged`);
    }
    if (answeredMs < earliestMs) [earliestMs, earliest] = [answeredMs, position];
  }
  return wrong;
}
