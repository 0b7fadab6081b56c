// The watch over a promotion: rarely wrong however often one looks, sure to see real harm.
import { describe, expect, it } from "vitest";
import { defaultConfig } from "../../src/engine/config.ts";
import type { ScoringConfig } from "../../src/engine/config.ts";
import { mixtureBoundary, watchChanges, watchPromotion } from "../../src/kaizen/monitor.ts";
import type { Watched } from "../../src/kaizen/monitor.ts";
import { seededRandom } from "../../src/kaizen/model/random.ts";
import { evidenceFrom } from "./_evidence.ts";

function watched(seed: number, count: number, harm: number): Watched {
  const random = seededRandom(seed);
  const failures = new Uint8Array(count);
  const probabilities = new Float64Array(count).fill(0.1);
  const oldLosses = new Float64Array(count);
  const newLosses = new Float64Array(count);
  for (let i = 0; i < count; i++) {
    failures[i] = random.uniform() < 0.1 ? 1 : 0;
    oldLosses[i] = 0.3;
    newLosses[i] = 0.3 + harm + random.normal() * 0.2;
  }
  const ids = Uint32Array.from(failures, (_, i) => i);
  const successes = failures.filter((y) => y === 0).length;
  return {
    failures,
    subjects: ids,
    reporters: ids,
    newLosses,
    oldLosses,
    probabilities,
    refused: 0,
    successes,
  };
}

function prefix(all: Watched, n: number): Watched {
  const { failures, subjects, reporters, newLosses, oldLosses, probabilities } = all;
  return {
    failures: failures.subarray(0, n),
    subjects: subjects.subarray(0, n),
    reporters: reporters.subarray(0, n),
    newLosses: newLosses.subarray(0, n),
    oldLosses: oldLosses.subarray(0, n),
    probabilities: probabilities.subarray(0, n),
    refused: 0,
    successes: n,
  };
}

describe("the watch", () => {
  it("takes 2.85 standard deviations at three times the first variance", () => {
    expect(mixtureBoundary(3, 1) / Math.sqrt(3)).toBeCloseTo(2.85, 1);
  });

  it("seldom takes back a harmless promotion over 20 looks", () => {
    let back = 0;
    for (let seed = 1; seed <= 40; seed++) {
      const all = watched(seed, 4000, 0);
      for (let n = 200; n <= 4000; n += 200) {
        if (!watchPromotion(prefix(all, n)).isRollbackDue) continue;
        back++;
        break;
      }
    }
    expect(back).toBeLessThanOrEqual(4);
  });

  it("takes back a promotion that costs 10 % of the loss", () => {
    const seen = watchPromotion(watched(3, 3000, 0.03));
    expect(seen.isRollbackDue).toBe(true);
    expect(seen.sentence).toMatch(/beyond the boundary/);
  });

  it("lets a calibration go for less than a re-fit, though not for one bad day", () => {
    const slight = { ...watched(6, 3000, 0.005), isCalibration: true };
    expect(watchPromotion({ ...slight, isCalibration: false }).isRollbackDue).toBe(false);
    expect(watchPromotion(slight).sentence).toMatch(/calibration has cost/);
    for (const harm of [-0.02, 0.001]) {
      const kept = watchPromotion({ ...watched(6, 3000, harm), isCalibration: true });
      expect(kept.isRollbackDue).toBe(false);
    }
    const early = { ...prefix(watched(6, 3000, 0.05), 200), isCalibration: true };
    expect(watchPromotion(early).isRollbackDue).toBe(false);
  });

  it("takes back at once what refuses good agents or gives no number", () => {
    expect(watchPromotion({ ...watched(4, 500, 0), refused: 9 }).sentence).toMatch(/refused/);
    const broken = watched(5, 500, 0);
    broken.newLosses[3] = Number.NaN;
    expect(watchPromotion(broken).isRollbackDue).toBe(true);
  });
});

