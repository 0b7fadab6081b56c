// The service's schedule of kaizen over a recorded stream: calibrations by day, runs by week, the
// watch, rollbacks and pauses, by the functions that the service calls and with every gate. Each
// run knows what had been recorded by its time and nothing later.
import type { ScoringConfig, ScoringModel } from "../src/engine/config.ts";
import { calibrateBothScorecards } from "../src/kaizen/calibration.ts";
import { computeRowLossOfModel } from "../src/kaizen/challenge.ts";
import { formatRounded } from "../src/kaizen/gates/register.ts";
import {
  predictDenials,
  forecastRows,
  findFirstRowAtOrAfter,
} from "../src/kaizen/model/holdout.ts";
import type { FitRows } from "../src/kaizen/model/holdout.ts";
import { computeTwoWayVariance } from "../src/kaizen/model/statistics.ts";
import { findNewestChange, computeConfigWithoutStep } from "../src/kaizen/lineage.ts";
import type { PromotionStep } from "../src/kaizen/lineage.ts";
import { COOL_DOWN_RUNS, monitorScorecardRows } from "../src/kaizen/monitor.ts";
import {
  openAttackJudge,
  playAttacksOnTable,
  probeInPrivateEngine,
} from "../src/kaizen/replay/private-engines.ts";
import type { OutcomeHistory } from "../src/kaizen/replay/history.ts";
import { replayTableUpTo, replayEvidence } from "../src/kaizen/replay/evidence.ts";
import { challengeBothScorecards } from "../src/kaizen/run.ts";
import type { RunFindings, KaizenRunOptions, ScorecardFindings } from "../src/kaizen/run.ts";
import { SCORECARD_SIDES } from "../src/kaizen/model/scorecard.ts";
import type { ScorecardSide } from "../src/kaizen/model/scorecard.ts";
import type { StreamStandings } from "./kaizen-stream.ts";

export const DAY_MS = 86_400_000;
/** A promotion is harmful when the 90 days after it would have gone better without. */
const JUDGED_DAYS = 90;
/** As src/threads/kaizen/worker.ts. */
const PILOT_ROWS = 50_000;

export interface PromotionRecord {
  at: string;
  kind: "run" | "calibration";
  side: ScorecardSide;
  /** Log-loss of the 90 days after it under the old and the new weights. */
  before: number;
  after: number;
  harmful: boolean;
  /** z of the increase, clustered by subject and reporter. */
  z: number;
  rolled_back?: string;
}

/** One tested scorecard of a run. */
export interface TestRecord {
  at: string;
  kind: "run" | "calibration";
  side: ScorecardSide;
  promoted: boolean;
  reason: string;
  /** Gates that failed. */
  failed: string[];
  /** G9's own words. */
  attacks?: string;
  gain?: number;
  z?: number;
  /** Successes of the holdout, and how many the tested weights and the live ones deny. */
  successes: number;
  denied: number;
  denied_live: number;
}

interface Promoted extends PromotionStep {
  atMs: number;
  records: PromotionRecord[];
  kind: "run" | "calibration";
}

const dayOf = (ms: number): string => new Date(ms).toISOString().slice(0, 10);

/** Mean log-loss of rows [from, to). */
export function meanLoss(evidence: FitRows, from: number, to: number, model: ScoringModel): number {
  let sum = 0;
  for (let row = from; row < to; row++) sum += computeRowLossOfModel(evidence, row, model);
  return sum / Math.max(1, to - from);
}

export function deniedSuccesses(
  evidence: FitRows,
  [from, to]: readonly [number, number],
  model: ScoringModel,
  config: ScoringConfig,
) {
  const denials = predictDenials(forecastRows(evidence, [from, to], model, config), config);
  const failures = evidence.failures.subarray(from, to);
  const denied = denials.filter((isDenied, i) => isDenied && failures[i] === 0).length;
  return { denied, successes: failures.filter((y) => y === 0).length };
}

/** Judges a promotion by the 90 days after it. */
function judge(evidence: FitRows, from: number, to: number, old: ScoringModel, own: ScoringModel) {
  const worse: number[] = [];
  for (let row = from; row < to; row++) {
    worse.push(
      computeRowLossOfModel(evidence, row, own) - computeRowLossOfModel(evidence, row, old),
    );
  }
  const { mean, variance } = computeTwoWayVariance(
    worse,
    new Float64Array(worse.length).fill(1),
    evidence.subjects.subarray(from, to),
    evidence.reporters.subarray(from, to),
  );
  return {
    before: meanLoss(evidence, from, to, old),
    after: meanLoss(evidence, from, to, own),
    harmful: mean > 0,
    z: variance > 0 ? mean / Math.sqrt(variance) : 0,
  };
}

