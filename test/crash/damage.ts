// Damaged files, one kind per function: each starts from a sound data directory, does one thing to
// one file, and reports the fate of the evidence. A start that refuses is as good as one that loses
// nothing; silence about a loss is not.
import * as fs from "node:fs";
import { join } from "node:path";
import { runCommand } from "../cli/_process.ts";
import { diskFileLayer } from "../../src/platform/files.ts";
import { resolveDataPaths } from "../../src/journal/data-directory.ts";
import { JournalDamaged } from "../../src/journal/faults.ts";
import {
  COMMIT_FRAME_BYTES,
  FRAME_HEAD_BYTES,
  readPayloadLength,
  SEGMENT_HEADER_BYTES,
  parseSegmentNames,
} from "../../src/journal/format.ts";
import { recoverJournal } from "../../src/journal/recovery.ts";
import { readKnownDurablePosition } from "../../src/ledger/snapshot/high-water.ts";
import { selectSnapshotNames } from "../../src/ledger/snapshot/format.ts";
import { Evidence } from "./evidence.ts";
import { launchServer, startServer } from "./server.ts";
import type { Writers } from "./writers.ts";

const EXIT_DAMAGED = 65;
const ZEROS = Buffer.alloc(4096);

/** A stopped server's directory that is never changed, and what it promised. */
export interface Sound {
  dataDir: string;
  writers: Writers;
  /** An empty folder for copies. */
  scratch: string;
}

/** One line of the table. */
export interface Outcome {
  name: string;
  did: string;
  faults: string[];
  /** Set when the round could not run here, with what it needs. */
  skipped?: string;
}

type Spoil = (bytes: Buffer) => Buffer;

function copyOf({ dataDir, scratch }: Sound): string {
  const copy = fs.mkdtempSync(join(scratch, "copy-"));
  fs.cpSync(dataDir, copy, { recursive: true });
  return copy;
}

function spoilFile(path: string, spoil: Spoil): void {
  fs.writeFileSync(path, spoil(fs.readFileSync(path)));
}

/** Starts the server over `dataDir`: everything must be there, in all three places. */
async function startsWhole(dataDir: string, writers: Writers): Promise<string[]> {
  const server = await startServer(dataDir);
  try {
    const evidence = new Evidence(dataDir);
    const faults = [...evidence.follow(), ...evidence.missing(writers.acknowledged)];
    return [
      ...faults,
      ...(await evidence.tableFaults(server)),
      ...(await evidence.storeFaults(server)),
    ];
  } finally {
    await server.kill("SIGTERM");
  }
}

async function refusesToStart(dataDir: string): Promise<string[]> {
  const started = launchServer(dataDir);
  const line = await started.firstLine.catch(() => "");
  if (line !== "") started.process.kill("SIGKILL");
  const { code, stderr } = await started.ended;
  return code === EXIT_DAMAGED ? [] : [`started or ended with ${code}: ${stderr.slice(0, 200)}`];
}

function newestSegment(dataDir: string): string {
  const journal = join(dataDir, "journal");
  return join(journal, parseSegmentNames(fs.readdirSync(journal)).at(-1)?.name ?? "");
}

/** Byte offsets of the frames of a segment that verifies. */
function framesOf(bytes: Buffer): number[] {
  const frames: number[] = [];
  for (
    let at = SEGMENT_HEADER_BYTES;
    at < bytes.byteLength;
    at += FRAME_HEAD_BYTES + readPayloadLength(bytes, at)
  ) {
    frames.push(at);
  }
  return frames;
}

/** Records that verify in a journal, or -1 when it is refused. */
function recordsIn(journal: string): number {
  try {
    return recoverJournal(diskFileLayer, journal, () => undefined).tail.lsn;
  } catch (error) {
    if (error instanceof JournalDamaged) return -1;
    throw error;
  }
}

/** Cut at every byte of the last frame: only the batch it closes may go, and nothing else. */
export async function cutTail(sound: Sound): Promise<Outcome> {
  const copy = copyOf(sound);
  const path = newestSegment(copy);
  const bytes = fs.readFileSync(path);
  const lastFrame = framesOf(bytes).at(-1) ?? 0;
  fs.writeFileSync(path, bytes.subarray(0, lastFrame));
  const before = recordsIn(join(copy, "journal"));
  const faults: string[] = [];
  for (let size = lastFrame; size < bytes.byteLength; size++) {
    fs.writeFileSync(path, bytes.subarray(0, size));
    const left = recordsIn(join(copy, "journal"));
    if (left !== before) faults.push(`cut at ${size}: ${left} records, expected ${before}`);
  }
  fs.writeFileSync(path, bytes.subarray(0, bytes.byteLength - 60));
  // The mark may know of the positions; after a kill it may lag by a second.
  const { snapshots } = resolveDataPaths(copy);
  if (readKnownDurablePosition(diskFileLayer, copy, snapshots).lsn > before) {
    faults.push(...(await refusesToStart(copy)));
    await runCommand(["doctor", "--accept-loss", "--data-dir", copy]);
  }
  const server = await startServer(copy);
  const evidence = new Evidence(copy);
  faults.push(...evidence.follow(), ...(await evidence.tableFaults(server)));
  if (evidence.lsn !== before) faults.push(`the server kept ${evidence.lsn}, not ${before}`);
  await server.kill("SIGTERM");
  const cuts = bytes.byteLength - lastFrame;
  return { name: "journal tail cut", did: `${cuts} cuts; one through the server`, faults };
}

