// Replay of a history through a private engine memory, in the order of recording. An outcome is looked
// at once everything recorded before it settled has been folded and nothing else: a decision never
// sees its own outcome, nor one that had not come in yet.
import { computeIncidentTimeMs } from "../../journal/incidents.ts";
import type { TableWriter } from "../../engine/writer.ts";
import type { OutcomeHistory } from "./history.ts";
import { FLAG_CREDIBILITY } from "../../../assembly/layout.ts";
import type { StandingsPart } from "../../engine/reading.ts";
import { openEngineReader } from "../../engine/reader.ts";
import type { TableReader } from "../../engine/reader.ts";
import { openEngineWriter } from "../../engine/writer.ts";
import type { ScoringConfig } from "../../engine/config.ts";
import { createEngineMemory } from "../../engine/memory.ts";

export class AssessmentCursor {
  readonly #assessments: OutcomeHistory["assessments"];
  readonly #writer: Pick<TableWriter, "foldAssessment">;
  #next = 0;

  constructor({ assessments }: OutcomeHistory, writer: Pick<TableWriter, "foldAssessment">) {
    this.#assessments = assessments;
    this.#writer = writer;
  }

  /**
   * Folds those that were journaled before outcome `i` and made by `clockMs`; `upTo` is called with the
   * time of each before. An imported outcome settled long before it was recorded: what was found
   * meanwhile waits, so that it does not see it.
   */
  foldUpTo(i: number, clockMs: number, upTo: (timeMs: number) => void = () => undefined): void {
    for (;;) {
      const due = this.#assessments[this.#next];
      if (due === undefined || due.before > i || due.assessment.assessedAtMs > clockMs) return;
      upTo(due.assessment.assessedAtMs);
      this.#writer.foldAssessment(due.assessment);
      this.#next++;
    }
  }
}

/** Credibility of reporters as the journal's batches wrote it, outcome by outcome. */
export class ReporterCredibilities {
  readonly #least: number;
  readonly #rho = new Map<string, number>();
  #isInForce = false;

  /** @param least rho of a stranger. */
  constructor(least: number) {
    this.#least = least;
  }

  take({ isInForce, agents }: StandingsPart): void {
    this.#isInForce = isInForce;
    for (const { agent, flags, credibility } of agents) {
      if ((flags & FLAG_CREDIBILITY) === 0) this.#rho.delete(agent);
      else this.#rho.set(agent, credibility);
    }
  }

