// Citations of eval:grounding: the cited page against pages of other sources, by the best window
// alone, and answers whose sentences cite several pages by markers, in order and in disorder.
import { FEATURE_WINDOW, ONE } from "../assembly/grounding/layout.ts";
import { computeAuc } from "../src/kaizen/model/forecast-metrics.ts";
import { readGroundingNumbers } from "../src/vault/grounding/tables.ts";
import type { CitedSource } from "../src/vault/sources/statuses.ts";
import { isHardMismatch } from "../src/vault/sources/statuses.ts";
import { TextScorer } from "../src/vault/grounding/text-scorer.ts";
import type { LabelledRow, RowBench } from "./grounding-rows.ts";

/** Pages of other groups drawn for every true citation. */
const STRANGERS = 4;
/** Claims of one answer, each from a source of its own. */
const CLAIMS = 3;

const round = (value: number) => Math.round(value * 1e4) / 1e4;

interface CitedPair {
  /** Share of the claim's weight that the best two neighbouring sentences lack, of 1024. */
  miss: number;
  isStranger: number;
  /** False when the claim has too few words for a sign of its page. */
  isAssessed: boolean;
}

/** The cited page against pages of other groups, by the best window alone. */
function citationMismatch(bench: RowBench, cited: readonly LabelledRow[]): CitedPair[] {
  const pairs: CitedPair[] = [];
  const add = (row: LabelledRow, page: LabelledRow, isStranger: number) => {
    const reading = bench.reader.score(row.resp, "", [bench.documentOf(page).number], ONE);
    if (reading === undefined || reading.sentenceCount === 0) return;
    const kept = Array.from({ length: reading.sentenceCount }, (_, at) =>
      bench.reader.viewSentenceRow(at),
    );
    const miss = Math.min(...kept.map((each) => each[FEATURE_WINDOW]!));
    pairs.push({ miss, isStranger, isAssessed: bench.reader.readBestWindow(0) >= 0 });
  };
  for (const [at, row] of cited.entries()) {
    add(row, row, 0);
    for (let step = 1; step <= STRANGERS; step++) {
      let other = (at + step * 37) % cited.length;
      for (let tries = 0; tries < cited.length && cited[other]!.group === row.group; tries++) {
        other = (other + 1) % cited.length;
      }
      add(row, cited[other]!, 1);
    }
  }
  return pairs;
}

/** Share of assessed pairs whose best window is below `at`. */
function shareBelow(pairs: readonly CitedPair[], isStranger: number, at: number): number {
  const chosen = pairs.filter((pair) => pair.isAssessed && pair.isStranger === isStranger);
  const below = chosen.filter(({ miss }) => ONE - miss < at);
  return round(below.length / Math.max(1, chosen.length));
}

function supportedCitations(rows: readonly LabelledRow[]): LabelledRow[] {
  return rows.filter((row) => row.task === "Citation" && row.label3 !== "not_supported");
}

/** Members of the report about citations. */
export function citationReport(bench: RowBench, rows: readonly LabelledRow[]) {
  const cited = supportedCitations(rows);
  const pairs = citationMismatch(bench, cited);
  const { soft, hard } = readGroundingNumbers().citation;
  const at = (limit: number) => ({
    false_alarms: shareBelow(pairs, 0, limit),
    caught: shareBelow(pairs, 1, limit),
  });
  return {
    citation_mismatch_auroc: round(
      computeAuc(
        pairs.map(({ miss }) => miss),
        pairs.map(({ isStranger }) => isStranger),
      ),
    ),
    citation: {
      pairs: pairs.length,
      assessed: pairs.filter(({ isAssessed }) => isAssessed).length,
      soft: at(soft),
      hard: at(hard),
    },
    markers: markerReport(bench, cited),
  };
}

/** Whether any source of an answer is a mismatch, and whether it is certain. */
interface Flag {
  isDoubted: boolean;
  isHard: boolean;
}

/** Answers of several claims: marked as they were, marked one source off, and not marked at all. */
function markerReport(bench: RowBench, cited: readonly LabelledRow[]) {
  const answers: LabelledRow[][] = [];
  for (let at = 0; at + CLAIMS <= cited.length; at++) {
    const rows = Array.from(
      { length: CLAIMS },
      (_, step) => cited[(at + step * 53) % cited.length]!,
    );
    if (new Set(rows.map(({ group }) => group)).size === CLAIMS) answers.push(rows);
  }
  const shares = (marker: (claim: number) => string) => {
    const flags = answers.map((rows) => flagOf(bench, rows, marker));
    const share = (pick: (flag: Flag) => boolean) =>
      round(flags.filter(pick).length / Math.max(1, flags.length));
    return { doubted: share(({ isDoubted }) => isDoubted), hard: share(({ isHard }) => isHard) };
  };
  return {
    answers: answers.length,
    right: shares((claim) => ` [${claim + 1}]`),
    wrong: shares((claim) => ` [${((claim + 1) % CLAIMS) + 1}]`),
    unmarked: shares(() => ""),
  };
}

function flagOf(bench: RowBench, rows: readonly LabelledRow[], marker: (claim: number) => string) {
  const sentences = rows.map(({ resp }, claim) => {
    const text = resp.trim().replace(/[.!?]+$/, "");
    return `${text}${marker(claim)}.`;
  });
  const texts = rows.map((row, at) => {
    const document = bench.documentOf(row).number;
    const cited: CitedSource = {
      id: `page-${at}`,
      status: "SOURCE_VERIFIED",
      number: at,
      document,
    };
    return { cited, document };
  });
  const ids = texts.map(({ cited }) => cited.id);
  const scorer = new TextScorer(bench.reader, readGroundingNumbers().citation);
  scorer.score({ content: sentences.join(" "), question: "", texts, ids }, ONE);
  const mismatched = texts.filter(({ cited }) => cited.status === "CITATION_MISMATCH");
  return {
    isDoubted: mismatched.length > 0,
    isHard: mismatched.some(({ cited }) => isHardMismatch(cited)),
  };
}
