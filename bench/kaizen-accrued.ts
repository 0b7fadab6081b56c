// bench:kaizen-accrued: what would be promoted if tests added up. Challengers of one champion, tested run
// after run on fresh rows, and the e-value of all tests together: of re-fits, of steps of calibration
// alone, and of those who did not teach the change, with more and less of the mass left out. With --ring,
// how often a ring passes such gates. Of a stream only the first 80 %: what is shown is there to choose by.
// One JSON object on the last line of stdout.
import { parsed } from "./load/parsed.ts";
import { loadDefaultConfig } from "../src/engine/config.ts";
import type { ScoringConfig } from "../src/engine/config.ts";
import { challengeScorecard } from "../src/kaizen/challenge.ts";
import { GATE_POLICY } from "../src/kaizen/gates/gate.ts";
import type { GatePolicy, GateResult } from "../src/kaizen/gates/gate.ts";
import { forecastRows, findFirstRowAtOrAfter } from "../src/kaizen/model/holdout.ts";
import type { FitRows } from "../src/kaizen/model/holdout.ts";
import { flagUsableColumns } from "../src/kaizen/model/scorecard.ts";
import { replayEvidence } from "../src/kaizen/replay/evidence.ts";
import { SCORECARD_SIDES } from "../src/kaizen/sides.ts";
import type { ScorecardSide } from "../src/kaizen/sides.ts";
import { calibrationStep, testCalibration } from "./calibration-step.ts";
import type { CalibrationPlan } from "./calibration-step.ts";
import { combinedZ, eValue } from "./e-process.ts";
import { DAY_MS } from "./kaizen-schedule.ts";
import { evidenceOf, historyOf } from "./kaizen-stream.ts";
import { readRatings } from "./ratings.ts";
import type { RatedOutcome } from "./ratings.ts";
import { accruedRing, numberOf } from "./ring-accrued.ts";
import { RING_KINDS } from "./ring-market.ts";
import type { RingPlan } from "./ring-market.ts";
import { calibrationIn, sliceRows } from "./slices.ts";

const WEEK_MS = 7 * DAY_MS;
const HOLDOUT_MS = 60 * DAY_MS;
/** Least evidence of a pilot's test (gate G1), and of its training. */
const TEST_ROWS = 400;
const TEST_FAILURES = 40;
const TRAIN_ROWS_MIN = 500;
/** Mass left out by the lesson and by the test; the last pair is that of gate G11. */
const SHARES = [
  [0.05, 0.05],
  [0.1, 0.1],
  [0.2, 0.2],
  [GATE_POLICY.teachers_share, GATE_POLICY.examiners_share],
] as const;
/** Newest training rows that a calibration is fitted on. */
const CALIBRATED_ROWS = [Infinity, 8000, 3000] as const;
/** Validation part of the stream: the slices of its rows. */
const LATE = [0.6, 0.8] as const;
const RING_NAMES = 150;

interface Runs {
  seeds: number;
  tests: number;
}

type Span = readonly [number, number];

/** The tests of weekly runs: each on what no earlier one has seen, when there is enough of it. */
function testsOf(evidence: FitRows): Span[] {
  const { timesMs, failures } = evidence;
  const spans: Span[] = [];
  let testedMs = 0;
  for (let nowMs = timesMs[0]! + WEEK_MS; nowMs - WEEK_MS < timesMs.at(-1)!; nowMs += WEEK_MS) {
    const from = findFirstRowAtOrAfter(evidence, Math.max(nowMs - HOLDOUT_MS, testedMs));
    const to = findFirstRowAtOrAfter(evidence, nowMs);
    const bads = failures.subarray(from, to).reduce((sum, y) => sum + y, 0);
    if (from < TRAIN_ROWS_MIN || to - from < TEST_ROWS || bads < TEST_FAILURES) continue;
    testedMs = nowMs;
    spans.push([from, to]);
  }
  return spans;
}

function words(zs: readonly number[]) {
  const largest = zs.reduce((most, _, i) => Math.max(most, eValue(zs.slice(0, i + 1))), 0);
  return { tests: zs.length, z: combinedZ(zs), e: eValue(zs), largest_e: largest };
}

/** A number of a gate, test after test. */
function zsOf(found: readonly { gates: GateResult[] }[], id: string, name: string): number[] {
  return found.flatMap(({ gates }) => numberOf(gates, id, name) ?? []);
}

/** Re-fits against the champion, test after test: z of all rows, and of those who did not teach. */
function refits(
  evidence: FitRows,
  config: ScoringConfig,
  side: ScorecardSide,
  [lesson, test]: Span,
) {
  const policy: GatePolicy = { ...GATE_POLICY, teachers_share: lesson, examiners_share: test };
  const split = { side, usable: flagUsableColumns(side), isPilot: true, isBrief: true, policy };
  const found = testsOf(evidence).map(([from, to]) =>
    challengeScorecard(evidence, config, {
      ...split,
      trainTo: from,
      holdoutFrom: from,
      holdoutTo: to,
    }),
  );
  return {
    left_out: [lesson, test],
    all: words(zsOf(found, "G2", "z")),
    others: words(zsOf(found, "G11", "others_z")),
  };
}