export class KaizenSchedule {
  readonly promotions: PromotionRecord[] = [];
  readonly tests: TestRecord[] = [];
  readonly evidence: Record<ScorecardSide, FitRows>;
  config: ScoringConfig;
  runs = 0;
  readonly #history: OutcomeHistory;
  readonly #shipped: ScoringConfig;
  readonly #standings: StreamStandings | undefined;
  readonly #gapMs: number;
  #tested: Record<"run" | "calibration", Record<ScorecardSide, number>> = {
    run: { check: 0, handshake: 0 },
    calibration: { check: 0, handshake: 0 },
  };
  #coolDown = 0;
  readonly #steps: Promoted[] = [];

  constructor(history: OutcomeHistory, shipped: ScoringConfig, standings?: StreamStandings) {
    this.#history = history;
    this.#shipped = shipped;
    this.#standings = standings;
    this.config = shipped;
    const { evidence, lagMs } = replayEvidence(history, shipped);
    this.evidence = evidence;
    this.#gapMs = lagMs;
  }

  /** Whether a full run has been promoted and stands. */
  get #isGrown(): boolean {
    return this.#steps.some(({ kind, isTakenBack }) => kind === "run" && !isTakenBack);
  }

  /** What the service does at `atMs`: the watch, then a calibration or a run. */
  at(atMs: number, kind: "run" | "calibration"): void {
    this.#watch(atMs);
    if (kind === "calibration" && (this.#isGrown || this.#coolDown > 0)) return;
    // What settled within the lag before has not come in: the newest evidence is older by it.
    const nowMs = atMs - this.#gapMs;
    const options: KaizenRunOptions = {
      id: `${kind} ${dayOf(atMs)}`,
      nowMs,
      isSignedOff: false,
      isPilot: findFirstRowAtOrAfter(this.evidence.check, nowMs) < PILOT_ROWS,
      testedToMs: this.#tested[kind],
      gapMs: this.#gapMs,
      isBrief: true,
    };
    const findings =
      kind === "run"
        ? this.#run(atMs, options)
        : calibrateBothScorecards(this.evidence, this.config, options);
    if (kind === "run") this.runs++;
    this.#decide(atMs, kind, options, findings);
  }

  #run(atMs: number, options: KaizenRunOptions): RunFindings {
    const play = () =>
      playAttacksOnTable(
        replayTableUpTo(this.#history, atMs, this.#shipped),
        this.#standings?.attackedAt(atMs),
      );
    const attacks = { play, judge: openAttackJudge(this.config) };
    return challengeBothScorecards(this.evidence, this.config, options, {
      attacks,
      probe: probeInPrivateEngine,
    });
  }

  #decide(
    atMs: number,
    kind: "run" | "calibration",
    { nowMs }: KaizenRunOptions,
    findings: RunFindings,
  ) {
    const isPromoted = findings.config !== undefined && this.#coolDown === 0;
    const tested = findings.sides.filter(({ challenger }) => challenger !== undefined);
    for (const side of tested) {
      this.#tested[kind] = { ...this.#tested[kind], [side.side]: nowMs };
      this.tests.push(this.#testOf(side, atMs, kind, isPromoted));
    }
    if (kind === "run") this.#coolDown = Math.max(0, this.#coolDown - 1);
    if (!isPromoted) return;
    const records = tested
      .filter(({ passed }) => passed)
      .map(({ side, challenger }): PromotionRecord => {
        const rows = this.evidence[side];
        const from = findFirstRowAtOrAfter(rows, nowMs);
        const until = findFirstRowAtOrAfter(rows, atMs + JUDGED_DAYS * DAY_MS);
        const found = judge(rows, from, until, this.config[side], challenger!);
        return { at: dayOf(atMs), kind, side, ...found };
      });
    this.promotions.push(...records);
    const [before, after] = [this.config, findings.config!];
    this.#steps.push({ atMs, before, after, records, kind, isTakenBack: false });
    this.config = after;
  }

  #testOf(side: ScorecardFindings, atMs: number, kind: "run" | "calibration", isPromoted: boolean) {
    const rows = this.evidence[side.side];
    const range = [
      findFirstRowAtOrAfter(rows, side.holdout_from_ms),
      findFirstRowAtOrAfter(rows, side.holdout_to_ms),
    ] as const;
    const own = deniedSuccesses(rows, range, side.challenger!, this.config);
    const live = deniedSuccesses(rows, range, side.champion, this.config);
    const gate = (id: string) => side.gates.find((each) => each.id === id);
    const { relative_gain: gain, z } = gate("G2")?.numbers ?? {};
    const attacks = gate("G9")?.sentence;
    return {
      at: dayOf(atMs),
      kind,
      side: side.side,
      promoted: isPromoted && side.passed,
      reason: side.reason,
      failed: side.gates.filter(({ passed }) => !passed).map(({ id }) => id),
      ...(attacks === undefined ? {} : { attacks }),
      ...(gain === undefined ? {} : { gain: Number(formatRounded(gain)) }),
      ...(z === undefined ? {} : { z: Number(formatRounded(z, 2)) }),
      successes: own.successes,
      denied: own.denied,
      denied_live: live.denied,
    };
  }

  /** Takes back each scorecard's newest change where the watch says so, the newest first. */
  #watch(atMs: number): void {
    const due = SCORECARD_SIDES.flatMap((side) => {
      const step = findNewestChange(this.#steps, this.config, side);
      if (step === undefined) return [];
      const rows = this.evidence[side];
      const seen = monitorScorecardRows(rows, side, this.config, {
        sinceMs: step.atMs,
        to: findFirstRowAtOrAfter(rows, atMs - this.#gapMs),
        parent: step.before,
        isCalibration: step.kind === "calibration",
      });
      return seen.isRollbackDue ? [{ step, side, sentence: seen.sentence }] : [];
    });
    for (const { step, side, sentence } of due.toSorted((a, b) => b.step.atMs - a.step.atMs)) {
      if (step.isTakenBack) continue;
      const why = `${dayOf(atMs)}: ${side}: ${sentence}`;
      for (const record of step.records) record.rolled_back = why;
      this.config = computeConfigWithoutStep(this.#steps, this.config, step);
      step.isTakenBack = true;
      this.#coolDown = COOL_DOWN_RUNS;
    }
  }
}