export async function zeroTail(sound: Sound): Promise<Outcome> {
  const copy = copyOf(sound);
  fs.appendFileSync(newestSegment(copy), ZEROS);
  const faults = await startsWhole(copy, sound.writers);
  return { name: "journal tail zero-filled", did: "4096 zeros appended: dropped", faults };
}

/** One flipped bit in each part of the journal: refused, and mended by `doctor --repair`. */
export async function flipJournal(sound: Sound): Promise<Outcome> {
  const bytes = fs.readFileSync(newestSegment(sound.dataDir));
  const isCommit = (at: number) =>
    readPayloadLength(bytes, at) + FRAME_HEAD_BYTES === COMMIT_FRAME_BYTES;
  const frames = framesOf(bytes);
  const records = frames.filter((at) => !isCommit(at));
  const middle = records[Math.floor(records.length / 2)] ?? 0;
  const commit = frames.find(isCommit);
  const places = {
    header: 40,
    chain: SEGMENT_HEADER_BYTES - 1,
    length: middle,
    checksum: middle + 5,
    position: middle + 9,
    time: middle + 17,
    kind: middle + 24,
    payload: middle + FRAME_HEAD_BYTES + 70,
    signature: (commit ?? 0) + FRAME_HEAD_BYTES + 10,
    commit: (commit ?? 0) + FRAME_HEAD_BYTES + 80,
  };
  const faults: string[] = [];
  for (const [name, at] of Object.entries(places)) {
    const copy = copyOf(sound);
    // Without snapshots: here the journal itself is judged.
    fs.rmSync(join(copy, "snapshots"), { recursive: true, force: true });
    spoilFile(newestSegment(copy), flipAt(at));
    faults.push(...(await refusesToStart(copy)).map((fault) => `${name}: ${fault}`));
    if (name === "payload") faults.push(...(await repairs(copy)));
    fs.rmSync(copy, { recursive: true });
  }
  const did = `${Object.keys(places).length} places: refused (65), repaired with the loss named`;
  return { name: "journal bit flipped", did, faults };
}

async function repairs(dataDir: string): Promise<string[]> {
  const repair = await runCommand(["doctor", "--repair", "--json", "--data-dir", dataDir]);
  const { lost = [] } = JSON.parse(repair.stdout) as { lost?: unknown[] };
  const server = await startServer(dataDir);
  const { status } = await server.get("/readyz");
  await server.kill("SIGTERM");
  if (lost.length === 0) return ["the repair named no lost positions"];
  return status === 200 ? [] : [`after the repair the server is not ready (${status})`];
}

function flipAt(at: number): Spoil {
  return (bytes) => {
    bytes[at] = (bytes[at] ?? 0) ^ 4;
    return bytes;
  };
}

const SPOILS: readonly [string, Spoil | undefined][] = [
  ["cut", (bytes) => bytes.subarray(0, Math.floor(bytes.byteLength * 0.6))],
  ["zero-tailed", (bytes) => Buffer.concat([bytes, ZEROS])],
  ["flipped", (bytes) => flipAt(Math.floor(bytes.byteLength / 2))(bytes)],
  ["deleted", undefined],
];

/** Does each of four things to one derived file: the start must give back everything. */
async function spoilDerived(sound: Sound, name: string, path: string): Promise<Outcome> {
  const faults: string[] = [];
  for (const [kind, spoil] of SPOILS) {
    const copy = copyOf(sound);
    const file = join(copy, path);
    if (!fs.existsSync(file)) {
      return { name, did: "", faults: [], skipped: `there is no ${path} to damage` };
    }
    if (spoil === undefined) fs.rmSync(file);
    else spoilFile(file, spoil);
    faults.push(...(await startsWhole(copy, sound.writers)).map((fault) => `${kind}: ${fault}`));
    fs.rmSync(copy, { recursive: true });
  }
  return { name, did: SPOILS.map(([kind]) => kind).join(", "), faults };
}

export function spoilDatabase(sound: Sound): Promise<Outcome> {
  return spoilDerived(sound, "DuckDB file", "store/outcomes.duckdb");
}

export function spoilDatabaseLog(sound: Sound): Promise<Outcome> {
  return spoilDerived(sound, "DuckDB write-ahead log", "store/outcomes.duckdb.wal");
}

export function spoilSnapshot(sound: Sound): Promise<Outcome> {
  const directory = join(sound.dataDir, "snapshots");
  const [newest = "none"] = fs.existsSync(directory)
    ? selectSnapshotNames(fs.readdirSync(directory))
    : [];
  return spoilDerived(sound, "snapshot", join("snapshots", newest));
}
