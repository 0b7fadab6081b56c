// eval:kaizen: weekly runs over a whole stream with the default policy, as the service makes them.
// Every row is scored by the weights live at its time; beside it the same engine with its shipped
// weights never re-fitted, and Beta reputation. One JSON object on the last line of stdout.
import { parseArgs } from "node:util";
import { defaultConfig } from "../src/engine/config.ts";
import type { ScoringConfig, ScoringModel } from "../src/engine/config.ts";
import { probeEngine } from "../src/kaizen/replay/probe-engine.ts";
import { challenge, liveLoss } from "../src/kaizen/challenge.ts";
import { show } from "../src/kaizen/gates/gate.ts";
import { rowAt } from "../src/kaizen/model/holdout.ts";
import type { FitRows } from "../src/kaizen/model/holdout.ts";
import { COOL_DOWN_RUNS, watchRows } from "../src/kaizen/monitor.ts";
import { twoWayVariance } from "../src/kaizen/model/statistics.ts";
import { betaBaselines } from "./beta-baseline.ts";
import { evidenceOf } from "./kaizen-stream.ts";
import { readRatings } from "./ratings.ts";
import { usableColumns } from "./replay.ts";

const DAY_MS = 86_400_000;
const WEEK_MS = 7 * DAY_MS;
const HOLDOUT_DAYS_MAX = 60;
/** A promotion is harmful when the 90 days after it would have gone better without. */
const JUDGED_DAYS = 90;

function meanLoss(evidence: FitRows, from: number, to: number, model: ScoringModel): number {
  let sum = 0;
  for (let row = from; row < to; row++) sum += liveLoss(evidence, row, model);
  return sum / Math.max(1, to - from);
}

interface RunRecord {
  at: string;
  promoted: boolean;
  reason: string;
  harmful?: boolean;
  /** Log-loss of the 90 days after a promotion under the old and the new weights. */
  before?: number;
  after?: number;
  /** z of the difference, clustered by subject and reporter. */
  z?: number;
  explanation?: string;
  rolled_back?: string;
}

interface Promotion {
  record: RunRecord;
  atMs: number;
  old: ScoringConfig;
}

/** Judges a promotion by the 90 days after it. */
function judge(evidence: FitRows, from: number, to: number, old: ScoringModel, own: ScoringModel) {
  const worse: number[] = [];
  for (let row = from; row < to; row++) {
    worse.push(liveLoss(evidence, row, own) - liveLoss(evidence, row, old));
  }
  const { subjects, reporters } = evidence;
  const ones = new Float64Array(worse.length).fill(1);
  const { mean, variance } = twoWayVariance(
    worse,
    ones,
    subjects.subarray(from, to),
    reporters.subarray(from, to),
  );
  const z = variance > 0 ? mean / Math.sqrt(variance) : 0;
  return {
    before: meanLoss(evidence, from, to, old),
    after: meanLoss(evidence, from, to, own),
    harmful: mean > 0,
    z,
    explanation:
      mean > 0
        ? `worse over ${JUDGED_DAYS} days by ${show(mean)}, z ${show(z, 2)}: ` +
          (z > 1.645 ? "the population moved after the test" : "within clustered chance")
        : `better over ${JUDGED_DAYS} days, z ${show(-z, 2)}`,
  };
}

/** The service's schedule replayed: test, promote, watch, roll back, cool down. */
class Schedule {
  readonly runs: RunRecord[] = [];
  config: ScoringConfig;
  readonly #evidence: FitRows;
  #testedTo = 0;
  #coolDown = 0;
  #last: Promotion | undefined;

  constructor(evidence: FitRows, shipped: ScoringConfig) {
    this.#evidence = evidence;
    this.config = shipped;
  }

