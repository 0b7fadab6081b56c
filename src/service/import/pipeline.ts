// Import pipeline: rows of a file, shifted in time on request, in batches to a sink (the ledger of
// this process or a running server). Several batches are on their way at once, in order, so that
// parsing and syncing overlap.
import { createHash } from "node:crypto";
import { accessSync, closeSync, constants, fstatSync, openSync, readSync } from "node:fs";
import { basename } from "node:path";

import { ServiceFault } from "../../contract/faults.ts";
import { BATCH_ITEMS_MAX } from "../../contract/limits.ts";
import type { ImportedOutcome } from "../../contract/schemas/outcomes.ts";
import { RATINGS_SOURCE } from "../../contract/vocabulary.ts";
import { CommandFailure } from "../failure.ts";
import { readOutcomes } from "./read-outcomes.ts";
import type { ImportFormat } from "../../contract/views.ts";

const BATCHES_IN_FLIGHT_MAX = 4;
const DIGEST_PIECE_BYTES = 1024 * 1024;

export interface ImportOptions {
  readonly path: string;
  readonly format: ImportFormat;
  /** Of `snap-ratings`, whose agents are bare numbers. */
  readonly namespace: string;
  /** Shift all times so that the newest is `nowMs`. */
  readonly isRebased: boolean;
  readonly nowMs: number;
  /** Tenant that reported the rows that name none; undefined: the importing key's. */
  readonly tenant?: string | undefined;
  /** Of the rows that do not say whether they are first-party; undefined: they are. */
  readonly isFirstParty?: boolean | undefined;
  /** More bad lines than this end the import. */
  readonly badLinesMax: number;
}

export interface BadLine {
  readonly line: number;
  readonly code: string;
  readonly detail: string;
}

export interface ImportSummary {
  readonly source: string;
  accepted: number;
  duplicates: number;
  readonly rejected: BadLine[];
}

/** Result of one batch; `index` counts within it. */
export interface BatchReport {
  readonly accepted: number;
  readonly duplicates: number;
  readonly rejected: readonly { index: number; code: string; detail: string }[];
}

/** Takes one batch; batches are given in order and may overlap. */
export type ImportSink = (batch: ImportedOutcome[], source: string) => Promise<BatchReport>;

/**
 * Checks that the file can be read.
 * @throws CommandFailure when it cannot: the user's to mend, not a crash.
 */
export function requireReadable(path: string): void {
  try {
    accessSync(path, constants.R_OK);
  } catch (error) {
    throw new CommandFailure(`cannot read \`${path}\`: ${(error as Error).message}`);
  }
}

/** Size and digest: the one for progress, the other for the identity of rows. */
function readSizeAndDigest(path: string): { bytes: number; digest: string } {
  requireReadable(path);
  const descriptor = openSync(path, "r");
  try {
    const bytes = fstatSync(descriptor).size;
    const hash = createHash("sha256");
    const piece = Buffer.allocUnsafe(DIGEST_PIECE_BYTES);
    for (;;) {
      const taken = readSync(descriptor, piece, 0, piece.length, null);
      if (taken === 0) return { bytes, digest: hash.digest("hex").slice(0, 32) };
      hash.update(piece.subarray(0, taken));
    }
  } finally {
    closeSync(descriptor);
  }
}

/** Shift of all times in ms: the newest of the file lands on now. */
function computeRebaseShiftMs(options: ImportOptions): number {
  let newestMs = Number.NEGATIVE_INFINITY;
  for (const { outcome } of readOutcomes(options.path, options.format, options.namespace)) {
    if (outcome instanceof ServiceFault || outcome.settled_at === undefined) continue;
    newestMs = Math.max(newestMs, outcome.settled_at);
  }
  return Number.isFinite(newestMs) ? options.nowMs - newestMs : 0;
}

/**
 * Imports a whole file. A row without an `id` gets one from the file's digest and its line, so that
 * an import that was cut short can simply be run again: rows already recorded count as duplicates.
 * @throws CommandFailure when the file cannot be read or holds too many bad lines.
 */
