// Formats in a data directory, part by part: the versions that are there, those that this release reads and
// writes, and what a start would do about them. Everything is opened for reading alone.
import * as fs from "node:fs";
import { join } from "node:path";
import { readKeyFile } from "../../http/access/key-file.ts";
import { TABLE_LAYOUT } from "../../engine/image.ts";
import type { DataPaths } from "../../journal/data-directory.ts";
import { diskFileLayer } from "../../platform/files.ts";
import { FRAME_KIND_MAX, JOURNAL_VERSION } from "../../journal/format.ts";
import { type JournalFormats, readJournalFormats, formatFrameKind } from "../../journal/formats.ts";
import { KEY_SET_FORMAT, readKeySet } from "../../journal/signing/key-set.ts";
import { loadBureauKey } from "../../journal/signing-key.ts";
import { KAIZEN_STATE_PATH, readKaizenState } from "../../kaizen/service/files.ts";
import {
  SNAPSHOT_HEADER_BYTES,
  SNAPSHOT_VERSION,
  readSnapshotFormat,
  selectSnapshotNames,
} from "../../ledger/snapshot/format.ts";
import { SignerTally } from "../../service/signers.ts";
import { DATABASE_FILE } from "../../store/files.ts";
import { openDatabase } from "../../store/duckdb.ts";
import { SCHEMA_VERSION } from "../../store/schema.ts";

/**
 * What a start would do: read it as it is, make it anew from the journal, go on without what some
 * records say, or refuse to go on.
 */
type StartEffect = "reads" | "makes anew" | "passes over" | "refuses";

export interface FormatPart {
  readonly part: string;
  /** What is there, in words. */
  readonly found: string;
  /** What this release reads, and writes. */
  readonly known: string;
  readonly outlook: StartEffect;
  /** What a start does with it, or what it cannot read. */
  readonly detail: string;
}

const NAMES_SHOWN_MAX = 20;
const STORE_MEMORY_MB = 512;
const createMissingPart = (part: string, known: string): FormatPart => ({
  part,
  found: "none",
  known,
  outlook: "reads",
  detail: "a start makes it when it is due",
});

/** `hasSeeds`: by the settings, credibility weighs each signer. */
export async function inspectFormats(paths: DataPaths, hasSeeds: boolean): Promise<FormatPart[]> {
  return [
    ...inspectJournal(paths, hasSeeds),
    inspectSnapshot(paths),
    await inspectStore(paths),
    inspectSigningKey(paths),
    await inspectApiKeys(paths),
    inspectKaizen(paths),
  ];
}

function inspectJournal({ journal }: DataPaths, hasSeeds: boolean): FormatPart[] {
  const known = `version ${JOURNAL_VERSION}, kinds up to ${FRAME_KIND_MAX}`;
  if (!fs.existsSync(journal)) return [createMissingPart("journal", known)];
  const signers = new SignerTally(Date.now());
  const add = (bytes: Buffer, at: number) => signers.add(bytes, at);
  const formats = readJournalFormats(diskFileLayer, journal, add);
  return [
    describeJournal(formats, known),
    describeNames(formats.refusedNames),
    describeSigners(signers, hasSeeds),
  ];
}

/** Whose signers count as one voice: from a release on that asks whether their owner is vouched for. */
function describeSigners(signers: SignerTally, hasSeeds: boolean): FormatPart {
  const { detail: found, advice: detail } = signers.describe(hasSeeds);
  const known = "a voice each where granted with `--vouched`";
  return { part: "signers", found, known, outlook: "reads", detail };
}

/** Names that no request may bear any more; what is recorded under them stays readable. */
function describeNames(refused: readonly string[]): FormatPart {
  const shown = refused.slice(0, NAMES_SHOWN_MAX).map((name) => JSON.stringify(name));
  const more = refused.length > shown.length ? `, and ${refused.length - shown.length} more` : "";
  const read = "what they have can be read; nothing more is recorded or judged under them: ";
  return {
    part: "agent names",
    found: `${refused.length} that are refused now`,
    known: "`agent://namespace/name`, or text that does not read like it",
    outlook: "reads",
    detail: refused.length === 0 ? "" : `${read}${shown.join(", ")}${more}`,
  };
}

function describeJournal(
  { versions, kinds, unread, passedOver }: JournalFormats,
  known: string,
): FormatPart {
  const names = [...kinds].toSorted((left, right) => left - right).map(formatFrameKind);
  const found = `version ${[...versions].join(", ")}; ${names.join(", ")}`;
  const part = { part: "journal", found, known };
  if (unread.length === 0 && passedOver.length > 0) {
    const detail = `what records of kind ${passedOver.join(", ")} say does not count`;
    return { ...part, outlook: "passes over", detail };
  }
  if (unread.length === 0) {
    return { ...part, outlook: "reads", detail: "goes on behind its last record" };
  }
  return { ...part, outlook: "refuses", detail: `cannot read ${unread.join(", ")}` };
}

