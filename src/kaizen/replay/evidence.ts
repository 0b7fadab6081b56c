// The journal as evidence: every outcome of the kinds that teach, with the features that its decision
// used, for the fit and for the attack scripts.
import { EVIDENCE_KINDS, type EvidenceKind, SIGNATURES } from "../../contract/vocabulary.ts";
import type { TableReader } from "../../engine/reader.ts";
import type { TableWriter } from "../../engine/writer.ts";
import type { ScoringConfig } from "../../engine/config.ts";
import { createWordColumn, readOutcomeHistory } from "./history.ts";
import type { OutcomeHistory } from "./history.ts";
import { replayHistory, foldHistoryUpTo } from "./replay.ts";
import type { AttackAgents } from "../gates/attacks/scripts.ts";
import type { FitRows, RowContext } from "../model/holdout.ts";
import { appendLegRow, createScorecardRows } from "../model/scorecard.ts";
import { parseNamespaceOfKey } from "../model/slices.ts";

/** Numbers that a draw can be. */
const DRAW_RANGE = 2 ** 32;

export interface SampleBounds {
  /** Rows wanted of more outcomes than that: on average, and within some thousandths. */
  readonly rowsMax: number;
  /**
   * Times that part the outcomes into stretches with an equal share of the rows each, epoch ms: a
   * holdout of weeks after training of years would have few.
   */
  readonly bordersMs: readonly number[];
  /** The same seed draws the same outcomes. */
  readonly seed: number;
}

/** A number of an outcome's own, 0 to 2^32 - 1: the finalizer of MurmurHash3. */
function hashOutcomeIndex(seed: number, i: number): number {
  let hash = (Math.imul(i, 0x9e37_79b1) ^ seed) >>> 0;
  hash = Math.imul(hash ^ (hash >>> 16), 0x85eb_ca6b);
  hash = Math.imul(hash ^ (hash >>> 13), 0xc2b2_ae35);
  return (hash ^ (hash >>> 16)) >>> 0;
}

/** Rows of each stretch: equal ones, but none more than it has; what that leaves goes to the others. */
export function allotRows(rowsMax: number, counts: readonly number[]): number[] {
  const shares = counts.map(() => 0);
  const smallestFirst = [...counts.keys()].toSorted((a, b) => counts[a]! - counts[b]!);
  let left = rowsMax;
  for (const [done, stretch] of smallestFirst.entries()) {
    const equal = left / (counts.length - done);
    shares[stretch] = Math.min(counts[stretch]!, equal);
    left -= shares[stretch];
  }
  return shares;
}

/**
 * Those of `candidates`, indices of outcomes, that become rows, in their order; all of them where
 * that are no more than `rowsMax`. With fewer rows wanted a part of the same ones is taken.
 */
export function sampleOutcomes(
  candidates: Uint32Array,
  settledMs: ArrayLike<number>,
  { rowsMax, bordersMs, seed }: SampleBounds,
): Uint32Array {
  if (candidates.length <= rowsMax) return candidates;
  const borders = Float64Array.from(bordersMs).toSorted();
  const findStretch = (i: number) => {
    let stretch = 0;
    while (stretch < borders.length && settledMs[i]! >= borders[stretch]!) stretch++;
    return stretch;
  };
  const counts = Array.from({ length: borders.length + 1 }, () => 0);
  for (const i of candidates) counts[findStretch(i)]! += 1;
  const shares = allotRows(rowsMax, counts);
  const limits = shares.map((share, at) =>
    counts[at] === 0 ? 0 : (share / counts[at]!) * DRAW_RANGE,
  );
  return candidates.filter((i) => hashOutcomeIndex(seed, i) < limits[findStretch(i)]!);
}

const REPORTER_SIGNATURE = SIGNATURES.indexOf("reporter");
const UNSIGNED = SIGNATURES.indexOf("none");
/** Frauds, and as many honest agents: a script has half of them for victims. */
const ATTACK_AGENTS_MAX = 40;
const RECORD_OUTCOMES_MIN = 5;
/** Outcomes from which the lag is told: more would not move a percentile. */
const LAG_OUTCOMES_MAX = 1_000_000;

export interface ReplayedEvidence {
  evidence: { check: FitRows; handshake: FitRows };
  /** Outcomes of which the rows are a sample; the number of rows where they are all. */
  rowsOf: number;
  /** Rows by who signed. */
  rowsByKind: Record<EvidenceKind, number>;
  /** 95th percentile of the time from settling to recording. */
  lagMs: number;
  writer: TableWriter;
  reader: TableReader;
  attackAgents: AttackAgents;
}