export async function importOutcomeFile(
  options: ImportOptions,
  sink: ImportSink,
  onProgress: (doneBytes: number, totalBytes: number) => void,
): Promise<ImportSummary> {
  const { bytes, digest } = readSizeAndDigest(options.path);
  const shiftMs = options.isRebased ? computeRebaseShiftMs(options) : 0;
  const origin = options.format === "snap-ratings" ? RATINGS_SOURCE : "import:";
  const source = origin + basename(options.path);
  const run = new ImportRun(sink, { source, accepted: 0, duplicates: 0, rejected: [] }, options);
  let readBytes = 0;
  for (const row of readOutcomes(options.path, options.format, options.namespace)) {
    readBytes += row.bytes;
    if (row.outcome instanceof ServiceFault) {
      run.reject({ line: row.line, code: row.outcome.code, detail: row.outcome.detail });
      continue;
    }
    row.outcome.id ??= `file:${digest}:${row.line}`;
    if (row.outcome.settled_at !== undefined) row.outcome.settled_at += shiftMs;
    if (options.tenant !== undefined) row.outcome.tenant ??= options.tenant;
    if (options.isFirstParty !== undefined) row.outcome.first_party ??= options.isFirstParty;
    if (run.add(row.outcome, row.line)) {
      await run.send();
      onProgress(readBytes, bytes);
    }
  }
  return run.finish();
}

class ImportRun {
  readonly #sink: ImportSink;
  readonly #summary: ImportSummary;
  readonly #options: ImportOptions;
  readonly #inFlight: Promise<void>[] = [];
  #batch: ImportedOutcome[] = [];
  #lines: number[] = [];

  constructor(sink: ImportSink, summary: ImportSummary, options: ImportOptions) {
    this.#sink = sink;
    this.#summary = summary;
    this.#options = options;
  }

  reject(bad: BadLine): void {
    this.#summary.rejected.push(bad);
    if (this.#summary.rejected.length <= this.#options.badLinesMax) return;
    const shown = this.#summary.rejected.slice(0, 5).map(describeBadLine);
    throw new CommandFailure(
      `more than ${this.#options.badLinesMax} bad lines in \`${this.#options.path}\`, ` +
        `${this.#summary.accepted} outcomes were taken before:\n${shown.join("\n")}`,
    );
  }

  /** True when the batch is full. */
  add(outcome: ImportedOutcome, line: number): boolean {
    this.#batch.push(outcome);
    this.#lines.push(line);
    return this.#batch.length === BATCH_ITEMS_MAX;
  }

  /** Sends the batch, and waits only while too many are on their way. */
  async send(): Promise<void> {
    const sent = this.#settle(this.#sink(this.#batch, this.#summary.source), this.#lines);
    // Awaited below in order; this only keeps an early failure from counting as unhandled.
    sent.catch(() => undefined);
    this.#inFlight.push(sent);
    this.#batch = [];
    this.#lines = [];
    if (this.#inFlight.length >= BATCHES_IN_FLIGHT_MAX) await this.#inFlight.shift();
  }

  async #settle(sent: Promise<BatchReport>, lines: readonly number[]): Promise<void> {
    const report = await sent;
    this.#summary.accepted += report.accepted;
    this.#summary.duplicates += report.duplicates;
    for (const { index, code, detail } of report.rejected) {
      this.reject({ line: lines[index]!, code, detail });
    }
  }

  async finish(): Promise<ImportSummary> {
    if (this.#batch.length > 0) await this.send();
    for (const sent of this.#inFlight) await sent;
    this.#summary.rejected.sort((first, second) => first.line - second.line);
    return this.#summary;
  }
}

/** `line 12:` and the fault of that line. */
export function describeBadLine(bad: BadLine): string {
  return `line ${bad.line}: ${bad.detail}`;
}