describe("the hard triggers, each on its own", () => {
  const HARMED = 0.0001;

  it("refused successes: only what the old weights would not have refused", () => {
    const harmless = watched(11, 2000, -0.01);
    const seen = watchPromotion({ ...harmless, refused: 12 });
    expect(seen).toMatchObject({ isRollbackDue: true, numbers: { refused: 12 } });
    const same = watchPromotion({ ...harmless, refused: 12, refusedBefore: 12 });
    expect(same.isRollbackDue).toBe(false);
  });

  it("failures far from what was expected, unless the old weights do worse", () => {
    const off = (harm: number): Watched => {
      const all = watched(12, 3000, harm);
      return { ...all, probabilities: all.probabilities.map(() => 0.05) };
    };
    expect(watchPromotion(off(HARMED)).sentence).toMatch(/times the expected failures/);
    expect(watchPromotion(off(-0.05)).isRollbackDue).toBe(false);
  });

  const DAY_MS = 86_400_000;
  /** Scores around 550 before; since then shifted on the days in `drifted`. */
  function drifting(drifted: readonly number[], harm: number): Watched {
    const random = seededRandom(13);
    const all = watched(13, 2400, harm);
    const timesMs = Float64Array.from(all.failures, (_, i) => Math.floor(i / 400) * DAY_MS + i);
    const scores = Array.from(timesMs, (timeMs) => {
      const isDrifted = drifted.includes(Math.floor(timeMs / DAY_MS));
      return 550 + (isDrifted ? 80 : 0) + 40 * random.normal();
    });
    const reference = Array.from({ length: 4000 }, () => 550 + 40 * random.normal());
    return { ...all, drift: { scores, timesMs, sinceMs: 0, reference } };
  }

  it("drift of the scores on two days in a row", () => {
    expect(watchPromotion(drifting([], HARMED)).isRollbackDue).toBe(false);
    expect(watchPromotion(drifting([2], HARMED)).isRollbackDue).toBe(false);
    expect(watchPromotion(drifting([1, 3], HARMED)).isRollbackDue).toBe(false);
    const seen = watchPromotion(drifting([2, 3], HARMED));
    expect(seen).toMatchObject({ isRollbackDue: true, numbers: { drifted_days: 2 } });
    expect(seen.sentence).toMatch(/drifted for 2 days/);
    expect(watchPromotion(drifting([2, 3], -0.05)).isRollbackDue).toBe(false);
  });

  it("does not take days with a handful of outcomes for drift", () => {
    const few = drifting([0, 1, 2, 3, 4, 5], HARMED);
    const every = few.drift!.scores.flatMap((_, i) => (i % 100 === 0 ? [i] : []));
    const scores = every.map((i) => few.drift!.scores[i]!);
    const timesMs = Float64Array.from(every, (i) => few.drift!.timesMs[i]!);
    const seen = watchPromotion({ ...few, drift: { ...few.drift!, scores, timesMs } });
    expect(seen.numbers["drifted_days"]).toBe(0);
  });
});

describe("the shadow champion", () => {
  it("keeps being compared on live outcomes, long after, and only where weights changed", () => {
    const parent = defaultConfig();
    const evidence = evidenceFrom(21, 9000, parent.handshake);
    const worse: ScoringConfig = {
      ...parent,
      handshake: { ...parent.handshake, intercept: parent.handshake.intercept + 1.5 },
    };
    const sides = { check: evidence, handshake: evidence };
    const since = (parentOf: ScoringConfig) => ({
      runId: "k-20261122-030000000",
      sinceMs: evidence.timesMs[1000]!,
      parent: parentOf,
      isCalibration: false,
    });
    // 9,000 hours are a year: most of it lies beyond the four weeks of the sequential test.
    const found = watchChanges(sides, worse, { handshake: since(parent) });
    expect(found.map(({ side }) => side)).toEqual(["handshake"]);
    expect(found[0]).toMatchObject({ isRollbackDue: true, numbers: { rows: 8000 } });
    const [better] = watchChanges(sides, parent, { handshake: since(worse) });
    expect(better!.isRollbackDue).toBe(false);
    expect(watchChanges(sides, parent, {})).toEqual([]);
  });

  it("compares each scorecard from its own change on", () => {
    const parent = defaultConfig();
    const evidence = evidenceFrom(22, 3000, parent.handshake);
    const change = (row: number) => ({
      runId: "k-20261122-030000000",
      sinceMs: evidence.timesMs[row]!,
      parent,
      isCalibration: false,
    });
    const sides = { check: evidence, handshake: evidence };
    const found = watchChanges(sides, parent, { check: change(1000), handshake: change(2500) });
    expect(found.map(({ side, numbers }) => [side, numbers["rows"]])).toEqual([
      ["check", 2000],
      ["handshake", 500],
    ]);
  });
});