/** Table of scored rows: both legs of every outcome that may train. */
class EvidenceTable {
  readonly check: FitRows;
  readonly handshake: FitRows;
  readonly #context: Required<RowContext>;
  readonly #namespaces: string[] = [];
  /** Number of each agent's namespace, in order of first occurrence. */
  readonly #namespaceOf = new Map<string, number>();
  #count = 0;
  /** Rows of outcomes that are scored and not folded yet. */
  readonly #rowOf = new Map<number, number>();
  /** rho of the row's reporter, where it is in force. */
  readonly #credibility: Float64Array;

  readonly #history: OutcomeHistory;
  readonly #config: ScoringConfig;

  constructor(capacity: number, history: OutcomeHistory, config: ScoringConfig) {
    this.#history = history;
    this.#config = config;
    const shared = {
      failures: new Uint8Array(capacity),
      subjects: new Uint32Array(capacity),
      reporters: new Uint32Array(capacity),
      timesMs: new Float64Array(capacity),
      weights: new Float64Array(capacity),
      credibility: new Float64Array(capacity),
      context: {
        stakes: new Float64Array(capacity),
        stakesKnown: new Uint8Array(capacity),
        decided: new Uint8Array(capacity),
        namespaces: new Uint32Array(capacity),
        namespaceNames: this.#namespaces,
        agents: history.agents,
      },
    };
    this.#context = shared.context;
    this.#credibility = shared.credibility;
    this.check = { ...shared, rows: createScorecardRows(capacity) };
    this.handshake = { ...shared, rows: createScorecardRows(capacity) };
  }

  /** @param rho credibility of the outcome's reporter when it settled. */
  score(reader: TableReader, i: number, rho: number): void {
    const { check, handshake } = this;
    const history = this.#history;
    const config = this.#config;
    const subject = history.agents[history.subjects[i]!]!;
    const viewer = history.agents[history.reporters[i]!]!;
    const timeMs = history.settledMs[i]!;
    // Stakes that came with the outcome alone would give it away: no decision could have seen them.
    const isKnown = history.stakesKnown[i] === 1;
    const stakes = isKnown ? history.stakes[i]! : 0;
    reader.handshake(viewer, subject, stakes, timeMs);
    appendLegRow(handshake.rows, reader.legWords, reader.baseRate);
    reader.check(subject, stakes, timeMs);
    appendLegRow(check.rows, reader.legWords, reader.baseRate);
    const row = this.#count++;
    this.#rowOf.set(i, row);
    check.failures[row] = history.failures[i]!;
    check.subjects[row] = history.subjects[i]!;
    check.reporters[row] = history.reporters[i]!;
    check.timesMs[row] = timeMs;
    this.#context.stakes[row] = stakes;
    this.#context.stakesKnown[row] = isKnown ? 1 : 0;
    this.#context.decided[row] = history.decided?.[i] ?? 0;
    this.#context.namespaces[row] = this.#namespaceNumber(parseNamespaceOfKey(subject));
    const grade = config.grade_weights[history.grades[i]!]!;
    this.#credibility[row] = rho;
    check.weights[row] = grade * config.signature_weights[history.signatures[i]!]!;
  }

  /** What an incident's cap left of an outcome is all that it teaches. */
  weighByShare(i: number, share: number): void {
    const row = this.#rowOf.get(i);
    if (row === undefined) return;
    this.#rowOf.delete(i);
    this.check.weights[row]! *= share;
  }

  #namespaceNumber(name: string): number {
    const known = this.#namespaceOf.get(name);
    if (known !== undefined) return known;
    this.#namespaceOf.set(name, this.#namespaces.length);
    return this.#namespaces.push(name) - 1;
  }
}

/** Agents with the best and the worst records in these outcomes, for the attack scripts. */
function selectAttackAgents(
  history: OutcomeHistory,
  outcomes: Uint32Array,
  nowMs: number,
): AttackAgents {
  const bad = new Uint32Array(history.agents.length);
  const all = new Uint32Array(history.agents.length);
  for (const i of outcomes) {
    const subject = history.subjects[i]!;
    all[subject]! += 1;
    bad[subject]! += history.failures[i]!;
  }
  const ranked = [...all.keys()]
    .filter((agent) => all[agent]! >= RECORD_OUTCOMES_MIN)
    .toSorted((a, b) => bad[b]! / all[b]! - bad[a]! / all[a]! || a - b)
    .map((agent) => history.agents[agent]!);
  const size = Math.min(ATTACK_AGENTS_MAX, Math.floor(ranked.length / 3));
  return { frauds: ranked.slice(0, size), honest: size > 0 ? ranked.slice(-size) : [], nowMs };
}

