// Fitted numbers and word lists of `data/grounding`, and their way into the module's tables. Must
// be complete before the first document is indexed: stems of an index depend on them.
import { createHash } from "node:crypto";
import { readFileSync } from "node:fs";

import {
  FEATURES_COUNT,
  FOLD_COUNT,
  GROUNDING_CAPITALS,
  GROUNDING_FOLDS,
  GROUNDING_HEADER,
  NUMBERS_ABSENT,
  NUMBERS_BIAS,
  NUMBERS_CONTRADICTED,
  NUMBERS_FACTS,
  NUMBERS_IDF_UNSEEN,
  NUMBERS_WEIGHTS,
  WORD_CONTRAST,
  WORD_NEGATION,
  WORD_NUMBER,
  WORD_REFUSAL,
  WORD_STOP,
} from "../../../assembly/grounding/layout.ts";
import { fillFoldTables } from "./characters.ts";
import type { GroundingExports } from "./module.ts";
import type { TextKind } from "../../contract/vocabulary.ts";

/** `data/grounding/numbers.json`, written by `npm run bench -- fit-grounding`. Risks and weights in 1/1024. */
export interface GroundingNumbers {
  weights: number[];
  bias: number;
  text: TextNumbers;
  idf_unseen: number;
  kinds: Record<TextKind, KindNumbers>;
  /**
   * Best window of a citing sentence in the cited document: below `soft` a reason, below `hard` a
   * hard failure.
   */
  citation: { soft: number; hard: number };
  /** Per task of the labelled rows, the best F1: for evaluation only, never for a verdict. */
  f1_at: Record<string, number>;
}

/** Of the text as a whole, added to the risk of its sentences. */
export interface TextNumbers {
  /** Weight of the share of words that no document holds. */
  absent: number;
  /** Weight of the numbers and names that no document holds. */
  facts: number;
  /** Least risk of a text that contradicts a document. */
  contradicted: number;
}

export interface KindNumbers {
  /** Share of the two worst sentences in the risk, the rest being the mean of all. */
  top_share: number;
  /** Risk from which the penalty begins. */
  tau_lo: number;
  /** Risk from which the text alone is called hallucinated. */
  tau_hi: number;
  /** Clean sources of the calibration of the thresholds, one text of each. */
  sources: number;
  /** Bounds on the share of clean texts at or above each threshold; 0 for a default. */
  alpha_lo: number;
  alpha_hi: number;
}

interface Lexicon {
  stop: string[];
  negation: string[];
  refusal: string[];
  contrast: string[];
  numbers: Record<string, string>;
  lookalikes: Record<string, string>;
}

const FOLDER = new URL("../../../data/grounding/", import.meta.url);

function readGroundingJson(name: string): unknown {
  return JSON.parse(readFileSync(new URL(name, FOLDER), "utf8"));
}

/** The shipped numbers. */
export function readGroundingNumbers(): GroundingNumbers {
  return readGroundingJson("numbers.json") as GroundingNumbers;
}

/** The shipped weights of stems: weight in 1/16 to hashes of stems. */
export function readStemWeights(): [stem: number, weight: number][] {
  const byWeight = readGroundingJson("idf.json") as Record<string, number[]>;
  return Object.entries(byWeight).flatMap(([weight, stems]) =>
    stems.map((stem): [number, number] => [stem, Number(weight)]),
  );
}

/** Short name of everything on which scores depend: weights, bias, stems' weights, word lists. */
export function computeGroundingModelName(): string {
  const { weights, bias, text, idf_unseen, kinds } = readGroundingNumbers();
  const shares = Object.values(kinds).map(({ top_share }) => top_share);
  const fitted = JSON.stringify([weights, bias, text, idf_unseen, shares]);
  const tables = ["idf.json", "lexicon.json"].map((name) => readFileSync(new URL(name, FOLDER)));
  return createHash("sha256")
    .update(fitted)
    .update(Buffer.concat(tables))
    .digest("hex")
    .slice(0, 12);
}

/** FNV-1a over UTF-16 units, as the module hashes words. */
export function hashWord(word: string): number {
  let hash = 0x811c9dc5;
  for (let at = 0; at < word.length; at++) {
    hash = Math.imul(hash ^ word.charCodeAt(at), 0x01000193);
  }
  return hash >>> 0;
}

/** Writer: folding and lexicon, once per memory. */
export function installLanguage(memory: WebAssembly.Memory, exports: GroundingExports): void {
  const lexicon = readGroundingJson("lexicon.json") as Lexicon;
  fillFoldTables(
    new Uint16Array(memory.buffer, GROUNDING_FOLDS, FOLD_COUNT),
    new Uint8Array(memory.buffer, GROUNDING_CAPITALS, FOLD_COUNT >> 3),
    new Map(Object.entries(lexicon.lookalikes)),
  );
  const classes = [
    [lexicon.stop, WORD_STOP],
    [lexicon.negation, WORD_NEGATION],
    [lexicon.refusal, WORD_REFUSAL],
    [lexicon.contrast, WORD_CONTRAST],
  ] as const;
  for (const [words, flag] of classes) {
    for (const word of words) exports.addWord(hashWord(word), flag, 0, 0);
  }
  for (const [word, digits] of Object.entries(lexicon.numbers)) {
    const hash = hashWord(digits);
    exports.addWord(hashWord(word), WORD_NUMBER, hash, hash);
  }
}

/** Writer: weights and bias. Not while another thread scores. */
export function installNumbers(memory: WebAssembly.Memory, numbers: GroundingNumbers): void {
  const header = new DataView(memory.buffer, GROUNDING_HEADER, 256);
  header.setInt32(NUMBERS_BIAS, numbers.bias, true);
  header.setInt32(NUMBERS_ABSENT, numbers.text.absent, true);
  header.setInt32(NUMBERS_FACTS, numbers.text.facts, true);
  header.setInt32(NUMBERS_CONTRADICTED, numbers.text.contradicted, true);
  header.setUint32(NUMBERS_IDF_UNSEEN, numbers.idf_unseen, true);
  for (let at = 0; at < FEATURES_COUNT; at++) {
    header.setInt32(NUMBERS_WEIGHTS + at * 4, numbers.weights[at]!, true);
  }
}

/** Writer: weights of stems, at most IDF_ENTRIES_MAX. */
export function installWeights(
  exports: GroundingExports,
  weights: Iterable<readonly [stem: number, weight: number]>,
): void {
  for (const [stem, weight] of weights) exports.addWeight(stem, weight);
}
