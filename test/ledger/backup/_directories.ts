// Data directories for the tests of backup and restore, and a file layer that stops at a given step.
import { mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { dirname, join, relative } from "node:path";
import { type FileLayer, diskFileLayer } from "../../../src/platform/files.ts";
import { loadBureauKey } from "../../../src/journal/signing-key.ts";
import { backUp } from "../../../src/ledger/backup/backup.ts";
import type { LedgerCore } from "../../../src/ledger/core.ts";
import { NOW_MS, openCore, recordOf, runOf } from "../_fixtures.ts";

/** A segment takes some five of the tests' batches. */
const SEGMENT_BYTES = 6000;
export const BATCH_RECORDS = 5;
/** Between two batches. */
export const STEP_MS = 60_000;

/** Writes files below a directory. */
export function writeFiles(root: string, contents: Readonly<Record<string, string>>): void {
  for (const [path, content] of Object.entries(contents)) {
    mkdirSync(dirname(join(root, path)), { recursive: true });
    writeFileSync(join(root, path), content);
  }
}

/** Every file below a directory by its content. */
export function readFiles(root: string): Record<string, string> {
  const paths = readdirSync(root, { recursive: true }).map(String).toSorted();
  const files = paths.filter((path) => statSync(join(root, path)).isFile());
  return Object.fromEntries(files.map((path) => [path, readFileSync(join(root, path), "latin1")]));
}

/** Inode by path: another one is another copy. */
export function inodesOf(root: string): Map<string, number> {
  const paths = readdirSync(root).map((name) => join(root, name));
  return new Map(paths.map((path) => [relative(root, path), statSync(path).ino]));
}

/** A journal that is open for more. */
export class GrowingJournal {
  readonly dataDir: string;
  readonly core: LedgerCore;
  #batches = 0;

  constructor(dataDir: string) {
    this.dataDir = dataDir;
    mkdirSync(join(dataDir, "journal"), { recursive: true });
    const key = loadBureauKey(join(dataDir, "bureau.key"));
    const options = { segmentBytesMax: SEGMENT_BYTES };
    this.core = openCore(join(dataDir, "journal"), key, options).core;
  }

  /** Commits so many batches, a step of time after one another. */
  grow(batches: number): void {
    for (let left = batches; left > 0; left--) {
      const from = this.#batches * BATCH_RECORDS + 1;
      const records = Array.from({ length: BATCH_RECORDS }, (_, n) => recordOf(from + n));
      this.core.commit([runOf(records)], timeOfBatch(++this.#batches));
    }
  }

  get position(): number {
    return this.#batches * BATCH_RECORDS;
  }
}

/** Time of the commit of the n-th batch, from 1 on; epoch ms. */
export function timeOfBatch(batch: number): number {
  return NOW_MS + batch * STEP_MS;
}

export function back(dataDir: string, target: string, files: FileLayer = diskFileLayer) {
  return backUp({ files, dataDir, target, nowMs: NOW_MS, madeBy: "0.0.0" });
}

/** The n-th change from now on does not happen any more, nor does any later one. */
export class Stopped extends Error {}

const CHANGES = [
  "makeDirectory",
  "write",
  "truncate",
  "syncData",
  "syncDirectory",
  "rename",
  "remove",
] as const;

/** The real files; `before` is called before each operation that changes them, with its name. */
export function watched(before: (operation: string, path: unknown) => void): FileLayer {
  const layer: FileLayer = { ...diskFileLayer };
  layer.open = (path, mode) => {
    if (mode !== "read") before("open", path);
    return diskFileLayer.open(path, mode);
  };
  for (const name of CHANGES) {
    Object.assign(layer, {
      [name]: (...parameters: never[]) => {
        before(name, parameters[0]);
        const operation: (...all: never[]) => unknown = diskFileLayer[name];
        return operation(...parameters);
      },
    });
  }
  return layer;
}

/** Stops at the `step`-th change, and looks at what is there then. */
export function stoppedAt(step: number, look: () => void = () => undefined): FileLayer {
  let left = step;
  return watched(() => {
    if (left-- > 0) return;
    if (left === -1) look();
    throw new Stopped();
  });
}

/** Runs `attempt` with a layer that stops ever later, until it ends by itself; returns the steps. */
export async function atEachStep(
  attempt: (files: FileLayer, step: number) => unknown,
  layerAt: (step: number) => FileLayer = stoppedAt,
): Promise<number> {
  for (let step = 0; ; step++) {
    try {
      await attempt(layerAt(step), step);
      return step;
    } catch (error) {
      if (!(error instanceof Stopped)) throw error;
    }
  }
}
