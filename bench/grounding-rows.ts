// Labelled rows of grounding (one JSON object per line), indexed and scored by the real module, for
// fitting and evaluation. The rows stay where they are: only fitted numbers leave this folder.
import { createHash } from "node:crypto";
import { readdirSync, readFileSync } from "node:fs";
import { basename, join } from "node:path";

import {
  DOCUMENT_SLOTS,
  DOCUMENT_TABLE,
  FEATURES_COUNT,
  GROUNDING_DIRECTORY,
  IDF_ENTRIES_MAX,
  ROW_END,
  ROW_START,
} from "../assembly/grounding/layout.ts";
import { flattenDocument } from "../src/vault/grounding/flatten.ts";
import { GroundingReader, GroundingWriter } from "../src/vault/grounding/grounding.ts";
import { createGroundingMemory } from "../src/vault/grounding/module.ts";
import type { GroundingNumbers } from "../src/vault/grounding/tables.ts";
import { isQuestionCounted, classifyText } from "../src/vault/calibration/text-kinds.ts";
import type { TextKind } from "../src/contract/vocabulary.ts";

/** One labelled response. `label` 1: hallucinated or unsupported. */
export interface LabelledRow {
  file: string;
  ds: string;
  group: string;
  task: string;
  query: string;
  source: string;
  source_json?: string;
  resp: string;
  label: number;
  label3?: string;
  spans?: { start: number; end: number }[];
}

/** Reads every `*.jsonl` of a folder; rows keep the file they came from. */
export function readRows(folder: string): LabelledRow[] {
  const names = readdirSync(folder).filter((name) => name.endsWith(".jsonl"));
  return names.toSorted().flatMap((name) => readFile(join(folder, name), basename(name, ".jsonl")));
}

function readFile(path: string, file: string): LabelledRow[] {
  const lines = readFileSync(path, "utf8").split("\n");
  return lines
    .filter((line) => line.trim() !== "")
    .map((line) => Object.assign(JSON.parse(line) as LabelledRow, { file }));
}

/** A short name of a row's group: rows of one source are never split. */
export function groupDigest(row: LabelledRow): string {
  return createHash("sha256").update(`${row.ds}\n${row.group}`).digest("hex").slice(0, 10);
}

/** Kinds of the rows of each task. */
const TASK_KINDS: Readonly<Record<string, TextKind>> = {
  Citation: "claim",
  Data2txt: "data",
  Dialog: "dialogue",
  QA: "qa",
  Summary: "summary",
};

/** The kind of a row: its task's, else as the service would infer it. */
export function kindOfRow(row: LabelledRow): TextKind {
  const isStructured = row.source_json !== undefined;
  return TASK_KINDS[row.task] ?? classifyText({ question: row.query }, isStructured, false);
}

export const FOLDS = 5;

export function foldOf(row: LabelledRow): number {
  return Number.parseInt(groupDigest(row), 16) % FOLDS;
}

/** The question of a row, where its kind has one. */
export function questionOf(row: LabelledRow): string {
  return isQuestionCounted(kindOfRow(row)) ? row.query : "";
}

/** One row for the fit: features of each scored sentence, and whether it is at fault. */
export interface RowFeatures {
  row: LabelledRow;
  sentences: Float64Array[];
  labels: number[];
}

/** Every document of the rows indexed once; tables may change between scores. */
export class RowBench {
  readonly writer: GroundingWriter;
  readonly reader: GroundingReader;
  readonly #memory = createGroundingMemory();
  readonly #documents = new Map<string, { number: number; stems: Set<number> }>();

  constructor() {
    this.writer = new GroundingWriter(this.#memory);
    this.reader = new GroundingReader(this.#memory);
  }

  documentOf(row: LabelledRow) {
    const key = row.source_json ?? row.source;
    const known = this.#documents.get(key);
    if (known !== undefined) return known;
    const flat = flatten(row);
    const number = this.writer.buildAndPublish(flat.text, flat.leaves);
    const document = { number, stems: this.#stemsOf(number) };
    this.#documents.set(key, document);
    return document;
  }

  /** Content and number stems of a document: the keys of its table that have postings. */
  #stemsOf(number: number): Set<number> {
    const view = new DataView(this.#memory.buffer);
    const index = view.getUint32(GROUNDING_DIRECTORY + number * 4, true);
    const slots = view.getUint32(index + DOCUMENT_SLOTS, true);
    const stems = new Set<number>();
    for (let slot = 0; slot < slots; slot++) {
      const at = index + DOCUMENT_TABLE + slot * 8;
      if (view.getUint32(at + 4, true) >= 2) stems.add(view.getUint32(at, true));
    }
    return stems;
  }

  /** Inverse document frequencies in 1/16 of the commonest stems of these rows' sources. */
  idfOf(rows: readonly LabelledRow[]): { weights: Map<number, number>; unseen: number } {
    const documents = new Set(rows.map((row) => this.documentOf(row)));
    const seen = new Map<number, number>();
    for (const { stems } of documents) {
      for (const stem of stems) seen.set(stem, (seen.get(stem) ?? 0) + 1);
    }
    const common = [...seen].toSorted((a, b) => b[1] - a[1] || a[0] - b[0]);
    const weigh = (count: number) =>
      Math.max(1, Math.round(16 * Math.log((documents.size + 1) / count)));
    const weights = new Map(
      common.slice(0, IDF_ENTRIES_MAX).map(([stem, count]) => [stem, weigh(count)] as const),
    );
    return { weights, unseen: Math.max(0, ...weights.values()) + 1 };
  }

  /** Installs numbers; stems that an earlier table held and this one does not weigh as unseen. */
  install(numbers: GroundingNumbers, weights: ReadonlyMap<number, number>): void {
    const forgotten = [...this.#installed].filter((stem) => !weights.has(stem));
    const unseen = forgotten.map((stem): [number, number] => [stem, numbers.idf_unseen]);
    this.writer.installNumbersAndWeights(numbers, [...unseen, ...weights]);
    for (const stem of weights.keys()) this.#installed.add(stem);
  }

  readonly #installed = new Set<number>();

  featuresOf(row: LabelledRow): RowFeatures {
    const { number } = this.documentOf(row);
    const reading = this.reader.score(row.resp, questionOf(row), [number], 1024)!;
    const kept = GroundingReader.countSentenceRows(reading);
    const rows = Array.from({ length: kept }, (_, at) => this.reader.viewSentenceRow(at));
    return {
      row,
      sentences: rows.map((each) => Float64Array.from(each.subarray(0, FEATURES_COUNT))),
      labels: rows.map((each) => sentenceLabel(row, each[ROW_START]!, each[ROW_END]!)),
    };
  }
}

function flatten(row: LabelledRow) {
  if (row.source_json === undefined) return flattenDocument(row.source, "text/plain");
  const inner: unknown = JSON.parse(row.source_json);
  const text = typeof inner === "string" ? inner : row.source_json;
  return flattenDocument(text, "application/json");
}

function sentenceLabel(row: LabelledRow, start: number, end: number): number {
  if (row.spans === undefined) return row.label;
  return row.spans.some((span) => span.start < end && span.end > start) ? 1 : 0;
}
