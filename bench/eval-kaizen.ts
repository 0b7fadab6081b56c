// eval:kaizen: weekly runs over a whole stream with the default policy, as the service makes them.
// Every row is scored by the weights live at its time; beside it the same engine with its shipped
// weights never re-fitted, and Beta reputation. One JSON object on the last line of stdout.
import { parseArgs } from "node:util";
import { defaultConfig } from "../src/engine/config.ts";
import type { ScoringConfig, ScoringModel } from "../src/engine/config.ts";
import { challenge, liveLoss } from "../src/kaizen/challenge.ts";
import type { Evidence } from "../src/kaizen/holdout.ts";
import { betaBaselines } from "./beta-baseline.ts";
import { readRatings } from "./ratings.ts";
import type { RatedOutcome } from "./ratings.ts";
import { replay, usableColumns } from "./replay.ts";

const DAY_MS = 86_400_000;
const WEEK_MS = 7 * DAY_MS;
const HOLDOUT_DAYS_MAX = 60;
/** A promotion is harmful when the 90 days after it would have gone better without. */
const JUDGED_DAYS = 90;

function numberAgents(outcomes: readonly RatedOutcome[], pick: (o: RatedOutcome) => string) {
  const numbers = new Map<string, number>();
  return Uint32Array.from(outcomes, (outcome) => {
    const id = pick(outcome);
    const known = numbers.get(id) ?? numbers.size;
    numbers.set(id, known);
    return known;
  });
}

function evidenceOf(outcomes: RatedOutcome[], config: ScoringConfig): Evidence {
  const { handshake, failures } = replay(outcomes, config, 0);
  return {
    rows: handshake,
    failures,
    subjects: numberAgents(outcomes, (o) => o.subject),
    reporters: numberAgents(outcomes, (o) => o.reporter),
    timesMs: Float64Array.from(outcomes, (o) => o.timeMs),
    weights: new Float64Array(outcomes.length).fill(1),
  };
}

/** First row at or after a time. */
function rowAt(evidence: Evidence, timeMs: number): number {
  let low = 0;
  let high = evidence.timesMs.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (evidence.timesMs[middle]! < timeMs) low = middle + 1;
    else high = middle;
  }
  return low;
}

function meanLoss(evidence: Evidence, from: number, to: number, model: ScoringModel): number {
  let sum = 0;
  for (let row = from; row < to; row++) sum += liveLoss(evidence, row, model);
  return sum / Math.max(1, to - from);
}

interface RunRecord {
  at: string;
  promoted: boolean;
  harmful?: boolean;
  /** Log-loss of the 90 days after a promotion under the old and the new weights. */
  before?: number;
  after?: number;
  reason: string;
}

/** The weekly schedule over the stream; returns the runs and the live loss. */
function weeklyRuns(evidence: Evidence, shipped: ScoringConfig, isQuiet: boolean) {
  const end = evidence.timesMs.length;
  const firstMs = evidence.timesMs[0]!;
  const usable = usableColumns(true);
  let config = shipped;
  let scored = 0;
  let liveSum = 0;
  let testedTo = 0;
  const runs: RunRecord[] = [];
  for (let atMs = firstMs + WEEK_MS; scored < end; atMs += WEEK_MS) {
    const now = rowAt(evidence, atMs);
    liveSum += meanLoss(evidence, scored, now, config.handshake) * (now - scored);
    scored = now;
    const holdoutFrom = Math.max(testedTo, rowAt(evidence, atMs - HOLDOUT_DAYS_MAX * DAY_MS));
    const outcome = challenge(evidence, config, {
      side: "handshake",
      usable,
      trainTo: holdoutFrom,
      holdoutFrom,
      holdoutTo: now,
      isPilot: true,
    });
    const record: RunRecord = {
      at: new Date(atMs).toISOString().slice(0, 10),
      promoted: outcome.passed,
      reason: outcome.reason,
    };
    // Rows that a test has seen are spent, whatever it said.
    if (outcome.challenger !== undefined) testedTo = now;
    if (outcome.passed && outcome.challenger !== undefined) {
      const until = rowAt(evidence, atMs + JUDGED_DAYS * DAY_MS);
      record.before = meanLoss(evidence, now, until, config.handshake);
      record.after = meanLoss(evidence, now, until, outcome.challenger);
      record.harmful = record.after > record.before;
      config = { ...config, handshake: outcome.challenger };
    }
    runs.push(record);
    if (!isQuiet && outcome.challenger !== undefined) {
      process.stderr.write(
        `${record.at} ${record.promoted ? "promoted" : "kept"}: ${record.reason}\n`,
      );
    }
  }
  return { runs, liveLogLoss: liveSum / end };
}

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
    tested: runs.filter((run) => !run.reason.startsWith("insufficient")).length,
    promotions: promoted.length,
    harmful: promoted.filter((run) => run.harmful).length,
    live_log_loss: liveLogLoss,
    no_refit_log_loss: shippedLoss,
    gain: 1 - liveLogLoss / shippedLoss,
    beta_log_loss: betaBaselines(outcomes, whole).beta_log_loss,
    runs_detail: runs.filter((run) => !run.reason.startsWith("insufficient")),
  };
  process.stdout.write(`${JSON.stringify(report)}\n`);
}

main();