/** The same of steps of calibration alone, fitted to the newest rows. */
function calibrations(evidence: FitRows, config: ScoringConfig, plan: CalibrationPlan) {
  const found = testsOf(evidence).map((span) => testCalibration(evidence, span, config, plan));
  return {
    rows: Number.isFinite(plan.newest) ? plan.newest : "all",
    all: words(zsOf(found, "G2", "z")),
    others: words(zsOf(found, "G11", "others_z")),
  };
}

/** Slices of the last rows, how far off, if every calibration went live with no gate at all. */
function ungated(
  outcomes: readonly RatedOutcome[],
  lateFrom: number,
  evidence: FitRows,
  config: ScoringConfig,
  side: ScorecardSide,
  newest: number | undefined,
) {
  const probabilities = new Float64Array(outcomes.length);
  const spans = testsOf(evidence);
  let model = config[side];
  let done = 0;
  for (const to of [...spans.map(([, end]) => end), outcomes.length]) {
    probabilities.set(forecastRows(evidence, done, to, model, config).probabilities, done);
    done = to;
    if (newest !== undefined)
      model = calibrationStep(evidence, to, { ...config, [side]: model }, { side, newest });
  }
  const slices = sliceRows(outcomes, 0, [lateFrom, outcomes.length]);
  const late = evidence.failures.subarray(lateFrom, outcomes.length);
  const found = calibrationIn(slices, probabilities.subarray(lateFrom), late);
  return Object.fromEntries(
    Object.entries(found).map(([name, { predicted, observed }]) => [
      name,
      Math.max(predicted / observed, observed / predicted),
    ]),
  );
}

/** What the tests of one scorecard say together, up to the end of the part. */
function streamReport(
  outcomes: readonly RatedOutcome[],
  lateFrom: number,
  evidence: FitRows,
  config: ScoringConfig,
  side: ScorecardSide,
) {
  const slicesOf = (newest?: number) => ungated(outcomes, lateFrom, evidence, config, side, newest);
  return {
    refits: SHARES.map((shares) => refits(evidence, config, side, shares)),
    calibrations: CALIBRATED_ROWS.map((newest) => calibrations(evidence, config, { side, newest })),
    slices_off_by: {
      never: slicesOf(),
      ...Object.fromEntries(
        CALIBRATED_ROWS.map((newest) => [
          `calibrated, ${Number.isFinite(newest) ? `newest ${newest}` : "all"} rows`,
          slicesOf(newest),
        ]),
      ),
    },
  };
}

/** How often a ring is promoted where tests add up, with and without those who did not teach it. */
function ringReport(outcomes: RatedOutcome[], config: ScoringConfig, plan: RingPlan, runs: Runs) {
  const base = evidenceOf(outcomes, config);
  const seeds = Array.from({ length: runs.seeds }, (_, i) => i + 1);
  const found = ["re-fit", "calibration"].flatMap((step) =>
    [true, false].map((isExamined) => {
      const harms = seeds.flatMap(
        (seed) =>
          accruedRing(base, config, plan, {
            tests: runs.tests,
            seed,
            isExamined,
            isCalibration: step === "calibration",
          }) ?? [],
      );
      const mean = harms.reduce((sum, x) => sum + x, 0) / Math.max(1, harms.length);
      const worst = harms.reduce((most, x) => Math.max(most, x), 0);
      const clean = { clean_loss_change: mean, clean_loss_change_worst: worst };
      return { step, by_others_too: isExamined, promotions: harms.length, ...clean };
    }),
  );
  return { ...plan, ...runs, found };
}

function main(): void {
  const { values } = parsed(import.meta.filename, {
    options: {
      file: { type: "string" },
      ring: { type: "string" },
      share: { type: "string", default: "5" },
      seeds: { type: "string", default: "20" },
      tests: { type: "string", default: "4" },
    },
  });
  const kind = RING_KINDS.find((each) => each === values.ring);
  if (values.file === undefined || (values.ring !== undefined && kind === undefined)) {
    process.stderr.write(
      "usage: bench:kaizen-accrued -- --file F\n" +
        `  [--ring ${RING_KINDS.join("|")} [--share 5] [--seeds 20] [--tests 4]]\n`,
    );
    process.exit(2);
  }
  const config = loadDefaultConfig();
  const stream = readRatings(values.file, "eval");
  if (kind !== undefined) {
    const plan = { kind, share: Number(values.share) / 100, names: RING_NAMES };
    const runs = { seeds: Number(values.seeds), tests: Number(values.tests) };
    process.stdout.write(`${JSON.stringify(ringReport(stream, config, plan, runs))}\n`);
    return;
  }
  const outcomes = stream.slice(0, Math.floor(LATE[1] * stream.length));
  const lateFrom = Math.floor(LATE[0] * stream.length);
  const { evidence } = replayEvidence(historyOf(outcomes, 0), config);
  const sides = SCORECARD_SIDES.map((side) => {
    return [side, streamReport(outcomes, lateFrom, evidence[side], config, side)] as const;
  });
  process.stdout.write(`${JSON.stringify({ file: values.file, ...Object.fromEntries(sides) })}\n`);
}

main();
