// Plain word overlap, the baseline that a score has to beat: no stems, no weights, no sentences.
import { readFileSync } from "node:fs";

import type { LabelledRow } from "./grounding-rows.ts";

const LEXICON = new URL("../data/grounding/lexicon.json", import.meta.url);
const STOP = new Set((JSON.parse(readFileSync(LEXICON, "utf8")) as { stop: string[] }).stop);

const wordsOf = (text: string) => text.toLowerCase().match(/[\p{L}\p{N}]+/gu) ?? [];

/**
 * One minus the word overlap: the share of the response's content words (runs of letters and
 * digits that are not stop words, each once) that the source does not hold, 0 to 1.
 */
export function wordsAbsent(row: LabelledRow): number {
  const source = new Set(wordsOf(row.source));
  const content = new Set(wordsOf(row.resp).filter((word) => !STOP.has(word)));
  if (content.size === 0) return 0;
  return [...content].filter((word) => !source.has(word)).length / content.size;
}
