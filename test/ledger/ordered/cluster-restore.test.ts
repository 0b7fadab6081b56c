// A log begun anew behind journals: the longest is the record, and only its beginnings go on with it.
import { readdirSync, readFileSync } from "node:fs";
import { expect, test } from "vitest";
import {
  claimDataDirectory,
  type DataDirectoryClaim,
} from "../../../src/journal/data-directory.ts";
import { FileUnusable } from "../../../src/journal/faults.ts";
import { diskFileLayer } from "../../../src/platform/files.ts";
import { type BureauKey, loadBureauKey } from "../../../src/journal/signing-key.ts";
import { LedgerCore } from "../../../src/ledger/core.ts";
import {
  parseLogBeginning,
  type OrderedMessage,
  formatLogBeginning,
  MESSAGE_RULES_VERSION,
} from "../../../src/ledger/ordered/message.ts";
import {
  extendToLongest,
  selectLongestJournal,
  recoverNodeJournal,
  ClusterRestoreRefused,
  appendFirstMark,
} from "../../../src/ledger/ordered/cluster-restore.ts";
import { copyFileSync } from "node:fs";
import { GUARD_ENTRIES, NOW_MS, temporaryDirectory } from "../_fixtures.ts";
import { copyOf, messagesOf } from "./_messages.ts";

const MESSAGES = messagesOf(3, 120);

function open(claim: DataDirectoryClaim, key: BureauKey, generation: number) {
  return new LedgerCore({
    files: diskFileLayer,
    directory: claim.paths.journal,
    key,
    epoch: generation,
    ordered: { generation, origin: "test:1" },
    nowMs: NOW_MS,
    fold: () => 0,
    foldAssessment: () => 0,
    applyStandings: () => undefined,
    markKeyRevoked: () => undefined,
    replayEntriesMax: GUARD_ENTRIES,
    segmentBytesMax: 20_000,
  });
}

/** A node's directory whose journal has the first `count` of the messages. */
async function nodeWith(messages: readonly OrderedMessage[], keyOf?: DataDirectoryClaim) {
  const claim = await claimDataDirectory(temporaryDirectory());
  if (keyOf !== undefined) copyFileSync(keyOf.paths.bureauKey, claim.paths.bureauKey);
  const key = loadBureauKey(claim.paths.bureauKey, keyOf === undefined);
  const core = open(claim, key, 1);
  core.applyMessages(copyOf(messages));
  core.close();
  return claim;
}

function beginning(lsn: number, chain: Buffer): OrderedMessage {
  const origin = formatLogBeginning(
    { lsn, chain: chain.toString("hex") },
    { rules: MESSAGE_RULES_VERSION, key: "ab".repeat(32) },
  );
  return {
    seq: 1,
    timeMs: NOW_MS,
    origin,
    n: 1,
    count: 0,
    isSealed: true,
    frames: new Uint8Array(),
    rules: MESSAGE_RULES_VERSION,
  };
}

function journalOf({ paths }: DataDirectoryClaim): [string, string][] {
  const names = readdirSync(paths.journal).filter((name) => name.endsWith(".log"));
  const hexOf = (name: string) => readFileSync(`${paths.journal}/${name}`).toString("hex");
  return names.toSorted().map((name) => [name, hexOf(name)]);
}

test("shorter journals become the longest, and all take up the new log with the same bytes", async () => {
  const long = await nodeWith(MESSAGES);
  const short = await nodeWith(MESSAGES.slice(0, 50), long);
  const empty = await nodeWith(MESSAGES.slice(0, 1), long);
  const nodes = [short, long, empty].map((claim) => recoverNodeJournal(diskFileLayer, claim));
  const longest = selectLongestJournal(diskFileLayer, nodes);
  expect(longest.claim).toBe(long);
  expect(longest.mark).toMatchObject({ generation: 1, seq: 120 });
  const copied = nodes.map((node) => extendToLongest(diskFileLayer, node, longest));
  expect(copied.map((bytes) => bytes > 0)).toEqual([true, false, true]);
  expect(journalOf(short)).toEqual(journalOf(long));
  expect(journalOf(short).length).toBeGreaterThan(3);

  const first = beginning(longest.tail.lsn, longest.tail.chain);
  const ends = nodes.map((node) => appendFirstMark(diskFileLayer, node, 2, first));
  expect(new Set(ends.map(({ lsn, chain }) => `${lsn} ${chain.toString("hex")}`)).size).toBe(1);
  expect(journalOf(short)).toEqual(journalOf(long));
  expect(journalOf(empty)).toEqual(journalOf(long));

  const core = open(short, loadBureauKey(short.paths.bureauKey, false), 2);
  expect(core.progress.mark).toMatchObject({ generation: 2, seq: 1 });
  const { frames } = MESSAGES[0]!;
  const next = { ...MESSAGES[0]!, seq: 2, n: 1, origin: "one:9", frames: Uint8Array.from(frames) };
  expect(core.applyMessages([next]).applied).toHaveLength(1);
  core.close();
  for (const claim of [long, short, empty]) await claim.release();
});

test("journals that parted, of another key, or empty are refused by name", async () => {
  const long = await nodeWith(MESSAGES);
  const other = MESSAGES.map((message) => ({ ...message, timeMs: message.timeMs + 1 }));
  const parted = await nodeWith(other.slice(0, 40), long);
  const stranger = await nodeWith(MESSAGES.slice(0, 5));
  const read = (claim: DataDirectoryClaim) => recoverNodeJournal(diskFileLayer, claim);
  const among = (claim: DataDirectoryClaim) =>
    selectLongestJournal(diskFileLayer, [read(claim), read(long)]);
  expect(() => among(parted)).toThrow(ClusterRestoreRefused);
  expect(() => among(parted)).toThrow(`the journal of \`${parted.paths.root}\``);
  expect(() => among(stranger)).toThrow("have different signing keys");
  const none = await claimDataDirectory(temporaryDirectory());
  expect(() => read(none)).toThrow(`\`${none.paths.root}\` has no journal`);
  for (const claim of [long, parted, stranger, none]) await claim.release();
});

test("a journal that has not come so far does not take up the log", async () => {
  const long = await nodeWith(MESSAGES);
  const { tail } = recoverNodeJournal(diskFileLayer, long);
  const first = beginning(tail.lsn, tail.chain);
  expect(parseLogBeginning(first)).toEqual({ lsn: tail.lsn, chain: tail.chain.toString("hex") });
  expect(parseLogBeginning(MESSAGES[0]!)).toBeUndefined();
  const claim = await claimDataDirectory(temporaryDirectory());
  copyFileSync(long.paths.bureauKey, claim.paths.bureauKey);
  const core = open(claim, loadBureauKey(claim.paths.bureauKey, false), 2);
  expect(() => core.applyMessages([first])).toThrow(FileUnusable);
  expect(core.lsn).toBe(0);
  core.close();
  for (const each of [long, claim]) await each.release();
});