  /** rho of a reporter that signs, as the fold weighs it; 1 while none is in force. */
  of(agent: string): number {
    if (!this.#isInForce) return 1;
    return Math.min(1, Math.max(this.#least, this.#rho.get(agent) ?? 0));
  }
}

/** Of the tables that replays make. */
export const REPLAY_SEED = 0x7472757374n;
const CHUNK = 65_536;

/** An engine over a history, and the clock at its end, epoch ms. */
export interface ReplayedTable {
  writer: TableWriter;
  reader: TableReader;
  clockMs: number;
}

/** Called for an outcome before it is folded; `rho`: credibility of its reporter at that time. */
export type OutcomeVisitor = (reader: TableReader, i: number, rho: number) => void;

/** Cursor over standings and marks of revoked keys: each is applied before the outcome it preceded. */
class EventCursor {
  readonly #history: OutcomeHistory;
  readonly #writer: TableWriter;
  readonly #credibilities: ReporterCredibilities;
  #batch = 0;
  #mark = 0;

  constructor(history: OutcomeHistory, writer: TableWriter, credibilities: ReporterCredibilities) {
    this.#history = history;
    this.#writer = writer;
    this.#credibilities = credibilities;
  }

  /** Applies what was journaled right before outcome `i`. */
  applyAt(i: number): void {
    const { standings, marks } = this.#history;
    while (standings[this.#batch]?.before === i) {
      const { standings: batch } = standings[this.#batch++]!;
      this.#writer.applyStandings(batch);
      this.#credibilities.take(batch);
    }
    while (marks[this.#mark]?.before === i) {
      const { agent, isRevoked } = marks[this.#mark++]!.mark;
      this.#writer.markKeyRevoked(agent, isRevoked);
    }
  }
}

/** Folds outcome `i` of a history. Returns the share of its weight that it counted for. */
export function foldHistoryOutcome(
  writer: TableWriter,
  history: OutcomeHistory,
  i: number,
): number {
  const settledAtMs = history.settledMs[i]!;
  return writer.fold({
    subject: history.agents[history.subjects[i]!]!,
    reporter: history.agents[history.reporters[i]!]!,
    outcome: history.failures[i] === 1 ? 0 : 1,
    stakes: history.stakes[i]!,
    gradeIndex: history.grades[i]!,
    signatureIndex: history.signatures[i]!,
    settledAtMs,
    voice: history.voices[i]!,
    incidentAtMs: computeIncidentTimeMs(settledAtMs, history.recordedMs[i]!),
    incident: history.incidents?.[i] ?? 0,
  });
}

/** Which outcomes a replay visits, and what it calls. */
interface ReplayVisit {
  /** Indices of the visited outcomes. */
  readonly wanted: Uint32Array;
  /** Called for each of them, in order of settling. */
  readonly visit: OutcomeVisitor;
  /** Called for every outcome once it is folded, with the share of its weight that counted. */
  readonly onFolded?: (i: number, share: number) => void;
  /** Called with the progress, 0 to 1. */
  readonly onShare: (share: number) => void;
}

/** Folds a history into a private engine and visits outcomes. Leaves the history as it is. */
export function replayHistory(
  history: OutcomeHistory,
  config: ScoringConfig,
  { wanted, visit, onFolded, onShare }: ReplayVisit,
): ReplayedTable {
  const count = history.subjects.length;
  const memory = createEngineMemory();
  const writer = openEngineWriter(memory, config, REPLAY_SEED);
  const reader = openEngineReader(memory, 1);
  const order = wanted.toSorted((a, b) => history.settledMs[a]! - history.settledMs[b]! || a - b);
  const credibilities = new ReporterCredibilities(config.credibility_min);
  const events = new EventCursor(history, writer, credibilities);
  const assessments = new AssessmentCursor(history, writer);
  let next = 0;
  let clockMs = 0;
  const visitUpTo = (timeMs: number) => {
    while (next < order.length && history.settledMs[order[next]!]! <= timeMs) {
      const i = order[next++]!;
      visit(reader, i, credibilities.of(history.agents[history.reporters[i]!]!));
    }
  };
  for (let i = 0; i < count; i++) {
    clockMs = Math.max(clockMs, history.recordedMs[i]!);
    assessments.foldUpTo(i, clockMs, visitUpTo);
    visitUpTo(clockMs);
    events.applyAt(i);
    const share = foldHistoryOutcome(writer, history, i);
    onFolded?.(i, share);
    if (i % CHUNK === 0) onShare(i / count);
  }
  events.applyAt(count);
  assessments.foldUpTo(count, Infinity);
  return { writer, reader, clockMs };
}

/**
 * The table as it stood at `nowMs`: everything recorded by then, in order, and nothing later. For a
 * history of which a run knows only the beginning; `count`: outcomes folded.
 */
export function foldHistoryUpTo(
  history: OutcomeHistory,
  nowMs: number,
  config: ScoringConfig,
): Pick<ReplayedTable, "writer" | "reader"> & { count: number } {
  const memory = createEngineMemory();
  const writer = openEngineWriter(memory, config, REPLAY_SEED);
  const events = new EventCursor(
    history,
    writer,
    new ReporterCredibilities(config.credibility_min),
  );
  const assessments = new AssessmentCursor(history, writer);
  let count = 0;
  for (; count < history.subjects.length && history.recordedMs[count]! <= nowMs; count++) {
    assessments.foldUpTo(count, history.recordedMs[count]!);
    events.applyAt(count);
    foldHistoryOutcome(writer, history, count);
  }
  return { writer, reader: openEngineReader(memory, 1), count };
}
