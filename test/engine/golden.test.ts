// The golden vectors of the scoring design: track B with the base rate as a filtered state, every
// weight as given. They pin the algebra of the fold to numbers computed elsewhere.
import { expect, test } from "vitest";
import * as layout from "../../assembly/layout.ts";
import { ROW_MEAN_B, ROW_MEAN_R, ROW_VARIANCE_B, ROW_VARIANCE_R } from "../../assembly/layout.ts";
import { SCRATCH_BASE, SCRATCH_ROW_A, SCRATCH_STRIDE } from "../../assembly/layout.ts";
import { instantiateEngine } from "../../src/engine/memory.ts";
import { writeIdentifier } from "../../src/engine/identifier.ts";
import { DAY_MS, openEngine, START_MS } from "./_engine.ts";

const READER_SLOT = 2;

interface Vector {
  day: number;
  reporter: string;
  subject: string;
  failure: 0 | 1;
  /** Grade whose weight is w: onchain 1, escrow 0.5. */
  grade: number;
  subjectState: readonly [number, number];
  reporterState: readonly [number, number];
  baseRate: number;
}

/** Day, who reports on whom, 1 failed, grade; then mean and variance of both, and g. */
const TABLE = `
   0 A X 0 0 -0.218627 3.195453 -0.109314 1.798863 -2.458744
   1 A X 0 0 -0.361939 2.768203 -0.188937 1.666998 -2.471894
   2 B X 1 0  1.714094 2.460764  1.491134 1.834050 -2.253831
  32 C X 0 1  1.171108 2.328048 -0.193188 1.728806 -2.335677
  33 B Y 1 0  1.652008 2.741804  1.691087 1.644702 -2.217708`;

const VECTORS = TABLE.trim()
  .split("\n")
  .map((line): Vector => {
    const [day, reporter, subject, ...numbers] = line.trim().split(/\s+/);
    const [failure, grade, ...state] = numbers.map(Number);
    return {
      day: Number(day),
      reporter: reporter!,
      subject: subject!,
      failure: failure as 0 | 1,
      grade: grade!,
      subjectState: [state[0]!, state[1]!],
      reporterState: [state[2]!, state[3]!],
      baseRate: state[4]!,
    };
  });

test("the fold reproduces the golden vectors to six digits", () => {
  const { memory, writer, reader } = openEngine({
    base_rate: Math.log(0.08 / 0.92),
    base_variance: 0.3,
    base_tau_days: 90,
    base_period_days: 0,
    subject_variance: 4,
    subject_tau_days: 180,
    reporter_variance: 2,
    reporter_tau_days: 60,
    grade_weights: [1, 0.5, 0.9, 0.6, 0],
    stakes_floor: 1,
    pair_cap: 1e12,
  });
  const engine = instantiateEngine(memory);
  const scratch = SCRATCH_BASE + READER_SLOT * SCRATCH_STRIDE;
  const bytes = new Uint8Array(memory.buffer, scratch, SCRATCH_STRIDE);
  const row = new DataView(memory.buffer, scratch + SCRATCH_ROW_A, 256);
  const read = (id: string, mean: number, variance: number): [number, number] => {
    engine.copy(READER_SLOT, engine.find(READER_SLOT, writeIdentifier(bytes, 0, id)));
    return [row.getFloat64(mean, true), row.getFloat64(variance, true)];
  };
  for (const vector of VECTORS) {
    writer.fold({
      subject: vector.subject,
      reporter: vector.reporter,
      outcome: vector.failure === 1 ? 0 : 1,
      stakes: 1,
      gradeIndex: vector.grade,
      signatureIndex: 1,
      settledAtMs: START_MS + vector.day * DAY_MS,
    });
    const label = `day ${vector.day}`;
    const subject = read(vector.subject, ROW_MEAN_B, ROW_VARIANCE_B);
    const reporter = read(vector.reporter, ROW_MEAN_R, ROW_VARIANCE_R);
    expect(
      subject.map((x) => Number(x.toFixed(6))),
      label,
    ).toEqual(vector.subjectState);
    expect(
      reporter.map((x) => Number(x.toFixed(6))),
      label,
    ).toEqual(vector.reporterState);
    expect(Number(reader.baseRate.toFixed(6)), label).toBe(vector.baseRate);
  }
});

/** Day, who reports on whom, 1 failed; then X's concentration, single and mutual share. */
const VOICES = `
    0 A X 0  1          1         0
    0 A X 0  1          0.555556  0
    0 B X 1  0.52       0.692308  0
    0 X A 0  0.52       0.692308  0.6
  180 C X 0  0.390710   0.906006  0.287453`;

// By hand: rooms 1 and 1 - 1/2 of A and 1 of B give masses 1.5 and 1 of 2.5, squares 3.25, single
// ones 2.25; after 180 days all of it is divided by e, its squares by e^2, and C adds 1.
test("who a record comes from, by hand", () => {
  const { writer, reader } = openEngine({ stakes_floor: 1, pair_cap: 2, pair_tau_days: 180 });
  for (const line of VOICES.trim().split("\n")) {
    const [day, reporter, subject, failure, ...shares] = line.trim().split(/\s+/);
    const settledAtMs = START_MS + Number(day) * DAY_MS;
    const outcome = failure === "1" ? (0 as const) : (1 as const);
    const common = { stakes: 1, gradeIndex: 0, signatureIndex: 1 };
    writer.fold({ subject: subject!, reporter: reporter!, outcome, ...common, settledAtMs });
    reader.check("X", 1, settledAtMs);
    const flags = reader.legWords[layout.LEG_FLAGS]!;
    const kept = (shift: number, most: number) => ((flags >>> shift) & most) / most;
    // Within the step that each share is kept in.
    const near = (share: number, most: number) => expect(Math.abs(share)).toBeLessThan(1 / most);
    const { CONCENTRATION_SHIFT: c, SINGLE_SHIFT: s, MUTUAL_SHIFT: m } = layout;
    near(kept(c, layout.CONCENTRATION_MAX) - Number(shares[0]), layout.CONCENTRATION_MAX);
    near(kept(s, layout.SINGLE_MAX) - Number(shares[1]), layout.SINGLE_MAX);
    near(kept(m, layout.MUTUAL_MAX) - Number(shares[2]), layout.MUTUAL_MAX);
  }
});