function computeSettlementLagMs(
  { settledMs, recordedMs }: OutcomeHistory,
  outcomes: Uint32Array,
): number {
  const every = Math.ceil(outcomes.length / LAG_OUTCOMES_MAX) || 1;
  const lags = new Float64Array(Math.ceil(outcomes.length / every));
  for (let at = 0; at < lags.length; at++) {
    const i = outcomes[at * every]!;
    lags[at] = recordedMs[i]! - settledMs[i]!;
  }
  return lags.toSorted()[Math.floor(0.95 * (lags.length - 1))] ?? 0;
}

/** What `replayEvidence` leaves behind, for a run at `nowMs` that knows only what came before. */
export function replayTableUpTo(
  history: OutcomeHistory,
  nowMs: number,
  config: ScoringConfig,
): Pick<ReplayedEvidence, "writer" | "reader" | "attackAgents"> {
  const { writer, reader, count } = foldHistoryUpTo(history, nowMs, config);
  const outcomes = listTeachingOutcomes(history, EVIDENCE_KINDS).filter((i) => i < count);
  return { writer, reader, attackAgents: selectAttackAgents(history, outcomes, nowMs) };
}

/** What a replay leaves out, and who hears of its progress. */
export interface ReplayOptions {
  /** What came in later, epoch ms; absent: nothing. */
  readonly asOfMs?: number | undefined;
  /** Outcomes beyond a number of rows; absent: every one of the kinds becomes a row. */
  readonly sample?: SampleBounds | undefined;
  /** Kinds that become rows; absent: all. */
  readonly kinds?: readonly EvidenceKind[] | undefined;
  /** Called with the progress, 0 to 1. */
  readonly onShare?: (share: number) => void;
}

/** Replays the journal up to a durable position. */
export function replayJournal(
  directory: string,
  uptoLsn: number,
  config: ScoringConfig,
  options: ReplayOptions = {},
): ReplayedEvidence {
  const { asOfMs, onShare = () => undefined } = options;
  const history = readOutcomeHistory(directory, uptoLsn, (share) => onShare(share / 3), asOfMs);
  return replayEvidence(history, config, {
    ...options,
    onShare: (share) => onShare((1 + 2 * share) / 3),
  });
}

/** Who signed outcome `i`; undefined for an unsigned one. */
function findEvidenceKind(
  { signatures, imported }: OutcomeHistory,
  i: number,
): EvidenceKind | undefined {
  const signature = signatures[i];
  if (signature === UNSIGNED) return undefined;
  if (signature === REPORTER_SIGNATURE) return "reporter";
  return imported?.[i] === 1 ? "import" : "bureau";
}

/** Indices of the outcomes of these kinds. */
function listTeachingOutcomes(
  history: OutcomeHistory,
  kinds: readonly EvidenceKind[],
): Uint32Array {
  const found = createWordColumn();
  for (let i = 0; i < history.signatures.length; i++) {
    const kind = findEvidenceKind(history, i);
    if (kind !== undefined && kinds.includes(kind)) found.push(i);
  }
  return found.values();
}

function countRowsByKind(
  history: OutcomeHistory,
  outcomes: Uint32Array,
): ReplayedEvidence["rowsByKind"] {
  const counts = { reporter: 0, bureau: 0, import: 0 };
  for (const i of outcomes) counts[findEvidenceKind(history, i)!] += 1;
  return counts;
}

/**
 * Replays outcomes in order of position. Those of other kinds than the wanted ones stand in the
 * records that rows are scored by, as they do in service; no row, gate or gap rests on them.
 */
export function replayEvidence(
  history: OutcomeHistory,
  config: ScoringConfig,
  { sample, kinds = EVIDENCE_KINDS, onShare = () => undefined }: ReplayOptions = {},
): ReplayedEvidence {
  const all = listTeachingOutcomes(history, kinds);
  const chosen = sample === undefined ? all : sampleOutcomes(all, history.settledMs, sample);
  const table = new EvidenceTable(chosen.length, history, config);
  const { writer, reader, clockMs } = replayHistory(history, config, {
    wanted: chosen,
    visit: (scorer, i, rho) => table.score(scorer, i, rho),
    onFolded: (i, share) => table.weighByShare(i, share),
    onShare,
  });
  return {
    evidence: { check: table.check, handshake: table.handshake },
    rowsOf: all.length,
    rowsByKind: countRowsByKind(history, chosen),
    lagMs: computeSettlementLagMs(history, all),
    writer,
    reader,
    attackAgents: selectAttackAgents(history, all, clockMs),
  };
}
