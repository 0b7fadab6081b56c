// Replay of the journal as evidence: every signed outcome with the features that its decision used.
// A private engine memory folds the journal in the order of recording, and an outcome is scored
// once everything recorded before it settled has been folded and nothing else: a decision never
// sees its own outcome, nor one that had not come in yet.
import { openEngineReader } from "../../engine/reader.ts";
import type { TableReader } from "../../engine/reader.ts";
import { openEngineWriter } from "../../engine/writer.ts";
import type { TableWriter } from "../../engine/writer.ts";
import type { ScoringConfig } from "../../engine/config.ts";
import { createEngineMemory } from "../../engine/memory.ts";
import { readHistory } from "./history.ts";
import type { History } from "./history.ts";
import type { AttackAgents } from "../gates/attacks.ts";
import type { FitRows } from "../model/holdout.ts";
import { appendRow, createRows } from "../model/scorecard.ts";
import { namespaceOf } from "../model/slices.ts";
import type { RowContext } from "../model/holdout.ts";

/** Index of `none` in SIGNATURES. */
const UNSIGNED = 0;
const SEED = 0x7472757374n;
const CAST_MAX = 60;
const RECORD_MIN = 5;
const CHUNK = 65_536;

export interface Replayed {
  evidence: { check: FitRows; handshake: FitRows };
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
  readonly #context: RowContext;
  readonly #namespaces: string[] = [];
  /** Number of each agent's namespace, in order of first occurrence. */
  readonly #namespaceOf = new Map<string, number>();
  #count = 0;

  constructor(capacity: number) {
    const shared = {
      failures: new Uint8Array(capacity),
      subjects: new Uint32Array(capacity),
      reporters: new Uint32Array(capacity),
      timesMs: new Float64Array(capacity),
      weights: new Float64Array(capacity),
      context: {
        stakes: new Float64Array(capacity),
        stakesKnown: new Uint8Array(capacity),
        namespaces: new Uint32Array(capacity),
        namespaceNames: this.#namespaces,
      },
    };
    this.#context = shared.context;
    this.check = { ...shared, rows: createRows(capacity) };
    this.handshake = { ...shared, rows: createRows(capacity) };
  }

  score(reader: TableReader, history: History, i: number, config: ScoringConfig): void {
    const { check, handshake } = this;
    const subject = history.agents[history.subjects[i]!]!;
    const viewer = history.agents[history.reporters[i]!]!;
    const timeMs = history.settledMs[i]!;
    // Stakes that came with the outcome alone would give it away: no decision could have seen them.
    const isKnown = history.stakesKnown[i] === 1;
    const stakes = isKnown ? history.stakes[i]! : 0;
    reader.handshake(viewer, subject, stakes, timeMs);
    appendRow(handshake.rows, reader.legWords, reader.baseRate);
    reader.check(subject, stakes, timeMs);
    appendRow(check.rows, reader.legWords, reader.baseRate);
    const row = this.#count++;
    check.failures[row] = history.failures[i]!;
    check.subjects[row] = history.subjects[i]!;
    check.reporters[row] = history.reporters[i]!;
    check.timesMs[row] = timeMs;
    this.#context.stakes[row] = stakes;
    this.#context.stakesKnown[row] = isKnown ? 1 : 0;
    this.#context.namespaces[row] = this.#namespaceNumber(namespaceOf(subject));
    const grade = config.grade_weights[history.grades[i]!]!;
    check.weights[row] = grade * config.signature_weights[history.signatures[i]!]!;
  }

  #namespaceNumber(name: string): number {
    const known = this.#namespaceOf.get(name);
    if (known !== undefined) return known;
    this.#namespaceOf.set(name, this.#namespaces.length);
    return this.#namespaces.push(name) - 1;
  }
}

/** Applies the standings that were journaled right before outcome `i`. */
function applyStandings(writer: TableWriter, { standings }: History, i: number): void {
  while (standings[0]?.before === i) writer.applyStandings(standings.shift()!.standings);
}

function fold(writer: TableWriter, history: History, i: number): void {
  writer.fold({
    subject: history.agents[history.subjects[i]!]!,
    reporter: history.agents[history.reporters[i]!]!,
    outcome: history.failures[i] === 1 ? 0 : 1,
    stakes: history.stakes[i]!,
    gradeIndex: history.grades[i]!,
    signatureIndex: history.signatures[i]!,
    settledAtMs: history.settledMs[i]!,
    voice: history.voices[i]!,
  });
}

/** Agents with the best and the worst records, for the attack scripts. */
function attackAgentsOf(history: History, nowMs: number): AttackAgents {
  const bad = new Uint32Array(history.agents.length);
  const all = new Uint32Array(history.agents.length);
  history.subjects.forEach((subject, i) => {
    all[subject]! += 1;
    bad[subject]! += history.failures[i]!;
  });
  const ranked = [...all.keys()]
    .filter((agent) => all[agent]! >= RECORD_MIN)
    .toSorted((a, b) => bad[b]! / all[b]! - bad[a]! / all[a]! || a - b)
    .map((agent) => history.agents[agent]!);
  const size = Math.min(CAST_MAX, Math.floor(ranked.length / 3));
  return { frauds: ranked.slice(0, size), honest: size > 0 ? ranked.slice(-size) : [], nowMs };
}

function lagOf(history: History): number {
  const lags = Float64Array.from(history.recordedMs, (at, i) => at - history.settledMs[i]!);
  return lags.toSorted()[Math.floor(0.95 * (lags.length - 1))] ?? 0;
}

/**
 * Replays the journal up to a durable position, without what came in after `asOfMs`. Calls `onShare`
 * with the progress, 0 to 1.
 */
export function replayJournal(
  directory: string,
  uptoLsn: number,
  config: ScoringConfig,
  onShare: (share: number) => void,
  asOfMs?: number,
): Replayed {
  const history = readHistory(directory, uptoLsn, (share) => onShare(share / 3), asOfMs);
  const count = history.subjects.length;
  const memory = createEngineMemory();
  const writer = openEngineWriter(memory, config, SEED);
  const reader = openEngineReader(memory, 1);
  const eligible = [...history.signatures.keys()].filter((i) => history.signatures[i] !== UNSIGNED);
  const order = eligible.toSorted((a, b) => history.settledMs[a]! - history.settledMs[b]! || a - b);
  const table = new EvidenceTable(order.length);
  let next = 0;
  let clockMs = 0;
  for (let i = 0; i < count; i++) {
    clockMs = Math.max(clockMs, history.recordedMs[i]!);
    while (next < order.length && history.settledMs[order[next]!]! <= clockMs) {
      table.score(reader, history, order[next++]!, config);
    }
    applyStandings(writer, history, i);
    fold(writer, history, i);
    if (i % CHUNK === 0) onShare(1 / 3 + (2 * i) / (3 * count));
  }
  applyStandings(writer, history, count);
  return {
    evidence: { check: table.check, handshake: table.handshake },
    lagMs: lagOf(history),
    writer,
    reader,
    attackAgents: attackAgentsOf(history, clockMs),
  };
}