  /** One weekly run at `atMs`; rows before `now` have settled. */
  run(atMs: number, now: number): RunRecord {
    this.#watch(atMs, now);
    const evidence = this.#evidence;
    const holdoutFrom = Math.max(this.#testedTo, rowAt(evidence, atMs - HOLDOUT_DAYS_MAX * DAY_MS));
    const record: RunRecord = { at: dayOf(atMs), promoted: false, reason: "cooling down" };
    this.runs.push(record);
    if (this.#coolDown > 0) {
      this.#coolDown--;
      return record;
    }
    const outcome = challenge(evidence, this.config, {
      side: "handshake",
      usable: usableColumns(true),
      trainTo: holdoutFrom,
      holdoutFrom,
      holdoutTo: now,
      isPilot: true,
      probe: (own) => probeEngine("handshake", this.config, own, this.runs.length),
    });
    record.reason = outcome.reason;
    // Tested rows are spent in any case.
    if (outcome.challenger !== undefined) this.#testedTo = now;
    if (outcome.passed && outcome.challenger !== undefined) {
      record.promoted = true;
      this.#last = { record, atMs, old: this.config };
      const until = rowAt(evidence, atMs + JUDGED_DAYS * DAY_MS);
      const judged = judge(evidence, now, until, this.config.handshake, outcome.challenger);
      Object.assign(record, judged);
      this.config = { ...this.config, handshake: outcome.challenger };
    }
    return record;
  }

  #watch(atMs: number, now: number): void {
    const last = this.#last;
    if (last === undefined) return;
    const seen = watchRows(this.#evidence, last.atMs, now, "handshake", this.config, last.old);
    if (!seen.isRollbackDue) return;
    last.record.rolled_back = `${dayOf(atMs)}: ${seen.sentence}`;
    this.config = last.old;
    this.#coolDown = COOL_DOWN_RUNS;
    this.#last = undefined;
  }
}

const dayOf = (ms: number): string => new Date(ms).toISOString().slice(0, 10);

/** The weekly schedule over the stream; returns the runs and the live loss. */
function weeklyRuns(evidence: FitRows, shipped: ScoringConfig, isQuiet: boolean) {
  const end = evidence.timesMs.length;
  const schedule = new Schedule(evidence, shipped);
  let scored = 0;
  let liveSum = 0;
  for (let atMs = evidence.timesMs[0]! + WEEK_MS; scored < end; atMs += WEEK_MS) {
    const now = rowAt(evidence, atMs);
    liveSum += meanLoss(evidence, scored, now, schedule.config.handshake) * (now - scored);
    scored = now;
    const { at, promoted, reason } = schedule.run(atMs, now);
    if (!isQuiet && isTested(reason)) {
      process.stderr.write(`${at} ${promoted ? "promoted" : "kept"}: ${reason}\n`);
    }
  }
  return { runs: schedule.runs, liveLogLoss: liveSum / end };
}

const isTested = (reason: string): boolean => !/^(insufficient|no settled|cooling)/.test(reason);

function main(): void {
  const { values } = parseArgs({
    options: {
      file: { type: "string" },
      format: { type: "string", default: "snap-ratings" },
      quiet: { type: "boolean", default: false },
    },
  });
  if (values.file === undefined || values.format !== "snap-ratings") {
    process.stderr.write("usage: eval:kaizen -- --file F [--format snap-ratings]\n");
    process.exit(2);
  }
  const outcomes = readRatings(values.file, "eval");
  const config = defaultConfig();
  const evidence = evidenceOf(outcomes, config);
  const { runs, liveLogLoss } = weeklyRuns(evidence, config, values.quiet);
  const promoted = runs.filter((run) => run.promoted);
  const shippedLoss = meanLoss(evidence, 0, outcomes.length, config.handshake);
  const whole = { from: 0, to: 0, end: outcomes.length };
  const report = {
    runs: runs.length,
    tested: runs.filter((run) => isTested(run.reason)).length,
    promotions: promoted.length,
    harmful: promoted.filter((run) => run.harmful).length,
    rolled_back: promoted.filter((run) => run.rolled_back !== undefined).length,
    live_log_loss: liveLogLoss,
    no_refit_log_loss: shippedLoss,
    gain: 1 - liveLogLoss / shippedLoss,
    beta_log_loss: betaBaselines(outcomes, whole).beta_log_loss,
    runs_detail: runs.filter((run) => isTested(run.reason)),
  };
  process.stdout.write(`${JSON.stringify(report)}\n`);
}

main();