function inspectSnapshot({ snapshots }: DataPaths): FormatPart {
  const known = `version ${SNAPSHOT_VERSION}, layout ${TABLE_LAYOUT}`;
  const names = fs.existsSync(snapshots) ? selectSnapshotNames(fs.readdirSync(snapshots)) : [];
  const [newest] = names;
  if (newest === undefined) {
    return {
      ...createMissingPart("snapshot", known),
      detail: "folds the journal from its first record",
    };
  }
  const format = readSnapshotFormat(readFileHead(join(snapshots, newest)));
  const found =
    format === undefined ? "no header" : `version ${format.version}, layout ${format.layout}`;
  const isKnown = format?.version === SNAPSHOT_VERSION && format.layout === TABLE_LAYOUT;
  const detail = isKnown
    ? "folds what came after it, if its engine is the same"
    : "ignores it and folds the journal from its first record; the scores are the same";
  return { part: "snapshot", found, known, outlook: isKnown ? "reads" : "makes anew", detail };
}

function readFileHead(path: string): Buffer {
  const descriptor = diskFileLayer.open(path, "read");
  try {
    const head = Buffer.alloc(SNAPSHOT_HEADER_BYTES);
    diskFileLayer.read(descriptor, head, 0, head.byteLength, 0);
    return head;
  } finally {
    diskFileLayer.close(descriptor);
  }
}

async function inspectStore({ store }: DataPaths): Promise<FormatPart> {
  const known = `schema ${SCHEMA_VERSION}`;
  const path = join(store, DATABASE_FILE);
  if (!fs.existsSync(path)) return createMissingPart("store", known);
  const part = { part: "store", known };
  const anew = "rebuilds it from the journal and the kept rows";
  try {
    const versions = await readSchemaVersions(path, store);
    const found = versions.length === 0 ? "nothing applied yet" : `schema ${versions.join(", ")}`;
    const isKnown = versions.every((each) => each === SCHEMA_VERSION);
    if (isKnown) return { ...part, found, outlook: "reads", detail: "goes on where it ended" };
    return { ...part, found, outlook: "makes anew", detail: anew };
  } catch (error) {
    const isHeld = /lock on file/i.test(String(error));
    const found = isHeld
      ? "held by a service that runs"
      : `does not open: ${selectFirstLine(error)}`;
    return { ...part, found, outlook: "makes anew", detail: `${anew}, unless its schema is known` };
  }
}

function selectFirstLine(error: unknown): string {
  return String(error).split("\n", 1)[0]!;
}

async function readSchemaVersions(path: string, directory: string): Promise<number[]> {
  const database = await openDatabase(path, {
    memoryMegabytes: STORE_MEMORY_MB,
    exportDirectory: directory,
    access: "READ_ONLY",
  });
  try {
    const connection = await database.connect();
    try {
      const rows = await connection.rows("SELECT DISTINCT schema_version FROM applied");
      return rows.map(([version]) => Number(version));
    } finally {
      connection.close();
    }
  } finally {
    database.close();
  }
}

function inspectSigningKey({ root, bureauKey }: DataPaths): FormatPart {
  const known = `PEM; key set of format ${KEY_SET_FORMAT}`;
  if (!fs.existsSync(bureauKey)) return createMissingPart("signing key", known);
  return inspectOrRefuse("signing key", known, () => {
    const set = readKeySet(root, loadBureauKey(bureauKey, false).publicKey);
    const before = set === undefined ? 0 : set.links.length;
    return before === 0 ? "one key" : `one key, ${before} before it`;
  });
}

async function inspectApiKeys({ root }: DataPaths): Promise<FormatPart> {
  const known = "format 1";
  try {
    const { length } = await readKeyFile(root);
    return { part: "API keys", found: `${length} keys`, known, outlook: "reads", detail: "" };
  } catch (error) {
    return createRefusedPart("API keys", known, error);
  }
}

function inspectKaizen({ root }: DataPaths): FormatPart {
  return inspectOrRefuse("kaizen", "state.json as runs have left it", () => {
    const state = readKaizenState(join(root, KAIZEN_STATE_PATH));
    return state === undefined ? "none" : `champion ${state.champion}`;
  });
}

function inspectOrRefuse(part: string, known: string, look: () => string): FormatPart {
  try {
    return { part, found: look(), known, outlook: "reads", detail: "" };
  } catch (error) {
    return createRefusedPart(part, known, error);
  }
}

function createRefusedPart(part: string, known: string, error: unknown): FormatPart {
  const detail = (error as Error).message;
  return { part, found: "not readable", known, outlook: "refuses", detail };
}
